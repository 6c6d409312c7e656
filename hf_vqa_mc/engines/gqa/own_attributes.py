"""The values of our ``data/values.yaml``, and what every list of values gets: positions, places, likeness."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hf_vqa_mc.engines.gqa.kinds import both_ways
from hf_vqa_mc.engines.gqa.ontology import Attribute
from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Values:
    """The schema of ``values.yaml``, which describes its keys."""

    types: dict[str, tuple[str, ...]]
    untyped: tuple[str, ...]
    adjectives: dict[str, str]
    spellings: dict[str, str]
    exclusive_types: frozenset[str]
    nouns: frozenset[str]
    after_only: frozenset[str]
    no_participles: frozenset[str]
    alike: tuple[tuple[str, ...], ...]
    alike_one: dict[str, frozenset[str]]
    places: tuple[tuple[str, ...], ...]
    places_nearby: dict[str, frozenset[str]]


VALUES = vocabulary("gqa/values", Values)
_ALIKE = both_ways(VALUES.alike, VALUES.alike_one)


def own_attributes() -> dict[str, Attribute]:
    """Our values, with the positions in the image, places and locations of ``scene_attributes``."""
    types: dict[str, list[str]] = {}
    for kind, values in VALUES.types.items():
        for value in values:
            types.setdefault(value, []).append(kind)
    for value in VALUES.untyped:
        types.setdefault(value, [])
    similar = similar_values(types)
    made = {
        value: Attribute(
            value=value,
            types=tuple(dict.fromkeys(kinds)),
            adjective=VALUES.adjectives.get(value, value),
            similar=similar[value],
            verb=is_participle(value),
            before_only=value in VALUES.nouns,
            after_only=is_participle(value) or value in VALUES.after_only,
        )
        for value, kinds in types.items()
    }
    return scene_attributes(made)


def scene_attributes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The values with those of what is asked of every image: positions, location, place."""
    added = dict(attributes)
    for group in VALUES.places:
        for place in group:
            _add(added, place, "place", frozenset(group) - {place})
    for place, near in VALUES.places_nearby.items():
        _add(added, place, "place", near)
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
    values = frozenset(known)
    return {value: _ALIKE.get(value, frozenset()) & values for value in values}


def is_participle(value: str) -> bool:
    """Whether a value is a present participle that tells what somebody does, such as waiting."""
    return value.split()[0].endswith("ing") and value not in VALUES.no_participles if value else False


def _add(added: dict[str, Attribute], value: str, kind: str, similar: frozenset[str]) -> None:
    known = added.get(value) or Attribute(value=value, types=(), adjective=value)
    added[value] = replace(
        known,
        types=tuple(dict.fromkeys((*known.types, kind))),
        similar=known.similar | similar,
        after_only=known.after_only or value in VALUES.after_only,
    )
