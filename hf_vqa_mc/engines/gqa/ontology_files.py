"""GQA's published ontology files: one line per object or attribute.

The marks of the files are undocumented; these meanings agree with the published questions. Objects:
``name,count,category,marks``. S singular, P plural, M mass, C unique (sky); K:a.b similar or higher kinds; E:a.b
synonyms; J:a another possible category. Attributes: ``value;count;types;marks``. S:a,b similar; C:a the coarse value
that includes it; A: adjective; E: synonyms; P follows "is"; N is a noun. Other marks (V, T, b, B, F, Z, O, W) are not
used.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hf_vqa_mc.engines.gqa import ontology
from hf_vqa_mc.engines.gqa.ontology import KINDS, VALUES, Attribute, Noun, Ontology, is_participle, similar_kinds
from hf_vqa_mc.engines.vocabulary import PLURALS, Vocabulary, plural_of, singular_of
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import PublishedFile

PUBLISHED = Vocabulary("gqa/published")
_KEYS = ("above", "categories", "numbered types")
_ABOVE, _CATEGORIES, _NUMBERED_TYPES = (PUBLISHED.read(key, dict[str, str]) for key in _KEYS)
_MARKS = re.compile(r"^(?:[A-Z]|x|i|o|pp|[A-Za-z]{1,2}:.*|commona?|)$")


class _Line(NamedTuple):
    name: str
    category: str
    number: str
    near: list[str]
    aliases: list[str]
    other_categories: list[str]


def read_ontology(objects: Path | None, attributes: Path | None) -> Ontology:
    """The ontology of GQA's published lists, plain or packed; our own if neither is given."""
    if objects is None and attributes is None:
        return ontology.own_ontology()
    if objects is None or attributes is None:
        given, missing = ("objects", "attributes") if objects else ("attributes", "objects")
        raise InputError(f"the ontology's {given} are given without its {missing}: give both files or neither")
    layout = "name,count,category,marks as in GQA's list of objects"
    lines = []
    for name, fields in _rows(objects, ",", layout, lambda field: field.isdigit() or bool(_MARKS.match(field))):
        lists, plain = _marks(fields, ".")
        category = next((field for field in plain if field and not _MARKS.match(field)), "")
        number = next((mark for mark in "PMSC" if mark in plain), "")
        aliases = [alias for alias in dict.fromkeys(lists["E"]) if alias != name]
        lines.append(_Line(name, _CATEGORIES.get(name, category), number, lists["K"], aliases, lists["J"]))
    by_name = {line.name: line for line in reversed(lines)}  # the first line of a name
    names = dict.fromkeys(line.name for line in lines)
    nouns = ontology.both_numbers({name: _noun(by_name[name], by_name) for name in names})
    values, value_aliases = _read_attributes(attributes)
    name_aliases = {alias: line.name for line in lines for alias in line.aliases if alias not in nouns}
    return Ontology(
        nouns=nouns,
        attributes=values,
        exclusive=VALUES["exclusive types"] & {kind for value in values.values() for kind in value.types},
        name=f"{objects.name}, {attributes.name}",
        similar_kinds=_similar_kinds(lines, nouns, name_aliases),
        name_aliases=name_aliases,
        value_aliases=value_aliases,
    )


def _rows(path: Path, separator: str, layout: str, is_valid: Callable[[str], bool]) -> Iterator[tuple[str, list[str]]]:
    """Each line's name, in lower case, and its other fields without the count; ``is_valid`` checks the second."""
    file = PublishedFile(path.name, path)
    lines = [(number, text) for number, text in enumerate(file.read_lines(), 1) if text.strip()]
    for number, text in lines:
        first, *others = text.split(separator)
        name, *fields = (field.strip() for field in (*first.split(",", 1), *others))  # "nylon,51;material"
        if not name or not fields or not is_valid(fields[0]):
            raise InputError(f"{file.location}, line {number}: expected {layout}, found {text[:60]!r}")
        yield name.lower(), fields[1:] if fields[0].isdigit() else fields
    if not lines:
        raise InputError(f"{file.location}: expected {layout}, one per line, found none")


def _marks(fields: Iterable[str], separator: str) -> tuple[dict[str, list[str]], list[str]]:
    """Mark to its values, of fields such as K:a.b, and the other fields."""
    lists: dict[str, list[str]] = defaultdict(list)
    plain = []
    for field in fields:
        mark, colon, values = field.partition(":")
        if colon:
            lists[mark] += [value.strip().lower() for value in values.split(separator) if value.strip()]
        else:
            plain.append(field)
    return lists, plain


def _noun(line: _Line, by_name: Mapping[str, _Line]) -> Noun:
    name = line.name
    plural, mass = line.number == "P" or name in PUBLISHED["plurals"], line.number == "M"
    singular = _singular(name, by_name) if plural else "" if mass else name
    kind = "person" if name == "people" else singular or name
    uncounted = mass or line.number == "C" or name.split()[-1] in PUBLISHED["uncounted"]
    many = name if plural else "" if uncounted else plural_of(name)
    return Noun(
        name=name,
        kind=kind,
        plural=plural,
        mass=mass,
        parents=_parents(by_name.get(kind, line), by_name),
        singular=singular,
        plural_form="" if name in PLURALS["pairs"] else many,
        proper=name in PUBLISHED["proper"],
        vague=name in KINDS["vague"],
    )


