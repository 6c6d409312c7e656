"""Normalises annotators' scene graphs (Hudson and Manning 2019, Sect. 3.2).

What cannot be used is left out and counted:

- ``image: no objects``: the image gives no graph.
- ``object: ...``: no name, an unknown or vague one (thing, part), an empty box, a box outside the image, a duplicate
  (merged). A box that extends beyond the image is cut. If no word of a name is known, no object of the image is
  referred to by its category ("the animal"), as there may be another one; if the name has other than Latin letters,
  only certain objects are asked about.
- ``name: ...``: how a name was read; nothing is lost.
- ``value: ...``: unknown; impossible for such a thing (water that is drinking); contradicted by another one (open,
  closed); color of a patterned object, which is kept without its type, as there may be other colors.
- ``relation: ...``: to a missing object or to itself; unknown or without meaning; unnatural (Sect. 3.2: woman in
  shirt, tail attached to giraffe); contradicted by other ones (each of two to the left of the other) or by boxes; part
  of a cycle (a cat on a box on a chair on that cat); left and right of what touches (a rider and the horse).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from hf_vqa_mc.engines.gqa.cleaning import (
    clean_name,
    clean_value,
    is_foreign,
    is_unknown,
    other_mention,
    plain,
    unclear_kinds,
)
from hf_vqa_mc.engines.gqa.edges import clean_relations
from hf_vqa_mc.engines.gqa.ontology import KINDS, Noun, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import (
    HORIZONTAL,
    SIGNS,
    VERTICAL,
    SceneGraph,
    SceneObject,
    position,
    scene_of,
    within,
)
from hf_vqa_mc.engines.gqa.scene_graph_files import RawGraph, RawObject, overlap
from hf_vqa_mc.engines.vocabulary import vocabulary

SAME_BOX = 0.8  # Minimum intersection over union of two boxes with one name that are the same object.

_SIDES = {HORIZONTAL: ("left", "middle", "right"), VERTICAL: ("top", "middle", "bottom")}


def normalise(raw: RawGraph, ontology: Ontology, problems: Counter[str]) -> SceneGraph | None:
    """A scene graph in the ontology's words, None if no object is left; ``problems`` counts what is left out."""
    things, image_values = _named(raw, ontology, problems)
    unclear = unclear_kinds(
        (other_mention(thing.name) if key in things else thing.name for key, thing in raw.objects.items()), ontology
    )
    unknown = [thing.name for thing in raw.objects.values() if is_unknown(thing.name, ontology)]
    if any(map(is_foreign, unknown)):
        unclear |= {name for name in KINDS.vague if name in ontology.nouns and ontology.nouns[name].vague}
    same = _duplicates(things, ontology)
    problems["object: the same one twice"] += len(same)
    for duplicate, key in same.items():
        things[key].attributes += things.pop(duplicate).attributes
    size = raw.width, raw.height
    relations = clean_relations(raw, things, same, ontology, problems)
    made = {}
    for key, thing in things.items():
        values = values_by_type(dict.fromkeys(thing.attributes), ontology.nouns[thing.name], ontology, problems)
        for axis, (kind, words) in enumerate(_SIDES.items()):
            if (third := position(thing.box[axis], thing.box[axis + 2], size[axis])) is not None:
                values[kind] = (words[third],)
        made[key] = SceneObject(key, thing.name, thing.box, values, frozenset(relations[key]))
    if not made:
        problems["image: no objects"] += 1
        return None
    given = {}
    for kind, text in raw.scene.items():
        value = clean_value(text, ontology)
        if value is None or kind not in ontology.attributes[value].types:
            problems[f"image: unknown {kind}"] += 1
        else:
            given[kind] = value
    scene = scene_of(list(made.values()), given, image_values, size, ontology)
    return SceneGraph(raw.image_id, *size, made, scene, unclear, bool(unknown))


