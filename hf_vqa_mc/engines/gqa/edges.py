"""The relations of a scene graph: the consistent ones of its file, and implied ones (Sect. 3.2)."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from itertools import combinations, permutations
from typing import TypeAlias

import numpy as np
import scipy

from hf_vqa_mc.engines.gqa.ontology import PREPOSITIONS, RELATIONS, Noun, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT, is_left_of
from hf_vqa_mc.engines.visual_genome import RawGraph, RawObject
from hf_vqa_mc.engines.vocabulary import Vocabulary

Edge: TypeAlias = tuple[str, str, str]  # subject, relation, object

RULES = Vocabulary("gqa/edges")
_SPELLINGS = RELATIONS.read("spellings", dict[str, str])
_NOT_BOTH = RULES.read("not both", tuple[frozenset[str], ...])
_WAYS = {
    name: (way, direction == "forward")
    for way, directions in RULES.read("one way", dict[str, dict[str, tuple[str, ...]]]).items()
    for direction, names in directions.items()
    for name in names
}
"""Relation to its way, and whether the subject comes first."""
_PREPOSITIONS = sorted(_WAYS, key=len, reverse=True)


def clean_relations(
    raw: RawGraph, things: Mapping[str, RawObject], same: Mapping[str, str], ontology: Ontology, problems: Counter[str]
) -> dict[str, set[tuple[str, str]]]:
    """(Relation, object) by subject, of the file and implied, without inconsistent ones; ``same``: duplicates."""
    edges: set[Edge] = set()
    problems["relation: of an object that is not there"] += raw.lost
    for key, thing in raw.objects.items():
        for text, target in thing.relations:
            edge = _edge((key, text, target), raw, things, same, ontology)
            if isinstance(edge, str):
                problems[f"relation: {edge}"] += 1
            else:
                edges.add(edge)
    edges |= {(other, back, key) for key, name, other in edges if (back := ontology.relations[name].inverse)}
    wrong = _contradictions(edges, things, ontology)
    problems["relation: contradicted by another"] += len(wrong)
    edges -= wrong
    circling = in_cycles(edges)
    problems["relation: in a cycle"] += len(circling)
    edges -= circling
    together = touching(edges)
    kept = {key: set[tuple[str, str]]() for key in things}
    for subject, name, target in edges:
        if name in (LEFT, RIGHT) and frozenset((subject, target)) in together:
            problems["relation: a side of what it touches"] += 1
        else:
            kept[subject].add((name, target))
    for key, other in combinations(sorted(kept, key=lambda key: things[key].box[0]), 2):  # left and right by boxes
        near = is_left_of(things[key].box, things[other].box, raw.width)
        if near and (key, RIGHT, other) not in edges and frozenset((key, other)) not in together:
            kept[key].add((LEFT, other))
            kept[other].add((RIGHT, key))
    return kept


def _edge(
    edge: Edge, raw: RawGraph, things: Mapping[str, RawObject], same: Mapping[str, str], ontology: Ontology
) -> Edge | str:
    """A relation in the ontology's words, or the reason why it is left out."""
    subject, text, target = edge
    if target not in raw.objects:
        return "to an object that is not there"
    one, other = same.get(subject, subject), same.get(target, target)
    if one not in things or other not in things:
        return "of an object that was left out"
    if one == other:
        return "to itself"
    name, nouns = cleaned_relation(text), [ontology.nouns[things[key].name] for key in (one, other)]
    if not name or name not in ontology.relations:
        return "unknown" if name else "says nothing"
    return "sounds unnatural" if _is_unnatural(nouns[0], name, nouns[1]) else (one, name, other)


def _is_unnatural(subject: Noun, relation: str, target: Noun) -> bool:
    """Whether the paper prunes such triplets, by rules on categories."""
    above, below = {subject.kind, *subject.parents}, {target.kind, *target.parents}
    if relation in (LEFT, RIGHT):
        return False
    if above & RULES["parts"]:
        if below & (RULES["living"] | {"vehicle"}) or subject.kind in RULES["always parts"]:
            return relation not in RULES["of parts"]  # the tail attached to the giraffe
        return relation not in RULES["of hands"] and relation.split()[0].endswith("ing")  # the hand hugging a bear
    if above & RULES["living"] and below & RULES["worn"]:
        return relation in RULES["not to clothes"]  # the woman in a shirt
    if above & RULES["living"] and below & RULES["parts"]:
        return True
    return relation == "wearing" and bool(below & (RULES["parts"] | RULES["living"]))


