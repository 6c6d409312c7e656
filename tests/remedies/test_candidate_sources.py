"""Candidates for decoys, each source from a small file in the publisher's format."""

import json

import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import silent
from hf_vqa_mc.remedies.candidate_pool import (
    images_in_common,
    read_candidate_table,
    read_candidates,
    read_captions,
    read_pool,
    read_scene_graphs,
)
from hf_vqa_mc.sources.vqa_files import V1

ROWS = [
    {"question_id": 1, "image_id": 7, "question": "What is it?", "answer": "a cat"},
    {"question_id": 2, "image_id": 8, "question": "Where is it?", "answer": ""},
]
CAPTIONS = [
    {"id": 1, "image_id": 7, "caption": "Two women sit at an old wooden table."},
    {"id": 2, "image_id": 8, "caption": "A table with a red kite."},
    {"id": 3, "image_id": 9, "caption": "A kite and a surfboard."},
]


def texts(candidates, image):
    return [row["text"] for row in candidates.to_pylist() if row["image_id"] == image]


def answer(text, source):
    return {"text": text, "source": source, "question": "What is it?", "image_id": "7", "question_id": None}


def test_open_ended_questions_give_their_answers(tmp_path):
    file = tmp_path / "open.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    source = "question 1 of open.jsonl, test"
    assert read_pool(str(file)).to_pylist() == [answer("a cat", source)]


def test_an_annotation_file_of_vqa_is_read_with_its_questions(tmp_path):
    questions = {"questions": [{name: ROWS[0][name] for name in ("question_id", "image_id", "question")}]}
    answers = [{"answer": "cat", "answer_id": number, "answer_confidence": "yes"} for number in range(1, 11)]
    record = {"question_id": 1, "image_id": 7, "multiple_choice_answer": "cat", "answers": answers}
    record |= {"question_type": "what is", "answer_type": "other"}
    file = tmp_path / V1.annotations_name("val2014")
    file.write_text(json.dumps({"annotations": [record]}))
    with pytest.raises(InputError, match=r"OpenEnded_mscoco_val2014_questions\.json"):
        read_pool(str(file))
    (tmp_path / V1.questions_name("val2014")).write_text(json.dumps(questions))
    assert read_pool(str(file)).to_pylist() == [answer("cat", f"question 1 of {file.name}")]


def test_a_table_without_answers_is_no_pool(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"question": "What?", "text": "cat"}))
    with pytest.raises(InputError, match="no choices recognised"):
        read_pool(str(file))


@pytest.mark.parametrize("form", ["coco", "csv"])
def test_captions_give_the_objects_that_they_name_once_per_image_of_the_benchmark_and_once_elsewhere(tmp_path, form):
    if form == "coco":
        file = tmp_path / "captions_val2017.json"
        file.write_text(json.dumps({"info": {}, "images": [{"id": 7}], "annotations": CAPTIONS}))
    else:
        file = tmp_path / "captions.csv"
        pd.DataFrame(CAPTIONS).to_csv(file, index=False)
    found = read_captions(str(file), {"7", "8"})
    assert texts(found, "7") == ["women", "table", "old wooden table"]
    assert texts(found, "8") == ["table", "kite", "red kite"]
    assert texts(found, "9") == ["surfboard"]
    assert found["source"][0].as_py() == f"caption of image 7 of {file.name}"


def test_a_table_without_captions_is_an_error(tmp_path):
    file = tmp_path / "captions.csv"
    pd.DataFrame(CAPTIONS).rename(columns={"caption": "text"}).to_csv(file, index=False)
    with pytest.raises(InputError, match=r"captions\.csv: no column 'caption'; expected image_id, caption"):
        read_captions(str(file), set())


def test_scene_graphs_of_gqa_give_names_and_attributes(tmp_path):
    box = {"x": 1, "y": 2, "w": 3, "h": 4, "relations": []}
    objects = {"1": {**box, "name": "kite", "attributes": ["red"]}, "2": {**box, "name": "kite", "attributes": []}}
    file = tmp_path / "val_sceneGraphs.json"
    file.write_text(json.dumps({"7": {"width": 100, "height": 80, "objects": objects}}))
    found = read_scene_graphs(file, set())
    assert texts(found, "7") == ["kite", "red"]
    assert found["source"][0].as_py() == "scene graph of image 7 of val_sceneGraphs.json"


