"""The values of our own tables, and what every list of values gets: positions, places, likeness."""

from collections.abc import Iterable, Mapping

from hf_vqa_mc.engines.gqa.ontology import Attribute
from hf_vqa_mc.engines.gqa.own_alike import CENTRES, SIMILAR
from hf_vqa_mc.engines.gqa.own_values import (
    ADJECTIVES,
    AFTER_ONLY,
    DASHED,
    NO_VERBS,
    NOUNS,
    PLACES,
    PLACES_NEAR,
    TYPES,
)


def own_attributes() -> dict[str, Attribute]:
    """Our values, with the positions in the image, places and locations of ``scene_attributes``."""
    types: dict[str, list[str]] = {}
    for kind, values in TYPES.items():
        for value in _words(values):
            types.setdefault(value, []).extend([kind] if kind else [])
    similar = similar_values(types)
    made = {
        value: Attribute(
            value=value,
            types=tuple(dict.fromkeys(kinds)),
            adjective=ADJECTIVES.get(value, value),
            similar=similar[value],
            verb=is_participle(value),
            before_only=value in NOUNS,
            after_only=is_participle(value) or value in AFTER_ONLY,
        )
        for value, kinds in types.items()
    }
    return scene_attributes(made)


def scene_attributes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The values with those of what is asked of every image: positions, location, place."""
    added = dict(attributes)
    nouns = frozenset(PLACES)
    for place, group in PLACES.items():
        _add(added, place, "place", frozenset(name for name, other in PLACES.items() if other == group) - {place})
    for place, near in PLACES_NEAR.items():
        _add(added, place, "place", frozenset(near.split(",")) & nouns)
    for location in ("indoors", "outdoors"):
        _add(added, location, "location", frozenset())
    for value in ("left", "right"):
        _add(added, value, "hposition", frozenset({"middle"}))
    for value in ("top", "bottom"):
        _add(added, value, "vposition", frozenset({"middle"}))
    _add(added, "middle", "hposition", frozenset({"left", "right", "top", "bottom"}))
    _add(added, "middle", "vposition", frozenset())
    return added


def similar_values(known: Iterable[str]) -> dict[str, frozenset[str]]:
    """For each value those that might be used for the same thing, by our list."""
    near: dict[str, set[str]] = {value: set() for value in known}
    for line in SIMILAR:
        first, *others = [value for value in _words(line)]
        # the first of a line is like all of it; materials, sizes and activities are like one another throughout
        for value in others:
            if first in near and value in near:
                near[first].add(value)
                near[value].add(first)
        if first not in CENTRES:
            for one in others:
                for other in others:
                    if one != other and one in near and other in near:
                        near[one].add(other)
    return {value: frozenset(those) for value, those in near.items()}


def is_participle(value: str) -> bool:
    """Whether a value is a present participle that tells what somebody does, such as waiting."""
    return value.split()[0].endswith("ing") and value not in NO_VERBS if value else False


def _add(added: dict[str, Attribute], value: str, kind: str, similar: frozenset[str]) -> None:
    there = added.get(value)
    if there is None:
        there = Attribute(value=value, types=(), adjective=value)
    added[value] = Attribute(
        value=value,
        types=tuple(dict.fromkeys((*there.types, kind))),
        adjective=there.adjective,
        similar=there.similar | similar,
        verb=there.verb,
        before_only=there.before_only,
        after_only=there.after_only or value in AFTER_ONLY,
    )


def _words(line: str) -> list[str]:
    return [DASHED.get(word, word.replace("_", " ")) for word in line.split()]
