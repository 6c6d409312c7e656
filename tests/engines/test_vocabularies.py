"""The engines' vocabularies in YAML: every file fits its schema."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from string import Formatter
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import yaml

from hf_vqa_mc import engines
from hf_vqa_mc.engines import english
from hf_vqa_mc.engines.complementary import premise
from hf_vqa_mc.engines.gqa import (
    distractors,
    edges,
    normalising,
    ontology,
    ontology_files,
    own_ontology,
    scene_graph,
    wording,
)
from hf_vqa_mc.engines.tdiuc import coco, imported, words
from hf_vqa_mc.engines.vocabulary import vocabulary
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES

FOLDER = Path(engines.__file__).parent
SCHEMAS: dict[str, type] = {
    "complementary/words": premise.Words,
    "gqa/edges": edges.EdgeRules,
    "gqa/kinds": ontology.Kinds,
    "gqa/normalising": normalising.AnnotatedWords,
    "gqa/nouns": own_ontology.Nouns,
    "gqa/plurals": english.Plurals,
    "gqa/published": ontology_files.Published,
    "gqa/relations": ontology.Relations,
    "gqa/scenes": scene_graph.SceneSigns,
    "gqa/templates": wording.Templates,
    "gqa/unannotated": distractors.Unannotated,
    "gqa/values": own_ontology.Values,
    "gqa/wording": wording.Words,
    "tdiuc/answers": words.Answers,
    "tdiuc/imported_types": imported.ImportedTypes,
    "tdiuc/objects": words.Objects,
    "tdiuc/scenes": coco.Scenes,
    "tdiuc/templates": coco.Templates,
}


def test_every_file_has_a_schema_and_fits_it() -> None:
    files = {f"{path.parts[-3]}/{path.stem}" for path in FOLDER.rglob("*.yaml")}
    assert files == SCHEMAS.keys()
    for name, schema in SCHEMAS.items():
        file = yaml.load(
            (FOLDER / name.replace("/", "/data/")).with_suffix(".yaml").read_text("utf-8"), yaml.BaseLoader
        )
        assert_fits(file, schema)
        assert isinstance(vocabulary(name, schema), schema)


def assert_fits(value: Any, kind: Any) -> None:
    """Fail unless a value is a list, a mapping or text as in its schema; items of a set must be distinct."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        types = get_type_hints(kind)
        for key, item in value.items():
            assert_fits(item, types[key.replace(" ", "_")])
    elif origin is dict:
        for item in value.values():
            assert_fits(item, arguments[1])
    elif origin in (tuple, frozenset):
        assert isinstance(value, list), value
        assert origin is tuple or len(set(map(str, value))) == len(value), value
        for item in value:
            assert_fits(item, arguments[0])
    else:
        assert isinstance(value, str), value


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
    file = ontology.RELATIONS
    positions = {meaning for meanings in file.prepositions.values() for meaning in meanings}
    actions = {meaning for meanings in file.actions.values() for meaning in meanings}
    assert file.sure.keys() | set(file.posture_prepositions) <= file.prepositions.keys()
    assert {meaning for meanings in file.sure.values() for meaning in meanings} <= positions | {"under"}
    assert file.apart.keys() | {meaning for others in file.apart.values() for meaning in others} | file.many <= actions
    assert file.one_subject <= file.actions.keys()
    assert {posture for pair in file.postures_alike for posture in pair} <= set(file.postures)
    assert all(list(pair) == sorted(pair) and len(pair) == 2 for pair in file.postures_alike)


def test_scenes_and_words_name_objects_of_coco() -> None:
    scene, file = coco.SCENES, words.OBJECTS
    named = [scene.equipment, scene.no_such_kind, scene.outdoor_signs, scene.outdoor_proof, scene.indoor_signs]
    named += [scene.indoor_proof, scene.indoor_pair, scene.outdoor_exceptions, *scene.confusable.values()]
    named += [names for room in scene.rooms.values() for names in (room.marks, room.others)]
    named += [file.wordings, file.counted, file.mass, file.plural_only, *(one.objects for one in file.may_mean)]
    assert {name for names in named for name in names} <= words.COCO_OBJECTS.keys()
    groups = {*scene.kinds, *scene.confusable, *scene.indoor_supercategories}
    groups |= {one.supercategory for one in file.may_mean} - {""}
    assert groups <= file.supercategories.keys()
    listed = [word for one in file.may_mean for word in one.words]
    assert len(set(listed)) == len(listed) and file.provable <= set(listed)
    assert not file.plain & file.provable


def test_templates_of_generated_questions_are_distinct_and_fill_their_names() -> None:
    named = {"counting": "objects", "kinds": "kind", "kinds_of_one": "kind", "is_it": "where", "color": "object"}
    for field in fields(coco.Templates):
        texts = getattr(coco.TEMPLATES, field.name)
        expected = {"side", "object"} if field.name == "position" else {named.get(field.name)} - {None}
        assert len(set(texts)) == len(texts) and all(names_in(text) == expected for text in texts), field.name


def test_rules_of_imported_types_name_types_and_answers() -> None:
    for rule in vocabulary("tdiuc/imported_types", imported.ImportedTypes).rules:
        assert rule.type in QUESTION_TYPES
        assert rule.answers in imported.ANSWER_LISTS or rule.answers == "open"
        assert all(re.compile(question) for question in rule.questions)
