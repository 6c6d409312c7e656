"""What relations tell together: cycles, which none of them survives, and which things touch one another."""

from collections import defaultdict
from collections.abc import Iterable, Set
from typing import TypeAlias

from hf_vqa_mc.engines.gqa.scene_graph import LEFT

Edge: TypeAlias = tuple[str, str, str]
"""subject, relation, object"""

_WAYS = {
    # each relation by its last words, with whether the subject comes first
    "on": ("on", True),
    "on top of": ("on", True),
    "upon": ("on", True),
    "onto": ("on", True),
    "above": ("above", True),
    "over": ("above", True),
    "below": ("above", False),
    "under": ("above", False),
    "underneath": ("above", False),
    "beneath": ("above", False),
    "in": ("in", True),
    "inside": ("in", True),
    "within": ("in", True),
    "into": ("in", True),
    "behind": ("behind", True),
    "in front of": ("behind", False),
    "following": ("following", True),
    "followed by": ("following", False),
    LEFT: ("left", True),
}
"""Relations that cannot lead back to where they began: what a cat is on is on no cat that is it."""
_PREPOSITIONS = sorted(_WAYS, key=len, reverse=True)

_TOUCHING_PLACES = frozenset(
    {"on", "on top of", "upon", "onto", "in", "inside", "within", "into", "in the middle of", "around", "across"}
    | {"through", "under", "underneath", "beneath"}
)
_TOUCHING_VERBS = frozenset(
    "wearing holding carrying carried lifting grabbing grasping eating biting chewing licking drinking sipping riding "
    "driving covering covered hugging kissing swinging cutting slicing attached connected wrapped filled using "
    "sitting standing lying".split()
)
_POSTURES = frozenset({"sitting", "standing", "lying"})
_CARRIES = frozenset({"wearing", "holding", "carrying", "eating"})
"""Relations whose object is where the subject is: shorts are on the horse that their wearer rides."""


def in_cycles(edges: Iterable[Edge]) -> set[Edge]:
    """The relations of one way (on and on top of; above and, turned round, below) that lead in a circle.

    >>> sorted(in_cycles({("cat", "on", "box"), ("box", "sitting on", "cat"), ("cat", "on", "mat")}))
    [('box', 'sitting on', 'cat'), ('cat', 'on', 'box')]
    """
    ways: dict[str, dict[Edge, tuple[str, str]]] = defaultdict(dict)
    for edge in edges:
        name = _last_words(edge[1])
        if name:
            way, forward = _WAYS[name]
            ways[way][edge] = (edge[0], edge[2]) if forward else (edge[2], edge[0])
    return {edge for of_way in ways.values() for edge in _circling(of_way)}


def _last_words(relation: str) -> str:
    return next((name for name in _PREPOSITIONS if relation == name or relation.endswith(f" {name}")), "")


def _circling(of_way: dict[Edge, tuple[str, str]]) -> set[Edge]:
    """The edges whose end leads back to their beginning."""
    left = dict(of_way)
    while True:  # what begins or ends a way is in no circle
        begins, ends = {one for one, _ in left.values()}, {other for _, other in left.values()}
        inner = begins & ends
        kept = {edge: pair for edge, pair in left.items() if pair[0] in inner and pair[1] in inner}
        if len(kept) == len(left):
            break
        left = kept
    after: dict[str, set[str]] = defaultdict(set)
    for one, other in left.values():
        after[one].add(other)
    reached = {one: _reached(one, after) for one in list(after)}
    return {edge for edge, (one, other) in left.items() if one in reached.get(other, ())}


def _reached(begin: str, after: dict[str, set[str]]) -> set[str]:
    found, waiting = set[str](), [begin]
    while waiting:
        for other in after.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def touching(edges: Set[Edge]) -> set[frozenset[str]]:
    """The pairs of which nobody says that one is to the left of the other, for they are in one place.

    A rider and the horse, a plate and the table that it is on; what somebody wears or holds is where he is.

    >>> [sorted(pair) for pair in touching({("man", "riding", "horse"), ("dog", "near", "man")})]
    [['horse', 'man']]
    """
    pairs = {frozenset((one, other)) for one, name, other in edges if _touches(name)}
    carried: dict[str, set[str]] = defaultdict(set)
    for one, name, other in edges:
        if name in _CARRIES:
            carried[one].add(other)
    for owner, things in carried.items():
        together = {owner, *things}
        near = {key for pair in pairs if owner in pair for key in pair} - {owner}
        pairs |= {frozenset((thing, other)) for thing in things for other in together | near if thing != other}
    return pairs


def _touches(name: str) -> bool:
    first, _, rest = name.partition(" ")
    if name in _TOUCHING_PLACES or rest in _TOUCHING_PLACES:
        return True
    return first in _TOUCHING_VERBS and not (first in _POSTURES and rest)
