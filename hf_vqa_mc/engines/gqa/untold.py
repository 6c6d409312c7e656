"""What may be in an image though nobody named it: annotations tell of much, never of all (Sect. 3.2).

The paper confirms absence with object detectors; without any, what is told speaks for what is not: a wheel for a car,
a man for a shirt, and anything for walls and skies, which few annotators name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph
from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Untold:
    """The schema of ``untold.yaml``, which describes its keys."""

    category_suggests: dict[str, tuple[str, ...]]
    kind_suggests: dict[str, tuple[str, ...]]
    has: dict[str, tuple[str, ...]]
    any_of: dict[str, tuple[str, ...]]
    rarely_annotated: frozenset[str]
    wide_words: frozenset[str]
    parts: frozenset[str]


UNTOLD = vocabulary("gqa/untold", Untold)


class Told(NamedTuple):
    """What an image's objects tell of kinds."""

    kinds: frozenset[str]
    """those of the objects"""
    might_be: frozenset[str]
    """what the objects are, with what is above, and what they might be called"""
    untold: frozenset[str]
    """kinds and categories of what may be there though nobody named it"""
    context: Mapping[str, float] = MappingProxyType({})
    """how likely kinds are in such an image, the likeliest first"""


def told_by(graph: SceneGraph, ontology: Ontology) -> Told:
    """What an image's objects tell; ``context`` is left empty."""
    kinds = {ontology.nouns[thing.name].kind for thing in graph.objects.values()} | graph.unclear
    might_be, untold = set(kinds), set[str]()
    for kind in kinds:
        parents = ontology.nouns[kind].parents
        might_be.update(parents, ontology.similar_kinds.get(kind, ()))
        untold.update(UNTOLD.kind_suggests.get(kind, ()), UNTOLD.any_of.get(kind, ()))
        for above in (kind, *parents):
            untold.update(UNTOLD.category_suggests.get(above, ()), UNTOLD.has.get(above, ()))
    return Told(frozenset(kinds), frozenset(might_be), frozenset(untold))