def _named(raw: RawGraph, ontology: Ontology, problems: Counter[str]) -> tuple[dict[str, RawObject], list[str]]:
    """The objects with names, values and boxes as they are used, without relations, and the values of the image."""
    things: dict[str, RawObject] = {}
    image_values: list[str] = []
    for key, thing in raw.objects.items():
        found = [clean_value(text, ontology) for text in thing.attributes]
        values = [value for value in found if value is not None]
        problems["value: unknown"] += len(found) - len(values)
        if plain(thing.name) in SIGNS.pictures and any(
            {"weather", "location"} & {*ontology.attributes[value].types} for value in values
        ):
            image_values += values
            problems["object: the image itself"] += 1
            continue
        cleaned = clean_name(thing.name, ontology)
        box = within(thing.box, raw.width, raw.height)
        if cleaned.name is None or ontology.nouns[cleaned.name].vague or box is None:
            unnamed = "unknown name" if plain(thing.name) else "no name"
            out = "empty box" if thing.box[2] <= 0 or thing.box[3] <= 0 else "box outside the image"
            reason = unnamed if cleaned.name is None else "vague name" if ontology.nouns[cleaned.name].vague else out
            problems[f"object: {reason}"] += 1
            continue
        if cleaned.note:
            problems[f"name: {cleaned.note}"] += 1
        problems["object: box cut at the image's edge"] += box != thing.box
        things[key] = RawObject(key, cleaned.name, box, [*cleaned.values, *values])
    return things, image_values


def _duplicates(things: Mapping[str, RawObject], ontology: Ontology) -> dict[str, str]:
    """Duplicate objects to the ones kept: in nearly the same box, of the same kind or a hypernym."""
    same: dict[str, str] = {}
    nouns = {key: ontology.nouns[thing.name] for key, thing in things.items()}
    keys = sorted(things, key=lambda key: -len(nouns[key].parents))  # the most specific first
    for key, other in combinations(keys, 2):
        if (
            key not in same
            and other not in same
            and overlap(things[key].box, things[other].box) >= SAME_BOX
            and nouns[key].plural == nouns[other].plural
            and nouns[other].kind in (nouns[key].kind, *nouns[key].parents)
        ):
            same[other] = key
    return same


@dataclass(frozen=True)
class ValueTypes:
    """The schema of ``value_types.yaml``, which describes its keys."""

    patterned: frozenset[str]
    one_value: frozenset[str]
    opposed: tuple[dict[str, str], ...]
    has_length: frozenset[str]
    only_of: dict[str, frozenset[str]]
    mistakes_elsewhere: frozenset[str]
    unclear: frozenset[str]


_TYPES = vocabulary("gqa/value_types", ValueTypes)
_HAVE_HEIGHT = frozenset({"person", "animal", "bird", "building", "tree"})
_OF_IMAGES = frozenset({"place", "location", HORIZONTAL, VERTICAL})


def values_by_type(
    values: Iterable[str], noun: Noun, ontology: Ontology, problems: Counter[str]
) -> dict[str, tuple[str, ...]]:
    """An object's values by type, those without a type under ""; ``problems`` counts the values left out."""
    found: dict[str, list[str]] = {}
    for value in values:
        of_type = _type_for(value, noun, ontology)
        if of_type is None:
            problems["value: not of such a thing"] += 1
        else:
            found.setdefault(of_type, []).append(value)
    for kind in list(found):
        if kind in _TYPES.one_value and any(
            not ontology.alike(one, other) for one in found[kind][:-1] for other in found[kind]
        ):
            problems["value: contradicted by another"] += len(found.pop(kind))
    for opposed in _TYPES.opposed:
        if all(value in found.get(kind, ()) for kind, value in opposed.items()):
            problems["value: contradicted by another"] += len(opposed)
            for kind, value in opposed.items():
                found[kind].remove(value)
                if not found[kind]:
                    del found[kind]
    if "color" in found and _TYPES.patterned & {value for those in found.values() for value in those}:
        problems["value: color of something patterned"] += len(found["color"])
        found.setdefault("", []).extend(found.pop("color"))
    return {kind: tuple(those) for kind, those in found.items()}


def _type_for(value: str, noun: Noun, ontology: Ontology) -> str | None:
    """The type of a value for a noun: "" if it is ambiguous, None if the value is a mistake."""
    above = {noun.kind, *noun.parents}
    types = [kind for kind in ontology.attributes[value].types if kind not in _OF_IMAGES]
    possible = [kind for kind in types if kind not in _TYPES.only_of or not above.isdisjoint(_TYPES.only_of[kind])]
    possible.sort(key=lambda kind: kind not in _TYPES.only_of)  # a thin man is fat or not, not thick or not
    if value in _TYPES.unclear or (value == "clear" and "weather" not in possible):
        return ""
    if value == "short" and {"height", "length"} <= set(types):
        if noun.kind in _TYPES.has_length:
            return "length"
        return "height" if not above.isdisjoint(_HAVE_HEIGHT) else ""
    if value == "light" and "tone" in types:
        return "tone"
    if possible:
        return possible[0]
    is_traffic = "vehicle" in above and value in ("driving", "waiting")
    return None if types and set(types) <= _TYPES.mistakes_elsewhere and not is_traffic else ""
