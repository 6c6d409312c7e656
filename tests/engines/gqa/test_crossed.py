"""The same questions about many images: what an independent checker makes of them, and the sets that they form."""

import json
import re
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from hf_vqa_mc.dataset.variants import build_variants
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.engines.gqa.crossed import crossed_questions, settled, shared_questions
from hf_vqa_mc.engines.gqa.dataset_files import question_record
from hf_vqa_mc.engines.gqa.executor import Executor
from hf_vqa_mc.engines.gqa.generate import count_graphs, read_graphs
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from hf_vqa_mc.engines.gqa.settings import GqaSettings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import check_triplets
from tests.engines.gqa.independent_checker.interpreter import problems_of
from tests.engines.gqa.independent_checker.raw_graph import gqa_graph, read_json
from tests.engines.gqa.independent_checker.vocabulary import read_vocabulary

FILES = ("minyus100__train_sceneGraphs.json.xz", "minyus100__val_sceneGraphs.json.xz")
ONE_SPLIT = GqaSettings(splits={"train": 1.0})
COLORS = ("red", "green", "blue", "black")
THINGS = ("car", "dog", "bench", "umbrella", "kite", "bike")


def graphs_file(folder, images, things=THINGS, seed=0):
    """Scene graphs of images that show each thing once, in a random color."""
    random, graphs = Random(seed), {}
    for image in range(images):
        objects = {}
        for at, name in enumerate(things):
            box = {"x": 100 * at, "y": 100, "w": 80, "h": 150}
            objects[str(at)] = {"name": name, **box, "attributes": [random.choice(COLORS)], "relations": []}
        graphs[str(image)] = {"width": 640, "height": 480, "objects": objects}
    path = folder / "train_sceneGraphs.json"
    path.write_text(json.dumps(graphs))
    return path, graphs


def test_a_question_about_another_image_has_the_answer_of_its_graph(tmp_path):
    path, graphs = graphs_file(tmp_path, 40)
    table = check_triplets(crossed_questions([path], replace(ONE_SPLIT, depth=0)), "crossed")
    images = Counter()
    for row in table.to_pylist():
        found = re.fullmatch(r"Wh.* color .*the (\w+)(?: is)?\?", row["question"])
        if found and found[1] in THINGS:
            images[row["question"]] += 1
            assert graphs[row["image_id"]]["objects"][str(THINGS.index(found[1]))]["attributes"] == [row["target"]]
    assert len(images) > 2
    assert max(images.values()) > 30


@pytest.mark.parametrize(("size", "images"), [(2, 16), (3, 40)])
def test_latin_squares_are_formed_from_made_up_graphs(tmp_path, size, images):
    table = crossed_questions([graphs_file(tmp_path, images)[0]], ONE_SPLIT)
    (found,) = build_variants(table, ["sets_latin"], None, Settings(set_size=size))
    counts = found.statistics["closed_sets"]["train"]["sets"]["latin"]
    assert counts.keys() == {str(size)}
    assert counts[str(size)] > 2
    again = crossed_questions([graphs_file(tmp_path, images)[0]], ONE_SPLIT)
    assert again.equals(table)


def test_few_images_for_each_answer_are_enough_for_sets_of_one_question(tmp_path):
    path = graphs_file(tmp_path, 40)[0]
    rows = crossed_questions([path], ONE_SPLIT, per_answer=2).to_pylist()
    assert max(Counter((row["question"], row["target"]) for row in rows).values()) == 2


def test_one_image_cannot_be_asked_about_twice(tmp_path):
    with pytest.raises(InputError, match="no question has different answers on several of the 1 images"):
        crossed_questions([graphs_file(tmp_path, 1)[0]], ONE_SPLIT)


@pytest.mark.parametrize("images", [15, pytest.param(193, marks=pytest.mark.slow)])
def test_the_independent_checker_agrees_with_answers_on_other_images(real_data, images):
    files = [real_data / "gqa" / name for name in FILES]
    ontology_files = (real_data / "gqa" / "ontology__objects.txt", real_data / "gqa" / "ontology__attributes.txt")
    ontology, words = read_ontology(*ontology_files), read_vocabulary(*ontology_files)
    distractors = count_graphs(files, ontology, GqaSettings(), Counter())[0]
    raw = {key: graph for file in files for key, graph in read_json(file).items()}
    random, wrong, count = Random(0), [], 0
    graphs = [graph for _, graph in read_graphs(files, ontology, Counter())]
    some = random.sample(graphs, images)
    shared = shared_questions(some, ontology, distractors, GqaSettings())
    for graph in some:
        executor, checked = Executor(graph, ontology), gqa_graph(raw[graph.image_id])
        for number, answer in settled(shared, graph, ontology, distractors):
            question = shared[number].question
            run = executor.run(question.program)
            assert run.answer == answer
            record = question_record(replace(question, found=run.found, answer=answer), graph.image_id)
            count += 1
            wrong += [(question.question.text, answer) for _ in problems_of(record, checked, words)[:1]]
    assert count > 100 * images
    assert len(wrong) <= 0.001 * count, wrong[
        :20
    ]  # a canoe that GQA's ontology calls a boat, and the checker does not


@pytest.mark.slow
def test_two_hundred_real_graphs_have_more_than_a_thousand_squares_of_two(real_data):
    table = crossed_questions([real_data / "gqa" / name for name in FILES], GqaSettings())
    (found,) = build_variants(table, ["sets_latin"], None, Settings(set_size=2))
    sets = [one["sets"]["latin"]["2"] for one in found.statistics["closed_sets"].values()]
    assert len(sets) == 3
    assert sum(sets) > 1_200
    for size in (3, 4):
        with pytest.raises(InputError, match="no closed answer set"):
            next(build_variants(table, ["sets_latin"], None, Settings(set_size=size)))