def test_scene_graphs_of_visual_genome_give_names_and_attributes(tmp_path):
    thing = {"object_id": 5, "names": ["dog"], "attributes": ["brown"], "x": 1, "y": 2, "w": 3, "h": 4}
    graph = {"image_id": 7, "objects": [thing], "relationships": []}
    (tmp_path / "scene_graphs.json").write_text(json.dumps([graph]))
    (tmp_path / "image_data.json").write_text(json.dumps([{"image_id": 7, "width": 100, "height": 80}]))
    assert texts(read_scene_graphs(tmp_path, {"7"}), "7") == ["dog", "brown"]
    with pytest.raises(InputError, match="no such file; expected GQA's scene graphs, or a folder"):
        read_scene_graphs(tmp_path / "none.json", set())


@pytest.mark.parametrize("form", ["csv", "jsonl", "json", "parquet"])
def test_a_table_gives_candidates_for_its_questions_alone(tmp_path, form):
    frame = pd.DataFrame({"question_id": [3, 3, 4], "text": ["a kite", "a boat", "1999"], "source": "Ann"})
    file = tmp_path / f"candidates.{form}"
    write = {
        "csv": lambda: frame.to_csv(file, index=False),
        "jsonl": lambda: frame.to_json(file, orient="records", lines=True),
        "json": lambda: frame.to_json(file, orient="records"),
        "parquet": lambda: frame.to_parquet(file),
    }
    write[form]()
    found = read_candidate_table(file, {"3", "4"})
    expected = [("a kite", "Ann", "3"), ("a boat", "Ann", "3"), ("1999", "Ann", "4")]
    assert [(row["text"], row["source"], row["question_id"]) for row in found.to_pylist()] == expected
    assert found["question"].null_count == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"question_id": ["3"], "text": ["kite"]}, "candidates.csv: no column 'source'"),
        (
            {"question_id": ["3", "9"], "text": ["kite", "cat"], "source": ["", ""]},
            "candidates.csv, row 2: question_id '9' is not in the benchmark, which has ids such as '3'",
        ),
        ({"question_id": ["3"], "text": [" "], "source": ["Ann"]}, "candidates.csv, row 1: text is empty"),
        (None, "candidates.csv does not exist; expected a table of candidates with question_id, text, source"),
    ],
    ids=["column", "question", "text", "file"],
)
def test_faults_of_a_table_are_named_with_their_location(tmp_path, rows, message):
    file = tmp_path / "candidates.csv"
    if rows is not None:
        pd.DataFrame(rows).to_csv(file, index=False)
    with pytest.raises(InputError, match=message):
        read_candidate_table(file, {"3"})


def test_all_sources_are_read_together(tmp_path):
    benchmark = read_benchmark(
        pd.DataFrame([{"question_id": "3", "image_id": "7", "question": "?", "choices": ["a", "b"], "label": 0}])
    )
    pool, captions, table = (tmp_path / name for name in ("pool.jsonl", "captions.csv", "table.csv"))
    pool.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    pd.DataFrame(CAPTIONS[:1]).to_csv(captions, index=False)
    pd.DataFrame({"question_id": ["3"], "text": ["1999"], "source": ["Ann"]}).to_csv(table, index=False)
    found = read_candidates(benchmark, table, str(pool), str(captions), None, silent)
    assert found["text"].to_pylist() == ["1999", "a cat", "women", "table", "old wooden table"]
    assert images_in_common(found, benchmark) == 1


def test_a_model_that_generates_no_text_is_named_by_its_option():
    class Scores:
        def scores(self, prompts):
            return [[0.0] * len(prompt.choices) for prompt in prompts]

    rows = [{"question_id": "3", "image_id": "7", "question": "What?", "choices": ["a", "b"], "label": 0}]
    with pytest.raises(InputError, match="candidates_from Scores generates no text"):
        vm.remedy(pd.DataFrame(rows), candidates_from=Scores())
