"""The checker of generated questions is itself checked: it agrees with published questions and catches every fault."""

import json
import lzma
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engines.gqa.independent_checker.check import check_folder, question_problems
from tests.engines.gqa.independent_checker.entailment import contradiction, entails
from tests.engines.gqa.independent_checker.program import read_program, referents
from tests.engines.gqa.independent_checker.raw_graph import RawGraph, gqa_graph, read_graphs
from tests.engines.gqa.independent_checker.relations import same_relation
from tests.engines.gqa.independent_checker.sentence import Lexicon
from tests.engines.gqa.independent_checker.small_world import GRAPH, records, step, world, write
from tests.engines.gqa.independent_checker.vocabulary import MAYBE, NO, SURE, read_vocabulary

Records = dict[str, dict[str, Any]]
PUBLISHED = ("GQAOOD__ood_testdev_head", "GQAOOD__ood_testdev_tail", "GQAOOD__val_bal_tail_-0.7")
GRAPHS = (
    "minyus100__train_sceneGraphs.json.xz",
    "minyus100__val_sceneGraphs.json.xz",
    "GraphVQA__debug_sceneGraphs.json",
)


@pytest.fixture(scope="module")
def published(real_data: Path) -> Records:
    made: Records = {}
    for name in PUBLISHED:
        with lzma.open(real_data / "gqa" / f"{name}.json.xz", "rt") as file:
            made |= json.load(file)
    for name in ("allennlp__gqa__question_dir__questions0", "allennlp__gqa__question_dir__questions1"):
        made |= json.loads((real_data / "gqa" / f"{name}.json").read_text("utf-8"))
    return made


@pytest.fixture(scope="module")
def graphs(real_data: Path) -> dict[str, RawGraph]:
    return read_graphs(real_data / "gqa" / name for name in GRAPHS)


@pytest.fixture(scope="module")
def lexicon(real_data: Path) -> Lexicon:
    folder = real_data / "gqa"
    return Lexicon(read_vocabulary(folder / "ontology__objects.txt", folder / "ontology__attributes.txt"))


def test_it_confirms_the_published_answers_where_the_scene_graph_is_there(published, graphs, lexicon):
    asked = {key: record for key, record in published.items() if record["imageId"] in graphs}
    kinds = Counter()
    for record in asked.values():
        kinds.update({kind for kind, _ in question_problems(record, graphs[record["imageId"]], lexicon)})

    assert len(asked) == 17
    assert kinds == {"reference: unique only jointly": 4}  # "the man", of two, whose shorts are asked about


def test_most_other_answers_to_these_questions_are_refused(published, graphs, lexicon):
    asked = [record for record in published.values() if record["imageId"] in graphs]
    for record in asked:
        wrong = record | {"answer": "pineapple" if record["answer"] != "pineapple" else "apple"}
        kinds = {kind for kind, _ in question_problems(wrong, graphs[record["imageId"]], lexicon)}
        assert any(kind.startswith("answer: ") for kind in kinds), record["question"]


def test_published_entailments_follow_but_for_a_few_that_are_unsound(published, lexicon):
    verdicts = Counter()
    for key, record in published.items():
        for other in {*record["entailed"], *record["equivalent"]} - {key}:
            if other in published:
                verdicts[entails(record, published[other], lexicon.words)] += 1
                verdicts["against"] += bool(contradiction(record, published[other], lexicon.words))

    assert verdicts[True] == 1436
    assert verdicts[False] == 7  # "What color is it? Green." tells nothing of "Is it green and large? No."
    assert verdicts["against"] == 2  # "Is she to the left of the pillow": the program relates her to herself


