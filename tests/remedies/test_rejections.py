"""Verdicts in a remedy: rejected texts and bad questions are in no output, and all of it is counted."""

import functools

import datasets
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hf_vqa_mc as vm
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.data.verdicts import Rejected, Verdict, write_verdicts
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import silent
from hf_vqa_mc.remedies.new_decoys import give_new_decoys
from hf_vqa_mc.remedies.remedied import in_words
from hf_vqa_mc.text.normalisation import comparable
from tests.remedies.test_new_decoys import asked

QUESTIONS = ["is it a cat", *(f"what is {where}" for where in ("on the table", "near the table", "near the man")),
             "what animal is it"]  # fmt: skip
ANSWERS = ["cat", "train", "Pizza", "red", "2", "yes", "no", "two"]
ROWS = 48
SEEN = {"is": (1, 0), "what": (0, 1), "table": (0.4, 0.2), "man": (0.1, 0.6), "near": (0.3, 0.3), "animal": (0.5, 0.1)}
VARIANTS_OFFERED = [name for name, one in VARIANTS.items() if one.remedies]


def rows(answers=ANSWERS, n_rows=ROWS):
    """Each question is asked about each of some images."""
    rng = np.random.default_rng(0)
    for number in range(n_rows):
        image, question = f"image{number // len(QUESTIONS)}", QUESTIONS[number % len(QUESTIONS)]
        choices = rng.choice(answers, 3, replace=False).tolist()
        yield {"question_id": f"q{number}", **asked(question, choices, image, int(rng.integers(3)))}


@functools.cache
def benchmark():
    table = datasets.Dataset.from_list([*rows()])
    return load(BenchmarkOptions(datasets.DatasetDict(train=table, test=table)), silent)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text("".join(f"{word} {x} {y}\n" for word, (x, y) in SEEN.items()))
    return str(path)


def remedied(variant, vectors, verdicts, **method):
    """The remedied rows, and the statistics; None if no set can be formed."""
    method = {"set_size": 2, "coverage": 1.0} if VARIANTS[variant].closed else method
    if variant == "sets_grid":
        method["set_size"] = 4
    try:
        made = give_new_decoys(benchmark(), variant, vectors, Settings(**method), keep_size=True, verdicts=verdicts)
    except InputError as error:
        assert "closed" in str(error)
        return None
    return [row for table in made.tables.values() for row in table.to_pylist()], made.statistics


ids = st.sampled_from([f"q{number}" for number in range(ROWS)])
VERDICTS = st.builds(
    Rejected,
    st.dictionaries(ids, st.frozensets(st.sampled_from([*ANSWERS, "PIZZA!", "unknown"]), min_size=1), max_size=ROWS),
    st.frozensets(ids, max_size=5),
).filter(lambda one: one.choices or one.questions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "preset"),
    [(name, one) for name in VARIANTS_OFFERED for one in (["paper", "plausible"][VARIANTS[name].closed :])],
)
def test_rejected_texts_and_bad_questions_are_in_no_output(variant, preset, vectors):
    slow = variant in ("sets", "sets_similar_question")

    assert remedied(variant, vectors, None, preset=preset) is not None

    @settings(max_examples=1 if slow else 5, deadline=None)
    @given(VERDICTS)
    def check(verdicts):
        found = remedied(variant, vectors, verdicts, preset=preset)
        if found is None:
            return
        made, statistics = found
        for row in made:
            assert row["question_id"] not in verdicts.questions
            texts = {comparable(text) for text in verdicts.choices.get(row["question_id"], ())}
            target = row["choices"][row["answer"]]
            assert not texts & {comparable(text) for text in row["choices"] if text != target}
            assert len(row["choices"]) > 1
        counts = statistics["rejected"]
        if not VARIANTS[variant].closed:
            assert len(made) + counts["rows_left_out_bad_question"] + counts["rows_left_out_no_decoy"] == 2 * ROWS
        assert counts["rows_left_out_bad_question"] == 2 * len(verdicts.questions)

    check()


def test_verdicts_about_other_questions_change_nothing(vectors):
    other = Rejected({"q0": frozenset({"unknown"})}, frozenset())
    assert remedied("iou_qou", vectors, other)[0] == remedied("iou_qou", vectors, None)[0]


def test_a_row_without_decoys_keeps_published_choices_that_are_not_rejected():
    given = [{"question_id": name, **asked(f"what is {name}", ["cat", "cats", "a cat"])} for name in ("a", "b")]
    opened = load(BenchmarkOptions(datasets.DatasetDict(test=datasets.Dataset.from_list(given))), silent)
    verdicts = Rejected({"a": frozenset({"a cat", "cat"}), "b": frozenset({"a cat", "CATS"})}, frozenset())
    made = give_new_decoys(opened, "iou", None, Settings(), verdicts=verdicts)
    (row,) = made.tables["test"].to_pylist()
    assert (row["question_id"], sorted(row["choices"])) == ("a", ["cat", "cats"])
    assert made.statistics["rejected"]["rows_left_out_no_decoy"] == 1
    assert made.statistics["rejected"]["published_decoys"] == 3
    assert "Left out: 1 row since no decoy is left." in " ".join(in_words(made.statistics))


@pytest.mark.slow
def test_a_table_of_verdicts_is_applied_and_reported(tmp_path, untrained_report_probes):
    path = tmp_path / "verdicts.csv"
    table = datasets.Dataset.from_list([*rows()])
    first = table[0]
    decoys = [text for index, text in enumerate(first["choices"]) if index != first["answer"]]
    made = [Verdict("q0", text, "correct", "a") for text in decoys]
    write_verdicts(path, [*made, Verdict("q1", "", "bad_question", "a"), Verdict("gone", "cat", "correct", "a")])
    fixed = vm.remedy(table, variant="iou", reject=path)
    assert "longest choice: choices alone" in set(fixed.to_pandas()["name"])
    assert not set(decoys) & set(fixed.dataset["test"][0]["choices"])
    assert fixed.dataset["test"]["question_id"][:2] == ["q0", "q2"]
    assert fixed.to_dict()["remedy"]["rejected"] == {
        "questions": 3,
        "unknown_questions": 1,
        "rows_left_out_bad_question": 1,
        "rows_left_out_no_decoy": 0,
        "published_decoys": 2,
        "candidates": fixed.to_dict()["remedy"]["rejected"]["candidates"],
    }
    assert "Verdicts about 3 questions (1 are not in the benchmark) reject 2 published decoys." in repr(fixed)


@pytest.mark.parametrize(
    ("verdicts", "options", "words"),
    [
        ([Verdict("nowhere", "cat", "correct")], {}, "none of its 1 question id, such as 'nowhere', is in"),
        ([Verdict("q1", "cat", "wrong")], {}, "none of its 1 verdict rejects a choice or a question"),
        ([Verdict(f"q{n}", "", "bad_question") for n in range(ROWS)], {}, "rejects the questions of all rows"),
        ([Verdict("q1", "cat", "correct")], {"prune": 0.1}, "reject is an option of strategy .*, not of prune"),
    ],
)
def test_verdicts_that_do_not_fit_are_one_clear_error(tmp_path, verdicts, options, words):
    write_verdicts(tmp_path / "verdicts.csv", verdicts)
    variant = {} if options else {"variant": "iou"}
    with pytest.raises(InputError, match=words):
        vm.remedy(datasets.Dataset.from_list([*rows()]), reject=tmp_path / "verdicts.csv", **variant, **options)
