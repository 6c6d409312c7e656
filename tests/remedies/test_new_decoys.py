"""A remedied benchmark: what changes, what stays, and that every choice's origin is recorded correctly."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.remedies.candidate_pool import from_questions
from hf_vqa_mc.remedies.new_decoys import give_new_decoys
from hf_vqa_mc.remedies.remedied import check_own_columns

VECTORS = "\n".join(
    f"{word} {' '.join(map(str, numbers))}"
    for word, numbers in {
        "what": (1, 0, 0), "color": (0, 1, 0), "colour": (0, 0.9, 0.1), "is": (0.5, 0, 0.1), "the": (0.1, 0.1, 0.1),
        "who": (0, 0, 1), "where": (0.2, 0, 0.9), "animal": (0.3, 0.5, 0.4), "on": (0.1, 0, 0.2),
        "this": (0, 0.1, 0.1),
    }.items()
)  # fmt: skip
ASKED = [
    ("what color is the cat", "black", "1"), ("who is on the sofa", "a nurse", "1"), ("where is this", "kitchen", "1"),
    ("what animal is this", "zebra", "1"), ("what color is the dog", "white", "2"), ("who is this", "a sailor", "2"),
    ("where is the dog", "beach", "2"), ("what animal is on the sofa", "parrot", "2"),
    ("what color is the car", "orange", "3"), ("what colour is this", "purple", "4"),
    ("where is the car", "desert", "5"),
]  # fmt: skip


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS, "utf-8")
    return str(path)


def written(path: Path, rows: list[dict]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def asked(question, choices, image="1", answer=0, **more):
    return {"image_id": image, "question": question, "choices": choices, "answer": answer, **more}


def write_questions(path: Path, **more: list) -> str:
    rows = []
    for number, (question, target, image) in enumerate(ASKED):
        choices = ["wrong one", "wrong two"]
        choices.insert(number > 0, target)
        of_row = {name: values[number] for name, values in more.items()}
        of_row |= {"question_id": f"q{number}", "author": {"name": f"person {number}"}}
        rows.append(asked(question, choices, image, int(number > 0), **of_row))
    return written(path, rows)


def remedied_rows(path: Path, rows: list[dict], variant="iou", vectors=None, **settings):
    return give_new_decoys(read_benchmark(written(path, rows)), variant, vectors, Settings(**settings))


def rows_of(remedied) -> list[dict]:
    return remedied.tables[remedied.benchmark.evaluated].to_pylist()


def targets(rows: list[dict]) -> dict[str, str]:
    return {row["question_id"]: row["choices"][row["answer"]] for row in rows}


def test_only_choices_and_label_change(tmp_path, vectors):
    benchmark = read_benchmark(write_questions(tmp_path / "a.jsonl"))
    remedied = give_new_decoys(benchmark, "iou_qou", vectors, Settings())
    before, after = benchmark.test.original.to_pylist(), rows_of(remedied)
    kept = [name for name in before[0] if name not in ("choices", "answer")]
    assert [[row[name] for name in kept] for row in after] == [[row[name] for name in kept] for row in before]
    assert targets(after) == targets(before)
    assert all(len(set(row["choices"])) == len(row["choices"]) for row in after)


def test_every_choice_says_truly_where_it_is_from(tmp_path, vectors):
    benchmark = read_benchmark(write_questions(tmp_path / "a.jsonl"))
    remedied = give_new_decoys(benchmark, "iou_qou", vectors, Settings())
    rows = rows_of(remedied)
    right, image = targets(rows), {row["question_id"]: row["image_id"] for row in rows}
    kinds = set()
    for row in rows:
        for text, kind, origin in zip(row["choices"], row["choice_kinds"], row["choice_origins"], strict=True):
            kinds.add((kind, origin.split()[0]))
            if kind == "target":
                assert text == right[row["question_id"]]
                assert origin == "target"
            elif origin.startswith("question "):
                donor = origin.removeprefix("question ").split(",")[0]
                assert right[donor] == text
                assert donor != row["question_id"]
                assert kind != "iou" or image[donor] == row["image_id"]
            else:
                assert origin in ("fallback", "published")
    assert {("target", "target"), ("iou", "question"), ("qou", "question")} <= kinds


def test_an_image_with_four_questions_gives_three_iou_decoys(tmp_path):
    remedied = give_new_decoys(read_benchmark(write_questions(tmp_path / "a.jsonl")), "iou", None, Settings())
    row = rows_of(remedied)[0]
    assert sorted(row["choices"]) == ["a nurse", "black", "kitchen", "zebra"]
    assert remedied.statistics["decoys"]["iou"]["found"] == 8 * 3


def test_the_remedied_rows_are_those_that_are_read_again(tmp_path, vectors):
    benchmark = read_benchmark(write_questions(tmp_path / "a.jsonl"))
    remedied = give_new_decoys(benchmark, "iou_qou", vectors, Settings())
    copy = tmp_path / "b.jsonl"
    write_benchmark(benchmark, remedied.tables, copy)
    again = read_benchmark(str(copy))
    for name in ("question_id", "question", "choices", "label", "choice_kinds"):
        assert again.test.rows[name].to_pylist() == remedied.benchmark.test.rows[name].to_pylist()


def test_donors_about_the_same_images_give_iou_decoys(tmp_path):
    rows = [asked("what is this", [f"thing {n}", "junk"], str(n)) for n in range(5)]
    benchmark = read_benchmark(written(tmp_path / "alone.jsonl", rows))
    with pytest.raises(InputError, match=r"each of its 5 images has a single question; .*--pool"):
        give_new_decoys(benchmark, "iou", None, Settings())
    donors = from_questions(read_benchmark(write_questions(tmp_path / "pool.jsonl")))
    remedied = give_new_decoys(benchmark, "iou", None, Settings(), donors)
    row = rows_of(remedied)[1]
    from_pool = [o for o in row["choice_origins"] if "pool.jsonl" in o]
    assert len(from_pool) == 3
    assert set(row["choices"]) < {"thing 1", "black", "a nurse", "kitchen", "zebra"}
    assert remedied.statistics["donors"] == {"given": 11, "images_in_common": 4, "decoys_from_them": 3 + 3 + 1 + 1}
    assert len(rows_of(remedied)) == 5


def test_rows_without_any_decoy_keep_their_choices_and_are_counted(tmp_path):
    rows = [asked("what", ["cat", "cats"]), asked("which", ["cat", "a cat"])]
    remedied = remedied_rows(tmp_path / "c.jsonl", rows)
    assert remedied.statistics["rows_left_as_published"] == 2
    assert [row["choices"] for row in rows_of(remedied)] == [["cat", "cats"], ["cat", "a cat"]]
    assert rows_of(remedied)[0]["choice_kinds"] == ["target", "orig"]


def test_another_answer_to_the_same_question_on_the_same_image_is_no_decoy(tmp_path):
    answers = ["puppy", "young dog", "spaniel", "hound"]
    rows = [*(asked("What animal is it?", [answer, "x"]) for answer in answers), asked("Where is it?", ["lawn", "x"])]
    found = rows_of(remedied_rows(tmp_path / "s.jsonl", rows))
    for row in found[:4]:
        origins = zip(row["choices"], row["choice_origins"], strict=True)
        assert [text for text, origin in origins if origin.startswith("question")] == ["lawn"]
    assert set(found[4]["choices"]) - {"lawn"} <= set(answers)


def test_a_layout_that_tells_the_target_by_itself_tells_origins_in_its_order(tmp_path):
    rows = [
        {"image_id": image, "question": question, "correct_answer": target, "distractors": ["wrong one", "wrong two"]}
        for question, target, image in ASKED
    ]
    remedied = give_new_decoys(read_benchmark(written(tmp_path / "d.jsonl", rows)), "iou", None, Settings())
    by_number = [target for _, target, _ in ASKED]
    for row in rows_of(remedied):
        shown = [row["correct_answer"], *row["distractors"]]
        assert row["choice_kinds"][0] == row["choice_origins"][0] == "target"
        for text, origin in zip(shown, row["choice_origins"], strict=True):
            if origin.startswith("question"):
                assert by_number[int(origin.split()[1].rstrip(","))] == text


def test_labels_that_count_from_one_can_still_be_told_after_the_remedy(tmp_path):
    for seed in range(8):
        rows = [asked(f"what {n}", [f"a{n}", f"b{n}"], answer=1 + n % 2) for n in range(5)]
        benchmark = read_benchmark(written(tmp_path / f"one{seed}.jsonl", rows))
        remedied = give_new_decoys(benchmark, "iou", None, Settings(seed=seed))
        copy = tmp_path / f"again{seed}.jsonl"
        write_benchmark(benchmark, remedied.tables, copy)
        again = read_benchmark(str(copy)).test.rows
        assert again["label"].to_pylist() == remedied.benchmark.test.rows["label"].to_pylist()


def test_classes_that_cannot_name_the_new_choices_become_numbers_and_text(tmp_path):
    import datasets
    from datasets import ClassLabel, Features, List, Value

    text, kinds = Value("string"), List(ClassLabel(names=["orig", "target"]))
    features = {"image_id": text, "question": text, "choices": List(text), "label": ClassLabel(names=["A", "B"])}
    features = Features({**features, "type": ClassLabel(names=["animal"]), "choice_kinds": kinds})
    rows = [(image, question, ["wrong", target], 1, 0, [0, 1]) for question, target, image in ASKED]
    rows = [dict(zip(features, row, strict=True)) for row in rows]
    datasets.Dataset.from_list(rows, features=features).to_parquet(tmp_path / "c.parquet")
    benchmark = read_benchmark(str(tmp_path / "c.parquet"))
    remedied = give_new_decoys(benchmark, "iou", None, Settings())
    write_benchmark(benchmark, remedied.tables, tmp_path / "d.parquet")
    again = datasets.Dataset.from_parquet(str(tmp_path / "d.parquet"), cache_dir=tmp_path / "cache")
    assert again.features["label"] == Value("int64")
    assert again.features["type"] == features["type"]
    for row, (_, target, _) in zip(again, ASKED, strict=True):
        assert row["choices"][row["label"]] == target
        assert row["choice_kinds"][row["label"]] == "target"


def test_impossible_requests_are_rejected(tmp_path):
    benchmark = read_benchmark(write_questions(tmp_path / "a.jsonl"))
    with pytest.raises(InputError, match="QoU decoys need word vectors: add --word-vectors"):
        give_new_decoys(benchmark, "qou", None, Settings())
    for name in ("choice_kinds", "choice_origins"):
        own = read_benchmark(write_questions(tmp_path / "own.jsonl", **{name: [["a", "b", "c"]] * len(ASKED)}))
        with pytest.raises(InputError, match=f"would replace the column {name}; rename it"):
            check_own_columns(own, sets=False)
    blind = [{"question": f"what {n}", "choices": ["a", "b"], "answer": 0} for n in range(4)]
    with pytest.raises(InputError, match="IoU decoys need images, and none of its 4 rows has an image"):
        remedied_rows(tmp_path / "t.jsonl", blind)


def test_letter_columns_are_widened_for_more_choices(tmp_path, vectors):
    lines = ["index\tquestion\tA\tB\tC\tanswer\timage_id"]
    lines += [
        f"{n}\t{question}\t{target}\twrong one\twrong two\tA\t{image}"
        for n, (question, target, image) in enumerate(ASKED)
    ]
    path = tmp_path / "bench.tsv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    benchmark = read_benchmark(str(path))
    remedied = give_new_decoys(benchmark, "iou_qou", vectors, Settings())
    table = remedied.tables[benchmark.evaluated]
    assert table.column_names[:9] == ["index", "question", "A", "B", "C", "D", "E", "F", "G"]
    first = table.slice(0, 1).to_pylist()[0]
    assert first[first["answer"]] == "black"
    copy = tmp_path / "again.tsv"
    write_benchmark(benchmark, remedied.tables, copy)
    again = read_benchmark(str(copy))
    assert again.test.rows["choices"].to_pylist() == remedied.benchmark.test.rows["choices"].to_pylist()


def test_a_training_split_is_remedied_too_and_its_targets_stand_in(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for split, image in (("train", "1"), ("test", "9")):
        rows = [asked("what", [f"{split} thing{n}", "junk"], f"{image}{n // 2}") for n in range(8)]
        written(folder / f"{split}.jsonl", rows)
    benchmark = read_benchmark(str(folder))
    remedied = give_new_decoys(benchmark, "iou", None, Settings(filter_fallback=False))
    assert set(remedied.tables) == {"train", "test"}
    for row in remedied.tables["test"].to_pylist():
        origins = zip(row["choices"], row["choice_origins"], strict=True)
        fallbacks = [text for text, origin in origins if origin == "fallback"]
        assert fallbacks and all(text.startswith("train") or text == "junk" for text in fallbacks)
    kinds = pc.list_flatten(remedied.benchmark.test.rows["choice_kinds"])
    assert set(kinds.to_pylist()) == {"target", "iou"}
    assert isinstance(remedied.tables["test"], pa.Table)


def test_each_row_keeps_its_number_of_choices(tmp_path, vectors):
    rows = [
        asked(question, [target, *(f"wrong {n}" for n in range(1 + number % 4))], image)
        for number, (question, target, image) in enumerate(ASKED)
    ]
    benchmark = read_benchmark(written(tmp_path / "n.jsonl", rows))
    settings = Settings(preset="plausible")
    donors = from_questions(read_benchmark(write_questions(tmp_path / "pool.jsonl")))
    remedied = give_new_decoys(benchmark, "iou_qou", vectors, settings, donors, keep_size=True)
    after = rows_of(remedied)
    assert [len(row["choices"]) for row in after] == [len(row["choices"]) for row in rows]
    for row in after:
        n_qou, n_iou = (row["choice_kinds"].count(kind) for kind in ("qou", "iou"))
        assert n_qou - n_iou in (0, 1)
    wanted = {name: counts["wanted"] for name, counts in remedied.statistics["decoys"].items()}
    n_decoys = [len(row["choices"]) - 1 for row in rows]
    assert wanted == {"iou": sum(n // 2 for n in n_decoys), "qou": sum(n - n // 2 for n in n_decoys)}
    assert all(counts["missing"] == 0 for counts in remedied.statistics["decoys"].values())
