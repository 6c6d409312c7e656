"""Of which type a value is of a thing: a short man is not tall, short hair is not long."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hf_vqa_mc.engines.gqa.ontology import Noun, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL
from hf_vqa_mc.engines.vocabulary import vocabulary


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
    """A thing's values by type, those of none under "".

    Args:
        values: of the ontology.
        noun: what the thing is.
        ontology: of both.
        problems: takes the counts of values left out.
    """
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
            for kind, value in opposed.items():
                found[kind].remove(value)
                problems["value: contradicted by another"] += 1
                if not found[kind]:
                    del found[kind]
    if "color" in found and _TYPES.patterned & {value for those in found.values() for value in those}:
        problems["value: color of something patterned"] += len(found["color"])
        found.setdefault("", []).extend(found.pop("color"))
    return {kind: tuple(those) for kind, those in found.items()}


def _type_for(value: str, noun: Noun, ontology: Ontology) -> str | None:
    """The type of a value, by what it is a value of: "" if it may mean several things, None if it is a mistake."""
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
    mistaken = (
        types
        and set(types) <= _TYPES.mistakes_elsewhere
        and not ("vehicle" in above and value in ("driving", "waiting"))
    )
    return None if mistaken else ""
