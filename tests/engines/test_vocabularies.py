"""The engines' vocabularies in YAML: every key is used, and what is used is in the files."""

import re
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest
import yaml

from hf_vqa_mc import engines
from hf_vqa_mc.engines.gqa import ontology
from hf_vqa_mc.engines.tdiuc import coco, imported, words
from hf_vqa_mc.engines.vocabulary import Vocabulary
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES

FOLDER = Path(engines.__file__).parent
FILES = {f"{path.parts[-3]}/{path.stem}": path for path in FOLDER.rglob("*.yaml")}
SOURCES = {path: path.read_text("utf-8") for path in FOLDER.rglob("*.py")}
LISTS = dict[str, tuple[str, ...]]


@pytest.mark.parametrize("name", FILES)
def test_every_key_of_a_file_is_read_and_items_of_a_list_are_distinct(name: str) -> None:
    assert any(f'Vocabulary("{name}")' in text for text in SOURCES.values())
    content = yaml.load(FILES[name].read_text("utf-8"), yaml.BaseLoader)
    for key, value in content.items():
        assert any(f'"{key}"' in text for text in SOURCES.values()), key
        if isinstance(value, list):
            assert len(set(map(str, value))) == len(value), key
    assert Vocabulary(name).keys() <= content.keys()


@pytest.mark.parametrize("path", [path for path, text in SOURCES.items() if "Vocabulary(" in text])
def test_what_a_module_looks_up_is_in_its_files(path: Path) -> None:
    if path.stem == "vocabulary":
        return
    module = import_module(".".join(("hf_vqa_mc", *path.relative_to(FOLDER.parent).with_suffix("").parts)))
    known = {name: value for name, value in vars(module).items() if isinstance(value, Vocabulary)}
    used = [(name, key) for name, key in re.findall(r"\b([A-Z_]+)\[\"([a-z ]+)\"\]", SOURCES[path]) if name in known]
    assert known and all(key in known[name] for name, key in used)


def names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_templates_of_a_list_are_distinct_questions_and_name_known_phrases_only() -> None:
    file = Vocabulary("gqa/templates")
    templates, phrases = file.read("templates", dict[str, LISTS]), file.read("phrases", LISTS)
    named = set()
    for variants in templates.values():
        for texts in variants.values():
            assert texts and len(set(texts)) == len(texts)
            assert all(text.endswith("?") for text in texts)
            named |= {name for text in texts for name in names_in(text) if name.isupper()}
    assert named == phrases.keys()
    for question_type, detailed in file.read("detailed types", dict[str, dict[str, str]]).items():
        assert detailed.keys() <= templates[question_type].keys()


def test_nouns_refer_to_nouns_and_are_listed_once_in_a_category() -> None:
    listed = [*ontology.CATEGORIES.items(), ("", ontology.NO_CATEGORY)]
    groups_of = {
        category: [one.nouns, one.mass, one.plural, one.unique, one.sometimes, *one.kinds_of.values()]
        for category, one in listed
    }
    names = {name for groups in groups_of.values() for group in groups for name in group}
    for category, one in listed:
        assert set(one.above) | {category} - {""} <= ontology.CATEGORIES.keys()
        assert one.kinds_of.keys() <= names
        groups = groups_of[category]
        singles = [name for group in groups for name in group if group not in (one.mass, one.plural)]
        assert len(set(singles)) == len(singles), category


def test_values_refer_to_values() -> None:
    file = ontology.VALUES
    types, untyped = file.read("types", LISTS), file.read("untyped", tuple[str, ...])
    values = {value for of_type in types.values() for value in of_type} | set(untyped)
    assert all(len(set(of_type)) == len(of_type) for of_type in (*types.values(), untyped))
    assert file["nouns"] | ontology.ADJECTIVES.keys() <= values
    places = {place for group in file.read("places", tuple[tuple[str, ...], ...]) for place in group}
    nearby, alike_one = file.read("places nearby", LISTS), file.read("alike one", LISTS)
    assert nearby.keys() | {place for near in nearby.values() for place in near} <= places
    named = {value for group in file.read("alike", tuple[tuple[str, ...], ...]) for value in group}
    named |= alike_one.keys() | {value for others in alike_one.values() for value in others}
    assert len(named & values) > 0.8 * len(named), "the others are values of GQA's list"


@pytest.mark.parametrize("file", [ontology.VALUES, ontology.KINDS])
def test_a_group_of_alike_names_has_each_once(file: Vocabulary) -> None:
    assert all(len(set(group)) == len(group) > 1 for group in file.read("alike", tuple[tuple[str, ...], ...]))


def test_relations_refer_to_meanings_and_relations() -> None:
    positions = {meaning for meanings in ontology.PREPOSITIONS.values() for meaning in meanings}
    actions = {meaning for meanings in ontology.ACTIONS.values() for meaning in meanings}
    assert ontology.SURE.keys() | set(ontology.POSTURE_PREPOSITIONS) <= ontology.PREPOSITIONS.keys()
    assert {meaning for meanings in ontology.SURE.values() for meaning in meanings} <= positions | {"under"}
    apart = ontology.APART.keys() | {meaning for others in ontology.APART.values() for meaning in others}
    assert apart | ontology.RELATIONS["many"] <= actions
    assert ontology.RELATIONS["one subject"] <= ontology.ACTIONS.keys()
    assert {posture for pair in ontology.POSTURES_ALIKE for posture in pair} <= set(ontology.POSTURES)
    assert all(list(pair) == sorted(pair) and len(pair) == 2 for pair in ontology.POSTURES_ALIKE)


def test_scenes_and_words_name_objects_of_coco() -> None:
    scene, file = coco.SCENES, words.OBJECTS
    keys = ("no such kind", "outdoor signs", "outdoor proof", "indoor signs", "indoor proof", "indoor pair")
    named = [coco.EQUIPMENT.keys(), *(scene[key] for key in (*keys, "outdoor exceptions")), *coco.CONFUSABLE.values()]
    named += [names for room in coco.ROOMS.values() for names in room.values()]
    named += [file.read(key, dict[str, str]).keys() for key in ("wordings", "counted")]
    named += [file["mass"], file["plural only"], *words.MAY_MEAN.values()]
    assert {name for names in named for name in names} <= words.COCO_OBJECTS.keys()
    groups = {*coco.KINDS, *coco.CONFUSABLE, *scene["indoor supercategories"]}
    assert groups <= words.SUPERCATEGORIES.keys()
    listed = [word for nouns, _ in words.MEANINGS for word in nouns]
    assert len(set(listed)) == len(listed) and file["provable"] <= set(listed)
    assert not file["plain"] & file["provable"]


def test_templates_of_generated_questions_are_distinct_and_fill_their_names() -> None:
    named = {"counting": "objects", "kinds": "kind", "kinds of one": "kind", "is it": "where", "color": "object"}
    for key, texts in coco.TEMPLATES.items():
        expected = {"side", "object"} if key == "position" else {named.get(key)} - {None}
        assert len(set(texts)) == len(texts) and all(names_in(text) == expected for text in texts), key


def test_rules_of_imported_types_name_types_and_answers() -> None:
    for rule in Vocabulary("tdiuc/imported_types").read("rules", tuple[imported.Rule, ...]):
        assert rule.type in QUESTION_TYPES
        assert rule.answers in imported.ANSWER_LISTS or rule.answers == "open"
        assert all(re.compile(question) for question in rule.questions)