def _contradictions(edges: set[Edge], things: Mapping[str, RawObject], ontology: Ontology) -> set[Edge]:
    """All relations that contradict another one or the boxes, as either may be wrong."""
    pairs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for key, name, other in edges:
        pairs[key, other].add(name)
    wrong: set[Edge] = set()
    for (key, other), names in list(pairs.items()):
        middle, other_middle = (2 * box[0] + box[2] for box in (things[key].box, things[other].box))
        impossible = {LEFT} if middle > other_middle else {RIGHT} if middle < other_middle else set()
        for name in names:
            words = ontology.relations[name]
            reverse = words.inverse != name and (name in pairs[other, key] or words.inverse in names)
            against = any(rival in words.excludes or name in ontology.relations[rival].excludes for rival in names)
            against |= any(name in ones and names & others for ones, others in permutations(_NOT_BOTH))
            if (reverse and name not in RULES["mutual"]) or against or name in impossible:
                wrong.add((key, name, other))
    wrong |= {(target, ontology.relations[name].inverse, subject) for subject, name, target in wrong}
    return wrong & edges


def in_cycles(edges: Iterable[Edge]) -> set[Edge]:
    """The relations of one direction (on and on top of; above and, reversed, below) that form a cycle."""
    directed, ends = [], []
    for edge in edges:
        name = next((name for name in _PREPOSITIONS if edge[1] == name or edge[1].endswith(f" {name}")), "")
        if name:
            way, forward = _WAYS[name]
            directed.append(edge)
            ends.append([f"{way} {edge[0]}", f"{way} {edge[2]}"][:: 1 if forward else -1])
    if not ends:
        return set()
    names, (ones, others) = np.unique(np.transpose(ends), return_inverse=True)
    graph = scipy.sparse.coo_array((np.ones(len(ones)), (ones, others)), shape=(len(names), len(names)))
    _, part = scipy.sparse.csgraph.connected_components(graph, connection="strong")
    return {edge for edge, circles in zip(directed, part[ones] == part[others], strict=True) if circles}


def touching(edges: Set[Edge]) -> set[frozenset[str]]:
    """The pairs of objects that touch (rider and horse, a person and what is worn): neither is left of the other."""
    pairs = set()
    carried: dict[str, set[str]] = defaultdict(set)
    for one, name, other in edges:
        first, _, rest = name.partition(" ")
        verb_touches = first in RULES["touching verbs"] and not (first in RULES["postures"] and rest)
        if verb_touches or name in RULES["touching"] or rest in RULES["touching"]:
            pairs.add(frozenset((one, other)))
        if name in RULES["carries"]:
            carried[one].add(other)
    found = set(pairs)
    for owner, things in carried.items():
        near = {owner}.union(things, *(pair for pair in pairs if owner in pair))
        found |= {frozenset((thing, other)) for thing in things for other in near if thing != other}
    return found


_THIRD_PERSON = re.compile(r"^([a-z]+?)(?:(ie)s|(sse|she|che|xe|zze)s|s)$")
_INVISIBLE = frozenset({"Mn", "Me", "Cf"})  # Unicode's categories of accents and invisible characters.


def folded(text: str) -> str:
    """NFKD letters without accents, marks and invisible characters."""
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in _INVISIBLE)


def cleaned_relation(text: str) -> str:
    """An annotator's relation in the form that follows "is" (wearing, for wears); "" if it has no meaning."""
    words = re.sub(r"[^a-z ]", " ", folded(text).lower()).split()
    while words and words[0] in ("is", "are", "was", "were", "be", "being", "been", "currently"):
        words = words[1:]
    while len(words) > 1 and words[-1] in ("a", "an", "the", "his", "her", "its", "their", "one", "two", "some"):
        words = words[:-1]
    if words and words[0] not in PREPOSITIONS:
        words[0] = _participle(words[0])
    name = " ".join(words)
    name = _SPELLINGS.get(name, name)
    return "" if name in RELATIONS["says nothing"] else name


def _participle(word: str) -> str:
    """The present participle of a verb (wearing of wears and wear); other words unchanged."""
    found = _THIRD_PERSON.match(word)
    stem = found[1] + ("y" if found[2] else (found[3] or "")) if found else ""
    base = next((base for base in (word, stem, stem.removesuffix("e")) if base in RELATIONS["verbs"]), "")
    if base in RELATIONS["doubled"]:
        return base + base[-1] + "ing"
    shorter = "ly" if base == "lie" else base[:-1] if base.endswith("e") and not base.endswith("ee") else base
    return f"{shorter}ing" if base else word
