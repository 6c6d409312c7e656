"""Integer labels start from 0 or 1 according to rows, column name or user; otherwise they are ambiguous."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.errors import InputError

TEXTS = ["w", "x", "y", "z"]


def read(folder, labels, column="label", choices=TEXTS, columns=None, **more):
    rows = {"question": [str(row) for row in range(len(labels))], "choices": [choices] * len(labels), column: labels}
    pq.write_table(pa.table({**rows, **more}), folder / "rows.parquet")
    return read_benchmark(str(folder / "rows.parquet"), **(columns or {}))


def labels_of(*args, **options):
    return read(*args, **options).test.rows["label"].to_pylist()


UNTOLD = [1, 2, 3, 2] * 5


def test_many_labels_that_could_count_from_0_or_1_are_not_guessed(tmp_path):
    with pytest.raises(InputError) as error:
        read(tmp_path, UNTOLD)
    assert str(error.value).endswith(
        "rows.parquet: label: labels are 1 to 3 of 4 choices, which may start from 0 or 1; "
        "choose with label_from 0 (or 1)"
    )
    with pytest.raises(InputError, match="labels are 1 of 2 choices"):
        read(tmp_path, [1] * 20, choices=["x", "y"])
    with pytest.raises(InputError, match="labels are 1 to 3 of 4 choices"):
        read(tmp_path, [str(label) for label in UNTOLD])
    assert labels_of(tmp_path, UNTOLD[:9]) == UNTOLD[:9]
    assert labels_of(tmp_path, [0, *UNTOLD]) == [0, *UNTOLD]
    assert labels_of(tmp_path, [4, *UNTOLD]) == [3, *(label - 1 for label in UNTOLD)]


@pytest.mark.parametrize("first", [0, 1])
def test_another_label_column_decides(first, tmp_path):
    zero_based = [label - first for label in UNTOLD]
    benchmark = read(tmp_path, UNTOLD, answer=[TEXTS[index] for index in zero_based])
    assert benchmark.test.rows["label"].to_pylist() == zero_based
    assert benchmark.read_as.endswith(f"label=label (numbers from {first}) and answer (texts of choices)")
    written = benchmark.with_choices(benchmark.test, [[*TEXTS, "new"]] * 20, [4] * 20)
    assert written["label"].to_pylist() == [4 + first] * 20
    assert written["answer"].to_pylist() == ["new"] * 20


def test_a_number_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="label_from=2: expected 0 or 1"):
        read_benchmark("a.parquet", label_from=2)
    with pytest.raises(InputError, match=r"label_from=1: .* label holds letters, not integers; remove it"):
        read(tmp_path, ["A", "B"], columns={"label_from": 1})


def test_numbers_that_are_no_indices_are_not_taken_for_right_answers(tmp_path):
    columns = {"choices": ["choices"], "label": "label"}
    with pytest.raises(InputError, match="which may start from 0 or 1"):
        read(tmp_path, [str(label) for label in UNTOLD], columns=columns)
    with pytest.raises(InputError, match="row 2: label is '7', expected the index of a choice, from 0"):
        read(tmp_path, ["0", "7"], columns=columns)
    with pytest.raises(InputError, match="row 2: label is '4', expected the index of a choice, from 0"):
        read(tmp_path, ["3", "4"], columns={"choices": ["choices"], "label": "label", "label_from": 0})
    numbers = {"question": ["a", "b"], "distractor1": ["one", "4"], "distractor2": ["2", "5"], "answer": ["3", "6"]}
    pq.write_table(pa.table(numbers), tmp_path / "a.parquet")
    assert not read_benchmark(str(tmp_path / "a.parquet")).test.ordered


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(zero_based=st.lists(st.integers(0, 3), min_size=1, max_size=40), first=st.integers(0, 1))
def test_no_label_is_read_one_off_in_10_rows_or_more(tmp_path, zero_based, first):
    labels = [index + first for index in zero_based]
    try:
        found = labels_of(tmp_path, labels)
    except InputError:
        assert len(zero_based) >= 10
        assert not {0, 4} & set(labels)
    else:
        sure = len(zero_based) >= 10 or {0, 4} & set(labels)
        assert found == (zero_based if sure else labels)
    assert labels_of(tmp_path, labels, columns={"label_from": first}) == zero_based


@pytest.mark.parametrize("first", [0, 1])
def test_a_split_that_counts_otherwise_than_the_evaluated_one_is_left_out_with_the_reason(first):
    rows = [{"question": str(at), "choices": TEXTS, "split": split, "label": (at + by) % 4 + by}
            for split, by in (("train", 1 - first), ("test", first)) for at in range(40)]  # fmt: skip
    benchmark = read_benchmark(rows, skip_faulty=True)
    assert benchmark.test.rows["label"].to_pylist() == [(at + first) % 4 for at in range(40)]
    assert f"label counts from {1 - first}, but from {first} in the evaluated" in benchmark.left_out["train"]


def test_how_the_columns_were_read_is_described(tmp_path):
    rows = {"frage": ["a", "b"], **{f"alt{n}": [f"{n}", f"{n}!"] for n in range(1, 5)}, "richtig": [1, 4]}
    more = {"bild": [b"1", b"2"], "thema": ["t", "t"], "nr": [7, 8], "foto": ["p", "q"]}
    pq.write_table(pa.table({**rows, **more}), tmp_path / "a.parquet")
    alts = tuple(f"alt{n}" for n in range(1, 5))
    columns = {"question": "frage", "choices": alts, "label": "richtig", "image": "bild", "label_from": 1}
    columns["columns"] = {"question_type": "thema"}
    read_as = "question=frage, choices=alt1 to alt4, label=richtig (numbers from 1), image=bild"
    assert read_benchmark(str(tmp_path / "a.parquet"), **columns).read_as == f"{read_as}, question_type=thema"
    columns["columns"] |= {"image_id": "foto", "question_id": "nr"}
    assert (
        read_benchmark(str(tmp_path / "a.parquet"), **columns).read_as
        == f"{read_as}, image_id=foto, question_id=nr, question_type=thema"
    )
    pq.write_table(
        pa.table({"question": ["a"], "distractor1": ["up"], "distractor2": ["on"], "answer": ["in"]}),
        tmp_path / "b.parquet",
    )
    read_as = "question=question, right choice=answer, decoys=distractor1 and distractor2"
    assert read_benchmark(str(tmp_path / "b.parquet")).read_as == read_as
