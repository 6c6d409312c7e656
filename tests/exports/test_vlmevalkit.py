"""TSV files for VLMEvalKit, read by its rules."""

import pandas
import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.vlmevalkit import GUARD
from tests.exports import small
from tests.exports.vlmevalkit_rules import groups, is_circular, kind, lines


def exported(folder, questions=small.QUESTIONS, images=True, **options):
    return small.export(small.benchmark(questions, images), "vlmevalkit", folder / "LMUData", **options)


def unguarded(line):
    return [text.removesuffix(GUARD) for text in line["options"].values()]


def test_questions_choices_answers_and_images_come_back(tmp_path):
    images = {"i0": small.picture("red", format="JPEG"), "i1": small.picture("blue")}
    result = exported(tmp_path, images=images)
    path = result.files[0]
    assert kind(path) == "images"
    assert not is_circular(path)
    back = lines(path)
    assert [line["index"] for line in back] == [0, 1, 2, 3]
    assert [unguarded(line) for line in back] == [row[3] for row in small.QUESTIONS]
    assert [line["options"][line["answer"]].removesuffix(GUARD) for line in back] == [
        row[3][row[4]] for row in small.QUESTIONS
    ]
    assert [line["image"] for line in back] == [images[row[1]] for row in small.QUESTIONS]
    assert [line["category"] for line in back] == ["object", "number", "unnamed", "object"]
    assert all(f"Question: {row[2]}\n" in line["prompt"] for row, line in zip(small.QUESTIONS, back, strict=True))


def test_the_circular_file_moves_every_choice_through_every_letter(tmp_path):
    result = exported(tmp_path)
    path = next(path for path in result.files if path.name.endswith("_CIRCULAR.tsv"))
    assert is_circular(path)
    together = groups(lines(path))
    assert list(together) == [0, 1, 2, 3]
    for row, turned in zip(small.QUESTIONS, together.values(), strict=True):
        assert len(turned) == len(row[3])
        assert {line["options"][line["answer"]].removesuffix(GUARD) for line in turned} == {row[3][row[4]]}
        for letters in zip(*(unguarded(line) for line in turned), strict=True):
            assert sorted(letters) == sorted(row[3])
        assert len({line["image"] for line in turned}) == 1


def test_the_text_file_has_the_same_questions_without_images(tmp_path):
    result = exported(tmp_path)
    path = next(path for path in result.files if path.name.endswith("_TEXT.tsv"))
    assert kind(path) == "text"
    assert [line["prompt"] for line in lines(path)] == [line["prompt"] for line in lines(result.files[0])]


def test_an_image_is_stored_once_and_read_once(tmp_path):
    benchmark = small.benchmark()
    result = small.export(benchmark, "vlmevalkit", tmp_path / "LMUData")
    assert benchmark.test.images.reads == [0, 2]
    cells = pandas.read_csv(result.files[0], sep="\t")["image"]
    assert list(cells[[1, 3]]) == ["0", "2"]


def test_images_so_small_that_they_read_as_an_index_are_stored_as_png(tmp_path):
    dot = small.picture("red", (1, 1), "GIF")
    assert len(dot) < 49
    result = exported(tmp_path, images={"i0": dot, "i1": dot})
    assert all(line["image"].startswith(b"\x89PNG") for line in lines(result.files[0]))


@pytest.mark.parametrize("hide_answers", [False, True])
def test_no_kinds_no_human_answers_and_no_labels_if_hidden(tmp_path, hide_answers):
    result = exported(tmp_path, hide_answers=hide_answers)
    assert small.LEFT_OUT in result.notes
    for path in result.files:
        columns = set(pandas.read_csv(path, sep="\t").columns)
        assert columns - {"index", "question", *"ABCDE", "category", "question_id", "image", "answer"} == set()
        assert ("answer" in columns) != hide_answers
        assert small.SECRETS[2] not in path.read_text()
    assert ("--mode infer" in result.how[0]) == hide_answers


def test_questions_without_an_image_are_left_out_everywhere_and_reported(tmp_path):
    rows = [("q9", "", "Which?", ["a", "b"], 0, ""), *small.QUESTIONS]
    images = {"": None, "i0": small.picture("red"), "i1": small.picture("red")}
    result = exported(tmp_path, rows, images)
    assert result.questions == 4
    assert "1 of 5 questions have no image and are left out of all files" in result.notes
    assert {line["index"] for line in lines(result.files[2])} == {1, 2, 3, 4}


@pytest.mark.parametrize("hide_answers", [False, True])
def test_the_hint_and_the_larger_category_go_along_and_what_does_not_is_reported(tmp_path, hide_answers):
    columns = {
        "hint": ["Look left.", None, "nan", "1.0"],
        "l2-category": ["animals", None, "things", "things"],
        "solution": ["SECRETANSWER"] * 4,
        "passage": ["another"] * 4,
    }
    benchmark = small.benchmark(columns=columns)
    result = small.export(benchmark, "vlmevalkit", tmp_path / "LMUData", hide_answers=hide_answers)
    for path in result.files:
        prompts = [line["prompt"].replace(GUARD, "") for line in lines(path) if line["index"] < 4]
        assert [prompt.startswith("Hint: ") for prompt in prompts] == [True, False, False, True]
        assert prompts[0].startswith("Hint: Look left.\nQuestion: What animal is it?\n")
        assert prompts[3].startswith("Hint: 1.0\nQuestion: ")
        groups = pandas.read_csv(path, sep="\t")["l2-category"].to_list()
        assert groups[:4] == ["animals", "unnamed", "things", "things"]
        assert small.SECRETS[2] not in path.read_text()
    assert "column hint goes before the question, as the column hint" in result.notes
    assert f"{small.LEFT_OUT}, solution, passage" in result.notes


def test_guarded_cells_are_reported(tmp_path):
    assert any(note.startswith("3 cells such as None") for note in exported(tmp_path).notes)


@pytest.mark.parametrize("name", ["MMMU_mine", "MMT", "my_OpenEnded", "LEGO-x"])
def test_names_that_mean_something_else_there_are_rejected(tmp_path, name):
    with pytest.raises(InputError, match="VLMEvalKit treats names with"):
        exported(tmp_path, name=name)


def test_what_vlmevalkit_keeps_of_an_earlier_export_is_reported(tmp_path):
    exported(tmp_path, name="small")
    cached = tmp_path / "LMUData" / "small" / "images" / "small_CIRCULAR" / "0.jpg"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"an image")
    result = exported(tmp_path, name="small", overwrite=True)
    assert any("small_CIRCULAR" in note and "remove" in note for note in result.notes)


def test_an_export_that_fails_leaves_the_earlier_files(tmp_path):
    before = {path: path.read_bytes() for path in exported(tmp_path, name="small").files}
    with pytest.raises(InputError):
        exported(tmp_path, images={"i0": small.picture("red"), "i1": b"broken"}, name="small")
    assert {path: path.read_bytes() for path in before} == before


def test_files_of_an_earlier_export_that_are_not_written_again_are_removed(tmp_path):
    exported(tmp_path, name="small")
    result = exported(tmp_path, images=False, name="small")
    assert [path.name for path in result.files] == [path.name for path in result.files[0].parent.glob("*.tsv")]
    assert [path.name for path in result.files] == ["small_TEXT.tsv"] and len(lines(result.files[0])) == 4
