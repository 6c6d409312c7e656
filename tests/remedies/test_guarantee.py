"""``remedy(guarantee=...)``: closed answer sets of any benchmark."""

import datasets
import numpy as np
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.audits.probes.priors import ORDERS
from hf_vqa_mc.errors import InputError

pytestmark = pytest.mark.usefixtures("untrained_report_probes")

QUESTIONS = ["what animal is it", "what is on the table", "where is it", "what is near the man"]
ANSWERS = ["cat", "train", "pizza", "red", "seven", "kitchen", "umbrella", "bottle"]


@pytest.fixture(scope="module")
def benchmark():
    rng = np.random.default_rng(0)

    def rows(n_rows):
        for _ in range(n_rows):
            choices = rng.choice(ANSWERS, 4, replace=False).tolist()
            question, image = QUESTIONS[rng.integers(4)], f"image{rng.integers(40)}"
            yield {"image_id": image, "question": question, "choices": choices, "answer": int(rng.integers(4))}

    return datasets.DatasetDict(
        {name: datasets.Dataset.from_list([*rows(n)]) for name, n in (("train", 300), ("test", 120))}
    )


@pytest.mark.slow
@pytest.mark.parametrize(("guarantee", "shared"), [("question", "question"), ("image", "image_id")])
def test_rows_of_each_split_form_sets_that_share_choices_and_question_or_image(benchmark, guarantee, shared):
    fixed = vm.remedy(benchmark, guarantee=guarantee)
    for split, table in fixed.dataset.items():
        rows = table.to_pandas()
        targets = [choices[label] for choices, label in zip(rows["choices"], rows["answer"], strict=True)]
        for _, members in rows.assign(target=targets).groupby("set_id"):
            assert members[shared].nunique() == 1
            assert len({tuple(choices) for choices in members["choices"]}) == 1
            assert sorted(members["target"]) == sorted(members["choices"].iloc[0])
        counted = fixed.to_dict()["remedy"]["closed_sets"][split]
        assert counted["rows"] == len(rows) <= len(benchmark[split])
        assert counted["rows"] + sum(counted["left_out"].values()) == len(benchmark[split])
    gains = vm.audit(fixed.dataset, probes=False).to_pandas()
    outside = ("best assignment", *(probe.name for probe in ORDERS))  # they use more than a row's inputs
    blind = gains[gains["inputs"].isin(["choices", guarantee]) & ~gains["name"].str.startswith(outside)]
    assert blind["gain"].abs().max() < 1e-9, blind
    assert f"{counted['rows']} rows in " in repr(fixed)


@pytest.mark.slow
def test_new_decoys_end_the_closed_sets_of_their_rows(benchmark):
    sets = vm.remedy(benchmark, guarantee="question")
    others = vm.remedy(sets, variant="iou").dataset["test"].to_pandas()
    assert (others["set_id"] == "").all() and (others["set_kind"] == "").all() and others["set_leak"].isna().all()


@pytest.mark.slow
def test_the_card_of_closed_sets_does_not_speak_of_pruning(benchmark, tmp_path):
    fixed = vm.remedy(benchmark, guarantee="question")
    fixed.save(tmp_path / "closed")
    card = (tmp_path / "closed" / "README.md").read_text()
    assert "choices replaced" in card and "pruned" not in card
    assert "for which no partners were left" in card


def test_without_images_a_guarantee_for_the_image_is_refused(benchmark):
    with pytest.raises(InputError, match="closed sets of the same image need images, and none of its 420 rows has an"):
        vm.remedy(benchmark.remove_columns("image_id"), guarantee="image")


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", ["question", pytest.param("image", marks=pytest.mark.exhaustive)])
def test_without_a_training_split_fitted_probes_are_exactly_at_chance_too(benchmark, guarantee):
    fixed = vm.remedy(datasets.DatasetDict(test=benchmark["train"]), guarantee=guarantee)
    gains = vm.audit(fixed.dataset).to_pandas()
    outside = ("best assignment", *(probe.name for probe in ORDERS))  # they use more than a row's inputs
    blind = gains[gains["inputs"].isin(["choices", guarantee]) & ~gains["name"].str.startswith(outside)]
    assert blind["name"].str.contains("set network").any()
    assert blind["gain"].abs().max() < 1e-9, blind