def test_a_name_asked_for_by_another_description_is_never_entailed_in_the_published_questions(published, lexicon):
    """What animal is white? A dog. That does not tell what animal is on the table, though it is that dog."""
    asked: dict[tuple[str, str], list[tuple[str, object]]] = {}
    for key, record in published.items():
        program = read_program(record["semantic"])
        if program[-1].operation == "query" and program[-1].type == "name":
            place = program[-1].inputs[0]
            found = referents(program)
            step = program[place]
            if place in found:
                said = (step.operation, step.values, step.side, found.get(step.inputs[0]) if step.side else None)
                asked.setdefault((record["imageId"], found[place]), []).append((key, said))
    entailed = Counter()
    for questions in asked.values():
        for one, said in questions:
            told = {*published[one]["entailed"], *published[one]["equivalent"]}
            entailed.update((said == its, other in told) for other, its in questions if other != one)

    assert entailed == {(True, True): 1126, (False, False): 1722}


@pytest.mark.slow
def test_questions_about_the_same_image_rarely_follow_from_each_other(published, lexicon):
    by_image: dict[str, list[str]] = {}
    for key, record in published.items():
        by_image.setdefault(record["imageId"], []).append(key)
    verdicts = Counter()
    for keys in list(by_image.values())[:300]:
        for one in keys:
            told = {one, *published[one]["entailed"], *published[one]["equivalent"]}
            verdicts.update(
                entails(published[one], published[other], lexicon.words) for other in keys if other not in told
            )

    assert verdicts[False] > 20 * verdicts[True]


# what words mean


@pytest.mark.parametrize(
    ("name", "asked", "fit"),
    [
        ("apple", "apples", SURE),
        ("people", "person", SURE),
        ("apple", "fruit", SURE),
        ("trash can", "garbage can", SURE),
        ("polo shirt", "shirt", SURE),
        ("poodle", "dog", MAYBE),
        ("dog", "poodle", NO),
        ("chair", "table", NO),
    ],
)
def test_a_name_fits_what_is_asked(lexicon, name, asked, fit):
    assert lexicon.words.fits(name, asked) == fit


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("wears", "wearing", True), ("ON", "on", True), ("is sitting on", "sitting on", True), ("on", "under", False)],
)
def test_relations_in_other_words_are_the_same(one, other, same):
    assert same_relation(one, other) is same


def test_values_exclude_others_of_their_type_that_are_not_like_them(lexicon):
    words = lexicon.words
    assert words.excludes("red", "green")
    assert not words.excludes("red", "orange")
    assert not words.excludes("red", "large")
    assert words.includes("steel", "metal")
    assert not words.includes("metal", "steel")


# programs by hand


@pytest.mark.parametrize(
    ("semantic", "answer"),
    [
        ([step("select", "woman (4)"), step("query", "pose", 0)], "sitting"),
        ([step("select", "woman (4)"), step("verify age", "old", 0)], "no"),
        ([step("select", "apple (1)"), step("filter color", "red", 0), step("query", "hposition", 1)], "left"),
        ([step("select", "apple (2)"), step("filter color", "not(red)", 0), step("query", "color", 1)], "green"),
        ([step("select", "chair (6)"), step("filter color", "green", 0), step("exist", "?", 1)], "no"),
        ([step("select", "table (3)"), step("verify rel", "woman,to the left of,s (4)", 0)], "no"),
        ([step("select", "woman (4)"), step("verify rel", "pants,wearing,o (5)", 0)], "yes"),
        ([step("select", "woman (4)"), step("verify rel", "banana,holding,o (-)", 0)], "no"),
        (
            [
                step("select", "couch (-)"),
                step("exist", "?", 0),
                step("select", "chair (6)"),
                step("exist", "?", 2),
                step("or", "", 1, 3),
            ],
            "yes",
        ),
        ([step("select", "table (3)"), step("select", "chair (6)"), step("different material", "", 0, 1)], "yes"),
        ([step("select", "pants (5)"), step("select", "chair (6)"), step("common", "", 0, 1)], "color"),
        ([step("select", "fruit (1,2)"), step("same type", "", 0)], "yes"),
        ([step("select", "animal (7)"), step("choose name", "poodle|cat", 0)], "poodle"),
    ],
)
def test_the_interpreter_comes_to_the_answer(semantic, answer):
    graphs, lexicon = world()
    kinds = [kind for kind, _ in _answered(semantic, answer, graphs["10"], lexicon)]
    wrong = {"yes": "no", "no": "yes"}.get(answer, "metal")
    others = [kind for kind, _ in _answered(semantic, wrong, graphs["10"], lexicon)]

    assert kinds == []
    assert any(kind.startswith("answer: ") for kind in others)