def _singular(name: str, by_name: Mapping[str, _Line]) -> str:
    for ending in ("s", "es"):
        if name.endswith(ending) and name.removesuffix(ending) in by_name and name != "glasses":
            return name.removesuffix(ending)
    if name in PLURALS["pairs"] or name.split()[-1] in PLURALS["collective"] | {"people", "supplies"}:
        return "person" if name == "people" else ""
    singular = name if name in PLURALS["same"] else singular_of(name)
    return singular if singular in by_name or name not in PUBLISHED["no singular"] else ""


def _parents(line: _Line, by_name: Mapping[str, _Line]) -> tuple[str, ...]:
    """Hypernyms: those among the similar names, then the categories."""
    own = ontology.own_ontology().nouns
    if line.name in KINDS["ambiguous"]:
        return ()
    above = own[line.name].parents if line.name in own else ()
    found: list[str] = []
    for near in line.near:
        same = near in by_name and by_name[near].category in (line.category, "")
        is_above = near in above or (line.name.endswith(f" {near}") and same)
        if near != line.name and is_above and near not in PUBLISHED["no categories"]:
            found.append(near)
    vessel = line.category == "drink" and line.name.split()[-1] in ("bottle", "can", "cup")
    category = "" if vessel else line.category  # of its content; K still lists that as similar
    while category and category not in found:
        found.append(category)
        above_it = by_name[category].category if category in by_name else ""
        category = above_it if above_it and above_it != category else _ABOVE.get(category, "")
    found = [name for name in found if name != line.name and name not in PUBLISHED["no categories"]]
    for near in list(found):
        higher = own[near].parents if near in own else ()
        found += [name for name in higher if name in by_name and name not in KINDS["vague"]]
    return tuple(name for name in dict.fromkeys(found) if name != line.name)


def _similar_kinds(lines: list[_Line], nouns: Mapping[str, Noun], aliases: Mapping[str, str]) -> dict[str, set[str]]:
    listed: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        kind = nouns[line.name].kind
        loose = (line.category,) if line.name in KINDS["ambiguous"] and line.category else ()
        named = (*line.near, *line.other_categories, *loose)
        listed[kind] |= {nouns[other].kind if other in nouns else other for other in named} - {kind}
    near = similar_kinds(nouns, aliases, listed)
    own = ontology.own_ontology()
    categories = {parent for noun in nouns.values() for parent in noun.parents}
    for noun in nouns.values():
        if noun.kind in own.nouns:  # a bowl may be tableware, although the file gives it no category
            above = own.nouns[noun.kind]
            may_be = own.similar_kinds.get(above.kind, frozenset()) & ontology.CATEGORIES.keys()
            near[noun.kind] |= ({*above.parents, *may_be} & categories) - {noun.kind, *noun.parents}
    return near


def _read_attributes(path: Path) -> tuple[dict[str, Attribute], dict[str, str]]:
    rows: dict[str, tuple[tuple[str, ...], dict[str, list[str]], list[str]]] = {}
    coarse: dict[str, set[str]] = defaultdict(set)
    for value, fields in _rows(path, ";", "value;count;types;marks as in GQA's list of attributes", str.isdigit):
        lists, plain = _marks(fields, ",")
        listed = next((field for field in plain if len(field) != 1 or not field.isupper()), "").split(",")
        types = (_NUMBERED_TYPES.get(kind.strip(), kind.strip()) for kind in listed)
        known = tuple(dict.fromkeys(kind for kind in types if kind and not kind.isdigit()))
        if rows.setdefault(value, (known, lists, plain))[1] is lists:
            for group in lists["C"]:
                coarse[group] |= {value, group}
    ours = ontology.similar_values(rows)
    made: dict[str, Attribute] = {}
    aliases: dict[str, str] = {}
    for value, (kinds, lists, marks) in rows.items():
        similar = set(lists["S"]).union(ours[value], *(coarse[group] for group in lists["C"]))
        adjective = lists["A"][0] if lists["A"] else ontology.ADJECTIVES.get(value, value)
        verb = is_participle(value) and ("P" in marks or bool({"pose", "activity", "sportActivity"} & set(kinds)))
        made[value] = Attribute(
            value=value,
            types=kinds,
            adjective=adjective,
            similar=frozenset(similar & rows.keys() - {value}),
            verb=verb,
            before_only="N" in marks and not {"material", "orientation", "lighting"} & set(kinds),
            after_only="P" in marks or value in VALUES["after only"],
        )
        aliases |= {other: value for other in (*lists["E"], adjective) if other not in rows}
    spellings = ontology.VALUE_SPELLINGS.items()
    aliases |= {other: value for other, value in spellings if value in rows and other not in rows}
    return ontology.scene_attributes(made), aliases
