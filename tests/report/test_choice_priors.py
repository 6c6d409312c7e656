"""The numbers in brackets of a preview: eq. 2 of Chao et al. 2018, counted in the training split by hand."""

import datasets

import hf_vqa_mc as vm
from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.report.examples import choice_priors

TRAIN = [("a", "b", "c"), ("a", "b", "d"), ("b", "a", "c")]  # the first is correct


def rows(triples):
    return datasets.Dataset.from_list(
        [
            {"question": "what?", "choices": list(one), "label": 0, "image_id": str(at)}
            for at, one in enumerate(triples)
        ]
    )


def test_they_are_counted_in_the_training_split():
    data = datasets.DatasetDict(train=rows(TRAIN), test=rows([("b", "a", "new")]))
    (found,) = choice_priors(read_benchmark(data)).tolist()
    assert found == [1 / (1 + 2 / 2), 2 / (2 + 1 / 2), 0.5]  # K = 2 decoys; what was never seen has 0.5
    page = vm.preview(data).html
    assert "(0.50)" in page and "(0.80)" in page and "P(correct | choice)" in page


def test_without_a_training_split_they_are_counted_in_the_split_itself():
    found = choice_priors(read_benchmark(datasets.DatasetDict(test=rows(TRAIN))))
    assert found[0].tolist() == [2 / (2 + 1 / 2), 1 / (1 + 2 / 2), 0.0]