@pytest.mark.parametrize(
    ("semantic", "answer", "kind"),
    [
        ([step("select", "apple (1)"), step("query", "color", 0)], "red", "reference: ambiguous"),
        ([step("select", "pear (-)"), step("query", "color", 0)], "red", "reference: none"),
        ([step("select", "dog (7)"), step("query", "color", 0)], "white", "reference: by a wide reading only"),
        ([step("select", "dog (-)"), step("exist", "?", 0)], "no", "no: not excluded"),
        ([step("select", "woman (4)"), step("verify rel", "apple,holding,o (-)", 0)], "no", "no: not excluded"),
        ([step("select", "chair (6)"), step("verify shape", "round", 0)], "no", "answer: unknown"),
        ([step("select", "chair (3)"), step("query", "color", 0)], "black", "ids: another object"),
        ([step("select", "chair (99)"), step("query", "color", 0)], "black", "ids: no such object"),
        ([step("select", "chair (6)"), step("choose color", "black|black", 0)], "black", "program: choose"),
        ([step("select", "chair (6)"), step("query", "color", 1)], "black", "program: dependencies"),
        ([step("find", "chair (6)"), step("query", "color", 0)], "black", "program: unreadable"),
    ],
)
def test_the_interpreter_says_what_is_wrong(semantic, answer, kind):
    graphs, lexicon = world()
    assert kind in [found for found, _ in _answered(semantic, answer, graphs["10"], lexicon)]


def _answered(semantic, answer: str, graph: RawGraph, lexicon: Lexicon) -> list[tuple[str, str]]:
    from tests.engines.gqa.independent_checker.interpreter import answer_problems

    return answer_problems(
        {"semantic": semantic, "answer": answer, "question": ""}, graph, lexicon.words, lambda _: False
    )


# faults put into an output that is right


def _found(folder: Path, made: Records) -> set[str]:
    graphs, lexicon = world()
    return {violation.kind for violation in check_folder(write(folder, made), graphs, lexicon)}


def test_an_output_that_is_right_has_no_violation(tmp_path):
    assert _found(tmp_path, records()) == set()


def _set(key: str, **changes: Any) -> Callable[[Records], None]:
    return lambda made: made[key].update(changes)


def _argument(key: str, place: int, argument: str) -> Callable[[Records], None]:
    def change(made: Records) -> None:
        made[key]["semantic"][place]["argument"] = argument

    return change


FAULTS = {
    "an answer flipped": (_set("1002", answer="no", fullAnswer="No, the chair is black."), "answer: other"),
    "a no flipped": (_set("1005", answer="yes", fullAnswer="Yes, there is a banana."), "answer: other"),
    "another colour": (_set("1001", answer="white", fullAnswer="The chair is white."), "answer: other"),
    "left for right": (_set("1004", answer="right"), "answer: other"),
    "the other option": (_set("1008", answer="metal", fullAnswer="The table is made of metal."), "answer: other"),
    "another object's id": (_argument("1001", 0, "chair (3)"), "ids: another object"),
    "an id of nothing": (_argument("1001", 0, "chair (77)"), "ids: no such object"),
    "ids left out": (_argument("1001", 0, "chair (-)"), "ids: not told"),
    "references swapped": (_argument("1004", 1, "chair,to the left of|to the right of,s (6)"), "answer: unknown"),
    "the other side of a relation": (_argument("1006", 1, "person,wearing,o (4)"), "reference: none"),
    "a reference that is ambiguous": (_argument("1001", 0, "thing (6)"), "reference: ambiguous"),
    "an entailed question too much": (_set("1001", entailed=["1002", "1003", "1008"]), "entailed: does not follow"),
    "an entailed question that is not there": (_set("1001", entailed=["9999"]), "entailed: no such question"),
    "itself entailed": (_set("1001", entailed=["1001"]), "entailed: itself"),
    "an equivalent question that is not": (_set("1001", equivalent=["1001", "1006"]), "equivalent: does not follow"),
    "equivalence one way": (_set("1001", equivalent=["1001", "1002"]), "equivalent: not mutual"),
    "a group for yes": (_set("1002", groups={"global": "color", "local": "x"}), "groups: global of yes and no"),
    "no local group": (_set("1002", groups={"global": None, "local": ""}), "groups: no local"),
    "a structural type": (
        _set("1002", types={"structural": "query", "semantic": "attr", "detailed": "x"}),
        "record: structural type",
    ),
    "a program in one line": (_set("1002", semanticStr="select: chair"), "record: semanticStr"),
    "a field left out": (lambda made: made["1002"].update(types=None), "record: fields"),
    "an image nobody has": (_set("1002", imageId="11"), "dataset: unknown image"),
}


