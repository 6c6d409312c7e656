"""The ontologies: numbers, kinds, values, relations; errors in ontology files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.engines.gqa.normalising import cleaned_relation
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, RELATIONS, Ontology, own_ontology
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT
from hf_vqa_mc.engines.vocabulary import plural_of, singular_of
from hf_vqa_mc.errors import InputError

OBJECTS = """
animal,10,animal,S,A,G
dog,40,animal,S,b:common
dogs,4,animal,P,b:common
puppy,1,animal,S,K:dog
grass,20,x,plant,M,K:weed
seagull,18,animal,S,E:seagull.sea gull
couch,19,furniture,S
chair,10,furniture,S,K:couch
pants,13,clothing,P,T
book,3,object,S.B:laptop
"""
ATTRIBUTES = """
white;22;color;S:cream,gray
gray;4;color;S:white
cream;1;color;S:white
red;7;color
wood;3;material;C:wood;A:wooden
hardwood;5;material;C:wood;N
waiting;9;activity;P
tennis;17;sport;N
on;4;39;E:turned-on;P
nylon,51;material;C:rubber;N
"""


def _files(folder: Path, objects: str = OBJECTS, attributes: str = ATTRIBUTES) -> tuple[Path, Path]:
    paths = folder / "objects.txt", folder / "attributes.txt"
    for path, text in zip(paths, (objects, attributes), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.fixture(scope="module", params=["own", "published"])
def ontology(request: pytest.FixtureRequest, real_data: Path) -> Ontology:
    names = ("objects", "attributes") if request.param == "published" else ()
    return read_ontology(*(real_data / "gqa" / f"ontology__{name}.txt" for name in names) if names else (None, None))


def test_marks_of_the_published_files_are_understood(tmp_path: Path) -> None:
    ontology = read_ontology(*_files(tmp_path))
    nouns = ontology.nouns
    assert (nouns["dogs"].kind, nouns["dogs"].plural, nouns["dogs"].singular) == ("dog", True, "dog")
    assert nouns["grass"].mass and nouns["grass"].plural_form == ""
    assert nouns["pants"].plural and nouns["pants"].singular == ""
    assert nouns["chairs"].kind == "chair", "the other number is made"
    assert ontology.name_aliases["sea gull"] == "seagull"
    assert ontology.isa("puppy", "dog") and ontology.isa("puppies", "animal") and not ontology.isa("dog", "puppy")
    assert ontology.may_be("dog", "puppy") and ontology.may_be("chair", "couch") and ontology.may_be("couch", "chair")
    assert not ontology.may_be("dog", "couch")
    attributes = ontology.attributes
    assert attributes["wood"].adjective == "wooden" and ontology.value_aliases["wooden"] == "wood"
    assert (
        ontology.alike("hardwood", "wood") and ontology.alike("white", "cream") and not ontology.alike("white", "red")
    )
    assert attributes["waiting"].verb and attributes["tennis"].before_only
    assert attributes["on"].after_only and not attributes["on"].verb and ontology.value_aliases["turned-on"] == "on"
    assert attributes["nylon"].types == ("material",)
    assert {"left", "right", "middle"} <= set(ontology.values["hposition"])


@pytest.mark.parametrize(
    ("objects", "attributes", "where"),
    [
        ("dog\n", ATTRIBUTES, "objects.txt, line 1"),
        ("dog,1,animal,S\n,3,animal,S\n", ATTRIBUTES, "objects.txt, line 2"),
        ("", ATTRIBUTES, "objects.txt"),
        (OBJECTS, "white;22;color\nred;many;color\n", "attributes.txt, line 2"),
        (OBJECTS, "\n", "attributes.txt"),
        ('{"a": 1}', ATTRIBUTES, "objects.txt, line 1"),
    ],
)
def test_errors_in_ontology_files_name_the_line(tmp_path: Path, objects: str, attributes: str, where: str) -> None:
    with pytest.raises(InputError, match=where):
        read_ontology(*_files(tmp_path, objects, attributes))


def test_one_file_without_the_other_is_refused(tmp_path: Path) -> None:
    objects, attributes = _files(tmp_path)
    with pytest.raises(InputError, match="without its attributes"):
        read_ontology(objects, None)
    with pytest.raises(InputError, match="without its objects"):
        read_ontology(None, attributes)


def test_an_ontology_holds_together(ontology: Ontology) -> None:
    for name, noun in ontology.nouns.items():
        assert noun.name == name and noun.kind in ontology.nouns
        assert not (noun.plural and noun.mass)
        assert noun.kind not in noun.parents
        for other in (noun.singular, noun.plural_form):
            assert not other or ontology.nouns[other].kind == noun.kind, name
    for value, attribute in ontology.attributes.items():
        assert attribute.value == value and value not in attribute.similar
        assert attribute.similar <= ontology.attributes.keys()
        assert all(value in ontology.values[kind] for kind in attribute.types)
    assert ontology.exclusive <= ontology.values.keys()
    assert not ontology.value_aliases.keys() & ontology.attributes.keys()
    assert not ontology.name_aliases.keys() & ontology.nouns.keys()
    assert set(ontology.name_aliases.values()) <= ontology.nouns.keys()
    assert set(ontology.value_aliases.values()) <= ontology.attributes.keys()


def test_common_things_are_of_the_right_kind(ontology: Ontology) -> None:
    certain = ["apple fruit", "apples fruit", "apple food", "man person", "polar_bear bear", "polar_bear animal"]
    certain += ["car vehicle", "shirt clothing", "rose flower", "laptop computer", "coffee_table table"]
    certain += ["people person"]
    for pair in certain:
        name, category = pair.replace("_", " ").rsplit(" ", 1)
        assert ontology.isa(name, category), pair
    never = ["man woman", "girl boy", "skier surfer", "apple banana", "dog cat", "car airplane", "cup chair"]
    for pair in never:
        name, other = pair.split()
        assert not ontology.may_be(name, other) and not ontology.may_be(other, name), pair
    open_ones = ["person man", "man skier", "couch sofa", "car truck", "cup mug", "street road", "fruit apple"]
    for pair in open_ones:
        name, other = pair.split()
        assert ontology.may_be(name, other) and not (name != other and ontology.isa(name, other)), pair
    assert ontology.nouns["sheep"].mass is False and not ontology.nouns["sky"].plural


def test_like_values_are_never_opposites(ontology: Ontology) -> None:
    alike = ("white beige", "tan brown", "silver gray", "large huge", "round circular", "blue dark_blue")
    for pair in ("wood hardwood", *alike):
        one, other = (value.replace("_", " ") for value in pair.split())
        assert ontology.alike(one, other) and ontology.alike(other, one), pair
    for pair in ("white black", "red green", "wood metal", "small large", "open closed", "left right", "young old"):
        one, other = pair.split()
        assert not ontology.alike(one, other) and not ontology.alike(other, one), pair


NAMES = st.sampled_from(sorted(own_ontology().nouns)[::37])


@given(NAMES, NAMES)
def test_what_is_a_kind_may_be_one(name: str, other: str) -> None:
    ontology = own_ontology()
    for category in (other, ANYTHING, name, *ontology.nouns[name].parents):
        if ontology.isa(name, category):
            assert ontology.may_be(name, category)
    assert ontology.isa(name, name) and ontology.isa(name, ANYTHING)
    assert all(ontology.isa(name, parent) for parent in ontology.nouns[name].parents)


def test_relations_agree_with_one_another() -> None:
    relations = own_ontology().relations
    for name, words in relations.items():
        assert words.name == name and name not in words.excludes and name not in words.related
        assert not words.excludes & words.related, name
        if words.inverse:
            assert relations[words.inverse].inverse == name
    assert relations[LEFT].inverse == RIGHT and relations[LEFT].excludes == {RIGHT}
    assert "under" in relations["on"].excludes and "on top of" in relations["on"].related
    assert relations["wearing"].one_subject and not relations["wearing"].many


def test_relations_outside_the_tables_are_derived_by_rule() -> None:
    relations = own_ontology().relations
    assert "on" in relations["sunbathing on"].related
    assert "sculpting" in relations and "ceiling" not in relations and "sunbathing of" not in relations
    assert "of" not in relations and "with" not in relations


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ON", "on"),
        ("wears", "wearing"),
        ("are sitting on a", "sitting on"),
        ("carries", "carrying"),
        ("laying in", "lying in"),
        ("to left of", LEFT),
        ("rides", "riding"),
        ("hung on", "hanging on"),
        ("has a", ""),
        ("with", ""),
        ("", ""),
    ],
)
def test_relations_are_brought_into_the_form_after_is(written: str, name: str) -> None:
    assert cleaned_relation(written) == name


@given(st.text(max_size=20))
def test_any_text_is_a_relation_or_none(text: str) -> None:
    name = cleaned_relation(text)
    assert name not in RELATIONS["says nothing"]
    assert cleaned_relation(name) in (name, "")


@given(
    st.sampled_from(
        sorted(noun.name for noun in own_ontology().nouns.values() if noun.plural_form and not noun.plural)
    )
)
def test_a_plural_leads_back_to_its_singular(name: str) -> None:
    plural = plural_of(name)
    if plural != name and singular_of(plural):
        assert plural_of(singular_of(plural)) == plural
