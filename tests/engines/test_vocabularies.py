"""The engines' vocabularies in YAML: every file fits its schema, and errors name what is wrong."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from hf_vqa_mc import engines
from hf_vqa_mc.engines.complementary import premise
from hf_vqa_mc.engines.gqa import (
    cleaning,
    distractors,
    edges,
    normalising,
    ontology,
    ontology_files,
    own_ontology,
    plurals,
    relation_names,
    scene_graph,
    wording,
)
from hf_vqa_mc.engines.tdiuc import answers, coco_questions, imported, objects
from hf_vqa_mc.engines.vocabulary import read_vocabulary, vocabulary
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES

FOLDER = Path(engines.__file__).parent
SCHEMAS: dict[str, type] = {
    "complementary/words": premise.Words,
    "gqa/cleaning": cleaning.NameWords,
    "gqa/edges": edges.EdgeRules,
    "gqa/kinds": ontology.Kinds,
    "gqa/mentions": wording.Mentions,
    "gqa/nouns": own_ontology.Nouns,
    "gqa/plurals": plurals.Plurals,
    "gqa/published": ontology_files.Published,
    "gqa/relations": relation_names.Relations,
    "gqa/scenes": scene_graph.SceneSigns,
    "gqa/templates": wording.Templates,
    "gqa/unannotated": distractors.Unannotated,
    "gqa/value_types": normalising.ValueTypes,
    "gqa/values": own_ontology.Values,
    "gqa/wording": wording.Words,
    "tdiuc/answers": answers.Answers,
    "tdiuc/imported_types": imported.ImportedTypes,
    "tdiuc/objects": objects.Objects,
    "tdiuc/scenes": coco_questions.Scenes,
    "tdiuc/templates": coco_questions.Templates,
}


def test_every_file_has_a_schema_and_fits_it() -> None:
    files = {f"{path.parts[-3]}/{path.stem}" for path in FOLDER.rglob("*.yaml")}
    assert files == SCHEMAS.keys()
    for name, schema in SCHEMAS.items():
        assert isinstance(vocabulary(name, schema), schema)


def names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_templates_of_a_list_are_distinct_questions_and_name_known_phrases_only() -> None:
    file = vocabulary("gqa/templates", wording.Templates)
    named = set()
    for variants in file.templates.values():
        for texts in variants.values():
            assert texts and len(set(texts)) == len(texts)
            assert all(text.endswith("?") for text in texts)
            named |= {name for text in texts for name in names_in(text) if name.isupper()}
    assert named == file.phrases.keys()
    for question_type, detailed in file.detailed_types.items():
        assert detailed.keys() <= file.templates[question_type].keys()


def test_nouns_refer_to_nouns_and_are_listed_once_in_a_category() -> None:
    file = own_ontology.NOUNS
    listed = [*file.categories.items(), ("", file.no_category)]
    names = {name for _, one in listed for name in one.names()}
    for category, one in listed:
        assert set(one.above) | {category} - {""} <= file.categories.keys()
        assert one.kinds_of.keys() <= names
        groups = [one.nouns, one.mass, one.plural, one.unique, one.sometimes, *one.kinds_of.values()]
        singles = [name for group in groups for name in group if group not in (one.mass, one.plural)]
        assert len(set(singles)) == len(singles), category


def test_values_refer_to_values() -> None:
    file = own_ontology.VALUES
    values = {value for of_type in file.types.values() for value in of_type} | set(file.untyped)
    assert all(len(set(of_type)) == len(of_type) for of_type in (*file.types.values(), file.untyped))
    assert file.nouns | file.adjectives.keys() <= values
    places = {place for group in file.places for place in group}
    assert file.places_nearby.keys() | {place for near in file.places_nearby.values() for place in near} <= places
    named = {value for group in file.alike for value in group}
    named |= file.alike_one.keys() | {value for others in file.alike_one.values() for value in others}
    assert len(named & values) > 0.8 * len(named), "the others are values of GQA's list"


@pytest.mark.parametrize("groups", [own_ontology.VALUES.alike, ontology.KINDS.alike])
def test_a_group_of_alike_names_has_each_once(groups: tuple[tuple[str, ...], ...]) -> None:
    assert all(len(set(group)) == len(group) > 1 for group in groups)


def test_relations_refer_to_meanings_and_relations() -> None:
    file = relation_names.RELATIONS
    positions = {meaning for meanings in file.prepositions.values() for meaning in meanings}
    actions = {meaning for meanings in file.actions.values() for meaning in meanings}
    assert file.sure.keys() | set(file.posture_prepositions) <= file.prepositions.keys()
    assert {meaning for meanings in file.sure.values() for meaning in meanings} <= positions | {"under"}
    assert file.apart.keys() | {meaning for others in file.apart.values() for meaning in others} | file.many <= actions
    assert file.one_subject <= file.actions.keys()
    assert {posture for pair in file.postures_alike for posture in pair} <= set(file.postures)
    assert all(list(pair) == sorted(pair) and len(pair) == 2 for pair in file.postures_alike)


def test_scenes_and_words_name_objects_of_coco() -> None:
    scene, file = coco_questions.SCENES, objects.OBJECTS
    named = [scene.equipment, scene.no_such_kind, scene.outdoor_signs, scene.outdoor_proof, scene.indoor_signs]
    named += [scene.indoor_proof, scene.indoor_pair, scene.outdoor_exceptions, *scene.confusable.values()]
    named += [names for room in scene.rooms.values() for names in (room.marks, room.others)]
    named += [file.wordings, file.counted, file.mass, file.plural_only, *(one.objects for one in file.may_mean)]
    assert {name for names in named for name in names} <= objects.COCO_OBJECTS.keys()
    groups = {*scene.kinds, *scene.confusable, *scene.indoor_supercategories}
    groups |= {one.supercategory for one in file.may_mean} - {""}
    assert groups <= file.supercategories.keys()
    words = [word for one in file.may_mean for word in one.words]
    assert len(set(words)) == len(words) and file.provable <= set(words)
    assert not file.plain & file.provable


def test_templates_of_generated_questions_are_distinct_and_fill_their_names() -> None:
    named = {"counting": "objects", "kinds": "kind", "kinds_of_one": "kind", "is_it": "where", "color": "object"}
    for field in fields(coco_questions.Templates):
        texts = getattr(coco_questions.TEMPLATES, field.name)
        expected = {"side", "object"} if field.name == "position" else {named.get(field.name)} - {None}
        assert len(set(texts)) == len(texts) and all(names_in(text) == expected for text in texts), field.name


def test_rules_of_imported_types_name_types_and_answers() -> None:
    for rule in vocabulary("tdiuc/imported_types", imported.ImportedTypes).rules:
        assert rule.type in QUESTION_TYPES
        assert rule.answers in imported.ANSWER_LISTS or rule.answers == "open"
        assert all(re.compile(question) for question in rule.questions)


@dataclass(frozen=True)
class Toy:
    """A schema."""

    words: frozenset[str]
    plural_forms: dict[str, tuple[str, ...]]
    least: int = 1


GOOD = "words: [on, no, '1']\nplural forms:\n  cat: [cats]\n"


def read(folder: Path, text: str) -> Any:
    path = folder / "toy.yaml"
    path.write_text(text)
    return read_vocabulary(path, Toy)


def test_what_the_schema_has_as_text_needs_no_quotes(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == Toy(frozenset({"on", "no", "1"}), {"cat": ("cats",)})


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("words:", "word:"),
        "words: []\n",
        GOOD.replace("on, no", "on, on"),
        GOOD.replace("[cats]", "cats"),
        GOOD + "least: many\n",
    ],
)
def test_an_error_names_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=re.escape(str(tmp_path / "toy.yaml"))):
        read(tmp_path, text)