@pytest.mark.parametrize(("change", "kind"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_caught(tmp_path, change, kind):
    made = records()
    change(made)
    assert kind in _found(tmp_path, made)


def test_contradicting_entailed_questions_are_caught(tmp_path):
    made = records()
    made["1002"].update(answer="no")
    assert "entailed: contradiction" in _found(tmp_path, made)


# faults between the files


def _files_found(folder: Path) -> set[str]:
    graphs, lexicon = world()
    return {violation.kind for violation in check_folder(folder, graphs, lexicon)}


def _edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")


FILE_FAULTS = {
    "train_balanced_questions": [
        (lambda made: made["1001"].update(answer="white"), "dataset: balanced and all differ"),
        (lambda made: made.pop("1001"), "dataset: isBalanced"),
        (lambda made: made.update({"5": made["1001"]}), "dataset: balanced but not in all"),
    ],
    "train_sceneGraphs": [(lambda made: made.clear(), "dataset: no scene graph")],
}


@pytest.mark.parametrize(
    ("name", "change", "kind"),
    [(name, change, kind) for name, faults in FILE_FAULTS.items() for change, kind in faults],
)
def test_a_fault_between_files_is_caught(tmp_path, name, change, kind):
    write(tmp_path, records())
    _edit(tmp_path / f"{name}.json", change)
    assert kind in _files_found(tmp_path)


def test_an_image_in_two_splits_is_caught(tmp_path):
    made = records()
    write(tmp_path, {key: made[key] for key in list(made)[:4]}, "train")
    write(tmp_path, {key: made[key] for key in list(made)[4:]}, "val")
    assert {"dataset: an image in two splits", "dataset: a scene graph in two splits"} <= _files_found(tmp_path)


def test_an_id_in_two_splits_is_caught(tmp_path):
    write(tmp_path, records(), "train")
    write(tmp_path, records(), "val")
    assert "dataset: an id twice" in _files_found(tmp_path)


def test_a_missing_file_is_caught(tmp_path):
    (write(tmp_path, records()) / "train_sceneGraphs.json").unlink()
    assert "dataset: a file is missing" in _files_found(tmp_path)


def test_the_checker_takes_nothing_from_the_engine():
    folder = Path(__file__).parent / "independent_checker"
    assert list(folder.glob("*.py"))
    assert [path.name for path in folder.glob("*.py") if "hf_vqa_mc" in path.read_text("utf-8")] == []


def test_left_and_right_are_read_from_either_side_and_from_boxes():
    graph = gqa_graph(GRAPH)
    assert graph.related("1", "to the left of", "3") is True
    assert graph.related("3", "to the right of", "1") is True
    assert graph.related("3", "to the left of", "1") is False
    assert graph.related("1", "to the left of", "4") is True  # by their boxes
    assert graph.related("4", "to the right of", "5") is None  # the boxes overlap
    assert graph.related("4", "holding", "1") is None
