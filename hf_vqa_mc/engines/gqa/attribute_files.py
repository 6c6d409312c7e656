"""GQA's published list of attributes: ``value;how often;types;marks``, as ``ontology_files`` describes it."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from hf_vqa_mc.engines.gqa.ontology import Attribute
from hf_vqa_mc.engines.gqa.own_attributes import VALUES, is_participle, scene_attributes, similar_values
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import PublishedFile

NUMBERED_TYPES = {
    "3": "density",
    "4": "newness",
    "5": "completeness",
    "9": "healthiness",
    "13": "altitude",
    "15": "openness",
    "16": "fullness",
    "17": "wetness",
    "21": "clearness",
    "22": "freshness",
    "23": "cooking",
    "24": "colorfulness",
    "25": "leaves",
    "26": "maturity",
    "27": "ground cover",
    "28": "straightness",
    "31": "curliness",
    "32": "sleeves",
    "33": "style",
    "34": "paving",
    "35": "wildness",
    "36": "ripeness",
    "37": "peeling",
    "38": "lighting",
    "39": "power",
    "41": "location",
}
"""Our names for the types that the published file only numbers; those of no use are left out."""


def read_attributes(path: Path) -> tuple[dict[str, Attribute], dict[str, str]]:
    """The values of GQA's list of attributes with those of scenes, and other words for them.

    Raises:
        InputError: the file cannot be read or is not such a list.
    """
    file = PublishedFile(path.name, path)
    rows: dict[str, tuple[list[str], dict[str, list[str]], set[str]]] = {}
    for number, text in enumerate(file.read_lines(), 1):
        if not text.strip():
            continue
        value, *parts = [part.strip() for part in text.split(";")]
        value, comma, count = value.partition(",")
        if comma:  # "nylon,51;material"
            parts = [count, *parts]
        if not value.strip() or not parts or not parts[0].isdigit():
            raise InputError(
                f"{file.place}, line {number}: expected value;count;types;marks as in GQA's list of attributes, found "
                f"{text[:60]!r}"
            )
        rows.setdefault(value.strip().lower(), _attribute_marks(parts[1:]))
    if not rows:
        raise InputError(f"{file.place}: expected GQA's list of attributes, one a line, found none")
    return _values(rows)


def _attribute_marks(parts: list[str]) -> tuple[list[str], dict[str, list[str]], set[str]]:
    types: list[str] = []
    lists: dict[str, list[str]] = defaultdict(list)
    marks: set[str] = set()
    for place, part in enumerate(parts):
        mark, colon, values = part.partition(":")
        if colon:
            lists[mark].extend(value.strip().lower() for value in values.split(",") if value.strip())
        elif len(part) == 1 and part.isupper():
            marks.add(part)
        elif place == 0 or not types:
            types += [kind.strip() for kind in part.split(",") if kind.strip()]
    return [NUMBERED_TYPES.get(kind, kind) for kind in types], lists, marks


def _values(
    rows: Mapping[str, tuple[list[str], dict[str, list[str]], set[str]]],
) -> tuple[dict[str, Attribute], dict[str, str]]:
    coarse: dict[str, set[str]] = defaultdict(set)
    for value, (_, lists, _) in rows.items():
        for group in lists["C"]:
            coarse[group] |= {value, group}
    ours = similar_values(rows)
    made: dict[str, Attribute] = {}
    aliases: dict[str, str] = {}
    for value, (types, lists, marks) in rows.items():
        kinds = tuple(dict.fromkeys(kind for kind in types if not kind.isdigit()))
        similar = set(lists["S"]) | {other for group in lists["C"] for other in coarse[group]} | ours[value]
        adjective = lists["A"][0] if lists["A"] else VALUES.adjectives.get(value, value)
        verb = is_participle(value) and ("P" in marks or bool({"pose", "activity", "sportActivity"} & set(kinds)))
        made[value] = Attribute(
            value=value,
            types=kinds,
            adjective=adjective,
            similar=frozenset(similar & rows.keys() - {value}),
            verb=verb,
            before_only="N" in marks and not {"material", "orientation", "lighting"} & set(kinds),
            after_only="P" in marks or value in VALUES.after_only,
        )
        aliases |= {other: value for other in (*lists["E"], adjective) if other not in rows}
    aliases |= {other: value for other, value in VALUES.spellings.items() if value in rows and other not in rows}
    return scene_attributes(made), aliases
