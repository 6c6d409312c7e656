"""GQA's published ontology files: one line an object, one line an attribute, with what was found out about each.

What the marks of the files mean is nowhere told; what follows is how their use agrees with the published questions.
Objects: ``name,how often,category,marks``. S singular, P plural, M mass, C the only one of its kind (sky); K:a.b kinds
that are near or above; E:a.b other words; J:a another category that might be meant. Attributes:
``value;how often;types;marks``. S:a,b similar; C:a the coarse value that it is one of; A: its adjective; E: other
words; P stands after "is"; N is a noun. Marks that are not understood (V, T, b, B, F, Z, O, W) are not used.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from hf_vqa_mc.engines.gqa.attribute_files import read_attributes
from hf_vqa_mc.engines.gqa.kinds import KINDS, KINDS_ALIKE, heads_alike, people_alike
from hf_vqa_mc.engines.gqa.ontology import Noun, Ontology
from hf_vqa_mc.engines.gqa.own_attributes import VALUES
from hf_vqa_mc.engines.gqa.own_ontology import NOUNS, own_ontology, with_numbers_of_one_kind
from hf_vqa_mc.engines.gqa.plurals import PLURALS, plural_of, singular_of
from hf_vqa_mc.engines.gqa.relation_names import RelationTable
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import PublishedFile

ABOVE = {
    "fruit": "food",
    "vegetable": "food",
    "meat": "food",
    "baked good": "food",
    "fast food": "food",
    "dessert": "food",
    "pastry": "baked good",
    "meal": "food",
    "sauce": "food",
    "bird": "animal",
    "aircraft": "vehicle",
    "watercraft": "vehicle",
    "footwear": "clothing",
    "cooking utensil": "utensil",
    "room": "place",
    "body part": "part",
    "vehicle part": "part",
}
"""What categories are kinds of; the files do not tell."""

NO_CATEGORIES = frozenset({"x", "X", "thing", "object", "part", "nature environment", "urban environment", "label"})
"""What the files give as categories though nobody calls their members so."""

_MARKS = re.compile(r"^(?:[A-Z]|x|i|o|pp|[A-Za-z]{1,2}:.*|commona?|)$")


def read_ontology(objects: Path | None, attributes: Path | None) -> Ontology:
    """The ontology of GQA's files, or our own for what is not given.

    Args:
        objects: the published list of objects, plain or packed.
        attributes: the published list of attributes.

    Raises:
        InputError: a file cannot be read, is not such a list, or has a line without a name; only one of them is given.
    """
    if objects is None and attributes is None:
        return own_ontology()
    if objects is None or attributes is None:
        given, missing = ("objects", "attributes") if objects else ("attributes", "objects")
        raise InputError(f"the ontology's {given} are given without its {missing}: give both files, or none")
    return _read(objects, attributes)


@lru_cache(maxsize=2)
def _read(objects: Path, attributes: Path) -> Ontology:
    lines = list(_object_lines(objects))
    nouns = _nouns(lines)
    values, value_aliases = read_attributes(attributes)
    aliases = {alias: line.name for line in lines for alias in line.aliases if alias not in nouns}
    return Ontology(
        nouns=nouns,
        attributes=values,
        relations=RelationTable(),
        exclusive=VALUES.exclusive_types & {kind for value in values.values() for kind in value.types},
        name=f"{objects.name}, {attributes.name}",
        similar_kinds=_similar_kinds(lines, nouns, aliases),
        name_aliases=aliases,
        value_aliases=value_aliases,
    )


@dataclass(frozen=True)
class _Line:
    """A line of the list of objects."""

    name: str
    category: str = ""
    number: str = ""
    near: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    other_categories: tuple[str, ...] = ()
    marks: frozenset[str] = field(default_factory=frozenset)


def _object_lines(path: Path) -> Iterator[_Line]:
    file = PublishedFile(path.name, path)
    count = 0
    for number, text in enumerate(file.read_lines(), 1):
        if not text.strip():
            continue
        name, *rest = [part.strip() for part in text.split(",")]
        if not name or not rest or not (rest[0].isdigit() or _MARKS.match(rest[0])):
            raise InputError(
                f"{file.place}, line {number}: expected name,count,category,marks as in GQA's list of objects, found "
                f"{text[:60]!r}"
            )
        count += 1
        yield _line(name.lower(), rest[1:] if rest[0].isdigit() else rest)
    if not count:
        raise InputError(f"{file.place}: expected GQA's list of objects, one a line, found none")


def _line(name: str, parts: list[str]) -> _Line:
    lists: dict[str, list[str]] = defaultdict(list)
    marks, category = set(), ""
    for part in parts:
        mark, colon, values = part.partition(":")
        if colon:
            lists[mark].extend(value.strip().lower() for value in values.split(".") if value.strip())
        elif _MARKS.match(part):
            marks.add(part)
        elif re.match(r"^[SPM]\.", part):  # "S.B:laptop.pen"
            marks.add(part[0])
        else:
            category = category or part
    category = _CATEGORY_WRONG.get(name, category)
    numbers = [mark for mark in "PMSC" if mark in marks]
    return _Line(
        name=name,
        category=category,
        number=numbers[0] if numbers else "",
        near=tuple(lists["K"]),
        aliases=tuple(alias for alias in dict.fromkeys(lists["E"]) if alias != name),
        other_categories=tuple(lists["J"]),
        marks=frozenset(marks),
    )


def _nouns(lines: Iterable[_Line]) -> dict[str, Noun]:
    by_name: dict[str, _Line] = {}
    for line in lines:
        by_name.setdefault(line.name, line)
    nouns = {line.name: _noun(line, by_name) for line in by_name.values()}
    for noun in list(nouns.values()):  # the other number, where the list has one only
        for other, plural in ((noun.plural_form, True), (noun.singular, False)):
            if other and other not in nouns:
                nouns[other] = replace(noun, name=other, plural=plural)
    return with_numbers_of_one_kind(nouns)


def _noun(line: _Line, by_name: Mapping[str, _Line]) -> Noun:
    name = line.name
    plural, mass = _is_plural(line), line.number == "M"
    singular = _singular(name, by_name) if plural else "" if mass else name
    kind = singular or name
    kind = {"people": "person"}.get(kind, kind)
    many = name if plural else "" if mass or line.number == "C" else _plural(name)
    return Noun(
        name=name,
        kind=kind,
        plural=plural,
        mass=mass,
        parents=_parents(by_name.get(kind, line), by_name),
        singular=singular,
        plural_form="" if name in PLURALS.pairs else many,
        proper=name in _PROPER,
        vague=name in KINDS.vague,
    )


def _is_plural(line: _Line) -> bool:
    if line.name in _NUMBERED_WRONG:
        return _NUMBERED_WRONG[line.name]
    return line.number == "P"


def _singular(name: str, by_name: Mapping[str, _Line]) -> str:
    for ending in ("s", "es"):
        if name.endswith(ending) and name.removesuffix(ending) in by_name and name != "glasses":
            return name.removesuffix(ending)
    if name in PLURALS.pairs or name.split()[-1] in PLURALS.collective | {"people", "supplies"}:
        return "person" if name == "people" else ""
    if name in PLURALS.same:
        return name
    singular = singular_of(name)
    return singular if singular in by_name or name not in _NO_SINGULAR else ""


def _plural(name: str) -> str:
    return "" if name.split()[-1] in _UNCOUNTED else plural_of(name)


def _parents(line: _Line, by_name: Mapping[str, _Line]) -> tuple[str, ...]:
    """Kinds above: those of the near names that are so, then the categories."""
    own = own_ontology().nouns
    found: list[str] = []
    if line.name in KINDS.ambiguous:
        return ()
    for near in line.near:
        above = own[line.name].parents if line.name in own else ()
        headed = line.name.endswith(f" {near}")
        same = near in by_name and by_name[near].category in (line.category, "")
        if near != line.name and (near in above or (headed and same)) and near not in NO_CATEGORIES:
            found.append(near)
    vessel = line.category == "drink" and line.name.split()[-1] in ("bottle", "can", "cup")
    category = "" if vessel else line.category  # of what is in it; it stays near it by K
    while category and category not in found:
        if category != line.name and category not in NO_CATEGORIES:
            found.append(category)
        above_it = by_name[category].category if category in by_name else ""
        category = above_it if above_it and above_it != category else ABOVE.get(category, "")
    for near in list(found):
        higher = own[near].parents if near in own else ()
        found += [name for name in higher if name not in found and name in by_name and name not in KINDS.vague]
    return tuple(name for name in dict.fromkeys(found) if name != line.name)


def _similar_kinds(
    lines: Iterable[_Line], nouns: Mapping[str, Noun], aliases: Mapping[str, str]
) -> dict[str, frozenset[str]]:
    near: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        kind = nouns[line.name].kind
        loose = (line.category,) if line.name in KINDS.ambiguous and line.category else ()
        named = (*line.near, *line.other_categories, *loose)
        others = [nouns[other].kind if other in nouns else other for other in named]
        for other in others:
            if other != kind:
                near[kind].add(other)
                near[other].add(kind)
    for kind, others_alike in KINDS_ALIKE.items():
        near[kind] |= others_alike
    for others_of in (people_alike(nouns.values()), heads_alike(nouns, aliases)):
        for kind, others_alike in others_of.items():
            near[kind] |= others_alike
    own = own_ontology()
    categories = {parent for noun in nouns.values() for parent in noun.parents}
    for noun in nouns.values():
        if noun.kind in own.nouns:  # a bowl may be tableware though the file has it in no category
            above = own.nouns[noun.kind]
            may_be = own.similar_kinds.get(above.kind, frozenset()) & NOUNS.categories.keys()
            near[noun.kind] |= ({*above.parents, *may_be} & categories) - {noun.kind, *noun.parents}
    return {kind: frozenset(others) for kind, others in near.items()}


_CATEGORY_WRONG = {"lemon": "fruit", "lime": "fruit", "lemons": "fruit", "limes": "fruit"}
_NUMBERED_WRONG = {"meatballs": True, "cords": True, "wires": True, "traffic lights": True}
_NO_SINGULAR = frozenset({"clothes", "cloths", "sprinkles", "bleachers", "fans"})
_PROPER = frozenset({"elmo", "snoopy", "mickey mouse", "pikachu", "eiffel tower"})
_UNCOUNTED = frozenset({"sky", "ground", "hay", "equipment", "jewelry", "outside"})
