"""The relations of a scene graph: those of its file that make sense, and those that follow (Sect. 3.2)."""

from collections import Counter
from collections.abc import Mapping, Set

from hf_vqa_mc.engines.gqa.edge_groups import in_cycles, touching
from hf_vqa_mc.engines.gqa.ontology import Noun, Ontology
from hf_vqa_mc.engines.gqa.positions import Box, is_left_of
from hf_vqa_mc.engines.gqa.relation_spelling import cleaned_relation
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT
from hf_vqa_mc.engines.gqa.scene_graph_files import RawGraph

_PARTS = frozenset({"body part", "vehicle part", "part"})
_LIVING = frozenset({"person", "animal", "bird"})
_WORN = frozenset({"clothing", "footwear", "accessory"})
_HAND_RELATIONS = frozenset(
    {"holding", "touching", "holding onto", "holding up", "grabbing", "reaching for", "pointing at"}
)


def clean_relations(
    raw: RawGraph,
    objects: Mapping[str, tuple[str, list[str]]],
    boxes: Mapping[str, Box],
    same: Mapping[str, str],
    ontology: Ontology,
    problems: Counter[str],
) -> dict[str, set[tuple[str, str]]]:
    """By subject: what the file tells and what follows, without what is wrong."""
    edges: set[tuple[str, str, str]] = set()
    problems.update({"relation: of an object that is not there": raw.lost} if raw.lost else {})
    for key, thing in raw.objects.items():
        for text, target in thing.relations:
            edge, reason = _edge(key, text, target, raw, objects, same, ontology)
            if reason:
                problems[f"relation: {reason}"] += 1
            elif edge:
                edges.add(edge)
    edges |= {(other, back, key) for key, name, other in edges if (back := ontology.relations[name].inverse)}
    edges, dropped = _without_contradictions(edges, boxes, ontology)
    problems.update({"relation: contradicted by another": dropped} if dropped else {})
    circling = in_cycles(edges)
    problems.update({"relation: in a cycle": len(circling)} if circling else {})
    edges -= circling
    together = touching(edges)
    one_sided = {edge for edge in edges if edge[1] in (LEFT, RIGHT) and frozenset((edge[0], edge[2])) in together}
    problems.update({"relation: a side of what it touches": len(one_sided)} if one_sided else {})
    kept = {key: set[tuple[str, str]]() for key in objects if key not in same}
    for subject, name, target in edges - one_sided:
        kept[subject].add((name, target))
    _put_sides(kept, boxes, raw.width, edges, together)
    return kept


def _edge(
    subject: str,
    text: str,
    target: str,
    raw: RawGraph,
    objects: Mapping[str, tuple[str, list[str]]],
    same: Mapping[str, str],
    ontology: Ontology,
) -> tuple[tuple[str, str, str] | None, str]:
    """A relation between objects that stay, or why it is left out."""
    if target not in raw.objects:
        return None, "to an object that is not there"
    if subject not in objects or target not in objects:
        return None, "of an object that was left out"
    one, other = same.get(subject, subject), same.get(target, target)
    if one == other:
        return None, "to itself"
    name = cleaned_relation(text)
    if not name:
        return None, "says nothing"
    if name not in ontology.relations:
        return None, "unknown"
    nouns = ontology.nouns[objects[one][0]], ontology.nouns[objects[other][0]]
    if _is_unnatural(nouns[0], name, nouns[1]):
        return None, "sounds unnatural"
    return (one, name, other), ""


def _is_unnatural(subject: Noun, relation: str, target: Noun) -> bool:
    """Whether a triplet is one of those that the paper prunes, by rules on categories."""
    above, below = {subject.kind, *subject.parents}, {target.kind, *target.parents}
    if relation in (LEFT, RIGHT):
        return False
    if above & _PARTS:
        if below & (_LIVING | {"vehicle"}) or subject.kind in _ALWAYS_PARTS:
            return relation not in (
                "near",
                "behind",
                "in front of",
                "above",
                "below",
            )  # the tail attached to the giraffe
        return relation not in _HAND_RELATIONS and relation.split()[0].endswith("ing")  # the hand hugging a bear
    if above & _LIVING and below & _WORN:
        return relation in (
            "in",
            "inside",
            "on",
            "at",
            "by",
            "near",
            "standing in",
            "sitting in",
        )  # the woman in a shirt
    if above & _LIVING and below & _PARTS:
        return True
    return relation == "wearing" and bool(below & (_PARTS | _LIVING))


_ALWAYS_PARTS = frozenset({"hair", "fur", "skin"})


def _without_contradictions(
    edges: set[tuple[str, str, str]], boxes: Mapping[str, Box], ontology: Ontology
) -> tuple[set[tuple[str, str, str]], int]:
    """The relations of which none speaks against another: both are dropped, for either may be wrong."""
    pairs: dict[tuple[str, str], set[str]] = {}
    for key, name, other in edges:
        pairs.setdefault((key, other), set()).add(name)
    wrong: set[tuple[str, str, str]] = set()
    for (key, other), names in pairs.items():
        back = pairs.get((other, key), set())
        for name in names:
            words = ontology.relations[name]
            turned = words.inverse != name and (name in back or (bool(words.inverse) and words.inverse in names))
            against = any(rival in words.excludes or name in ontology.relations[rival].excludes for rival in names)
            against = against or any(name in ones and names & others for ones, others in _NOT_BOTH)
            if (turned and name not in _MUTUAL) or against or _against_boxes(boxes[key], name, boxes[other]):
                wrong.add((key, name, other))
    for subject, name, target in list(wrong):
        if back_name := ontology.relations[name].inverse:
            wrong.add((target, back_name, subject))
    return edges - wrong, len(wrong & edges)


_NOT_BOTH = tuple(
    (frozenset(ones.split("|")), frozenset(others.split("|")))
    for ones, others in (("in|inside", "behind|in front of"), ("behind|in front of", "in|inside"))
)
"""Relations of which one speaks against the other of the same two things, though neither is asked instead of it."""
_MUTUAL = frozenset(
    "by,with,around,talking to,talking with,looking at,watching,facing,playing with,touching,hugging,kissing,against,"
    "along,alongside,at,sitting by,standing by,near,standing next to,sitting next to,standing near,sitting near,"
    "parked next to,parked near,walking with,posing with".split(",")
)
"""Relations that may hold both ways at once."""


def _against_boxes(one: Box, name: str, other: Box) -> bool:
    """Whether a side is told that the boxes' middles speak against."""
    middle, other_middle = 2 * one[0] + one[2], 2 * other[0] + other[2]
    return (name == LEFT and middle > other_middle) or (name == RIGHT and middle < other_middle)


def _put_sides(
    kept: dict[str, set[tuple[str, str]]],
    boxes: Mapping[str, Box],
    width: int,
    edges: set[tuple[str, str, str]],
    together: Set[frozenset[str]],
) -> None:
    """Puts in who is to the left of whom, where the boxes tell, the annotators do not say otherwise, none touches."""
    keys = sorted(kept, key=lambda key: boxes[key][0])
    for place, key in enumerate(keys):
        for other in keys[place + 1 :]:
            if (
                is_left_of(boxes[key], boxes[other], width)
                and (key, RIGHT, other) not in edges
                and frozenset((key, other)) not in together
            ):
                kept[key].add((LEFT, other))
                kept[other].add((RIGHT, key))
