"""Normalises annotators' scene graphs: names, also with values ("two white horses"), values, duplicates (Sect. 3.2).

Hudson and Manning 2019. What cannot be used is left out and counted:

- ``image: no objects``: the image gives no graph.
- ``object: ...``: no name, an unknown or vague one (thing, part), an empty box, a box outside the image, a duplicate
  (merged). A box that extends beyond the image is cut. If no word of a name is known, no object of the image is
  referred to by its category ("the animal"), as there may be another one.
- ``name: ...``: how a name was read; nothing is lost.
- ``value: ...``: unknown; impossible for such a thing (water that is drinking); contradicted by another one (open,
  closed); color of a patterned object, which is kept without its type, as there may be other colors.
- ``relation: ...``: to a missing object or to itself; unknown or without meaning; unnatural (Sect. 3.2: woman in
  shirt, tail attached to giraffe); contradicted by other ones (each of two to the left of the other) or by boxes; part
  of a cycle (a cat on a box on a chair on that cat); left and right of what touches (a rider and the horse).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from itertools import combinations, permutations
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy

from hf_vqa_mc.engines.gqa.ontology import PREPOSITIONS, RELATIONS, Noun, Ontology, is_participle
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT, SceneGraph, SceneObject, is_left_of, scene_of, sides_of
from hf_vqa_mc.engines.visual_genome import Box, RawGraph, RawObject, overlap
from hf_vqa_mc.engines.vocabulary import Vocabulary, is_surely_plural, singular_of
from hf_vqa_mc.text.normalisation import unaccented
from hf_vqa_mc.text.wordnet import load_wordnet

SAME_BOX = 0.8  # Minimum intersection over union of two boxes with one name that are the same object.
LONGEST = 3  # Longest name, in words, that is read as its last word; longer ones are mostly sentences.

_WORDS = Vocabulary("gqa/normalising")
_OPPOSED = _WORDS.read("opposed", tuple[dict[str, str], ...])
_ONLY_OF = _WORDS.read("only of", dict[str, frozenset[str]])
_PICTURES = Vocabulary("gqa/scenes")["pictures"]
_HAVE_HEIGHT = frozenset({"person", "animal", "bird", "building", "tree"})
_OF_IMAGES = frozenset({"place", "location", "hposition", "vposition"})


def normalise(raw: RawGraph, ontology: Ontology, problems: Counter[str]) -> SceneGraph | None:
    """A scene graph in the ontology's words, None if no object is left; ``problems`` counts what is left out."""
    things, image_values = _named(raw, ontology, problems)
    words, nameless = set[str](), False
    for key, thing in raw.objects.items():
        named = plain(thing.name).split()
        said = {*named} - _WORDS["stop words"]
        if said and key not in things and not clean_name(thing.name, ontology).name:
            nameless |= not any(_known(word, ontology) for word in said)  # as of "zzyzx"
        ends = (index for index, word in enumerate(named) if index and word in _WORDS["after it"])
        words.update(named[next(ends, len(named)) + 1 :] if key in things else named)  # of "leg of a chair" the chair
    known = (_known(word, ontology) for word in words - _WORDS["stop words"])  # a toy car may be called a car
    unclear = {ontology.nouns[name].kind for name in known if name and not ontology.nouns[name].vague}
    same = _duplicates(things, ontology)
    problems["object: the same one twice"] += len(same)
    for duplicate, key in same.items():
        things[key].attributes += things.pop(duplicate).attributes
    size = raw.width, raw.height
    relations = clean_relations(raw, things, same, ontology, problems)
    made = {}
    for key, thing in things.items():
        values = values_by_type(dict.fromkeys(thing.attributes), ontology.nouns[thing.name], ontology, problems)
        values |= sides_of(thing.box, size)
        made[key] = SceneObject(key, thing.name, thing.box, values, frozenset(relations[key]))
    if not made:
        problems["image: no objects"] += 1
        return None
    given = {kind: clean_value(text, ontology) for kind, text in raw.scene.items()}
    known_scene = {kind: value for kind, value in given.items() if value and kind in ontology.attributes[value].types}
    problems.update(f"image: unknown {kind}" for kind in given.keys() - known_scene.keys())
    scene = scene_of(list(made.values()), known_scene, image_values, size, ontology)
    return SceneGraph(raw.image_id, *size, made, scene, frozenset(unclear), nameless)


def _named(raw: RawGraph, ontology: Ontology, problems: Counter[str]) -> tuple[dict[str, RawObject], list[str]]:
    """The objects with names, values and boxes as they are used, without relations, and the values of the image."""
    things, image_values = dict[str, RawObject](), list[str]()
    for key, thing in raw.objects.items():
        found = [clean_value(text, ontology) for text in thing.attributes]
        values = [value for value in found if value is not None]
        problems["value: unknown"] += len(found) - len(values)
        types = {kind for value in values for kind in ontology.attributes[value].types}
        if plain(thing.name) in _PICTURES and types & {"weather", "location"}:
            image_values += values
            problems["object: the image itself"] += 1
            continue
        cleaned = clean_name(thing.name, ontology)
        x, y, width, height = thing.box
        left, right, top, bottom = max(0, x), min(raw.width, x + width), max(0, y), min(raw.height, y + height)
        box: Box = (left, top, right - left, bottom - top)
        if cleaned.name is None:
            problems[f"object: {'unknown name' if plain(thing.name) else 'no name'}"] += 1
        elif ontology.nouns[cleaned.name].vague:
            problems["object: vague name"] += 1
        elif right <= left or bottom <= top:
            problems[f"object: {'empty box' if width <= 0 or height <= 0 else 'box outside the image'}"] += 1
        else:
            problems[f"name: {cleaned.note}"] += bool(cleaned.note)
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
        pairs = combinations(found[kind], 2)
        if kind in _WORDS["one value"] and not all(ontology.alike(*pair) for pair in pairs):
            problems["value: contradicted by another"] += len(found.pop(kind))
    for opposed in _OPPOSED:
        if all(value in found.get(kind, ()) for kind, value in opposed.items()):
            problems["value: contradicted by another"] += len(opposed)
            for kind, value in opposed.items():
                found[kind].remove(value)
    if found.get("color") and _WORDS["patterned"] & {value for those in found.values() for value in those}:
        problems["value: color of something patterned"] += len(found["color"])
        found.setdefault("", []).extend(found.pop("color"))
    return {kind: tuple(those) for kind, those in found.items() if those}


def _type_for(value: str, noun: Noun, ontology: Ontology) -> str | None:
    """The type of a value for a noun: "" if it is ambiguous, None if the value is a mistake."""
    above = {noun.kind, *noun.parents}
    types = [kind for kind in ontology.attributes[value].types if kind not in _OF_IMAGES]
    possible = [kind for kind in types if kind not in _ONLY_OF or not above.isdisjoint(_ONLY_OF[kind])]
    possible.sort(key=lambda kind: kind not in _ONLY_OF)  # a thin man is fat or not, not thick or not
    if value in _WORDS["unclear"] or (value == "clear" and "weather" not in possible):
        return ""
    if value == "short" and {"height", "length"} <= set(types):
        if noun.kind in _WORDS["has length"]:
            return "length"
        return "height" if not above.isdisjoint(_HAVE_HEIGHT) else ""
    if value == "light" and "tone" in types:
        return "tone"
    if possible:
        return possible[0]
    is_traffic = "vehicle" in above and value in ("driving", "waiting")
    return None if types and set(types) <= _WORDS["mistakes elsewhere"] and not is_traffic else ""


def plain(text: str) -> str:
    """Lower case, single spaces, no accents, no punctuation but hyphens and apostrophes inside words, NFKD letters.

    >>> plain("  The Man's  T-shirt. "), plain("caf\u00e9\u200b")
    ("the man's t-shirt", 'cafe')
    """
    words = re.sub(r"[^\w\s'-]", " ", unaccented(text).lower().replace("_", " ")).split()
    return " ".join(word for word in (word.strip("'-") for word in words) if word)


def clean_value(text: str, ontology: Ontology) -> str | None:
    """The ontology's value for an annotator's word, its spelling, adjective (wooden) or with a filler (very large)."""
    word = plain(text)
    words = word.split()
    while words and words[0] in _WORDS["before values"]:
        words = words[1:]
    while words and words[-1] in _WORDS["after values"]:
        words = words[:-1]
    spellings = (word, word.replace("-", " "), word.replace(" ", "-"), " ".join(words))
    found = (one if one in ontology.attributes else ontology.value_aliases.get(one) for one in spellings)
    return next(filter(None, found), None)


class CleanName(NamedTuple):
    """A name in the ontology's words."""

    name: str | None = None  # None if the ontology has no such noun
    values: tuple[str, ...] = ()
    note: str = ""  # how it was found, for the count of problems


def clean_name(text: str, ontology: Ontology) -> CleanName:
    """An annotator's name for an object in the ontology's words.

    The name, another spelling or number of it, else values before a noun ("white horse"), else its last word unless
    the whole is a noun of its own in WordNet ("crt monitor"); words from "of", "in", "on" onwards are ignored.
    """
    words = plain(text).split()
    while len(words) > 1 and words[0] in _WORDS["stop words"]:
        words = words[1:]
    if not words or (set(words) & _WORDS["sentences"] and " ".join(words) not in ontology.nouns):
        return CleanName()
    found = _known(" ".join(words), ontology)
    if found:
        return CleanName(found)
    end = next((index for index, word in enumerate(words) if index and word in _WORDS["after it"]), 0)
    if end:
        shorter = clean_name(" ".join(words[:end]), ontology)
        noun = ontology.nouns.get(shorter.name or "")
        return CleanName() if noun is None or noun.vague else shorter._replace(note="phrase")
    for split in range(1, len(words)):
        name = _known(" ".join(words[split:]), ontology)
        values = _values(words[:split], ontology) if name else None
        if name and values is not None:
            return CleanName(name, values, "values in the name")
    last = _known(words[-1], ontology)
    reads_as_last = (
        len(words) <= LONGEST
        and words[0] not in _WORDS["after it"]
        and not any(map(is_participle, words[:-1]))
        and words[-1] not in _WORDS["no heads"]
        and not set(words[:-1]) & _WORDS["not themselves"]
        and not any(_is_another(joint.join(words[-2:]), words[-1]) for joint in ("_", ""))
    )
    return CleanName(last, (), "read as its last word") if last and reads_as_last else CleanName()


def _known(name: str, ontology: Ontology) -> str | None:
    for tried in (name, name.replace("-", " "), name.replace("-", "")):
        if known := tried if tried in ontology.nouns else ontology.name_aliases.get(tried):
            return known
    singular = singular_of(name)
    if singular and is_surely_plural(name):
        noun = ontology.nouns.get(ontology.name_aliases.get(singular, singular))
        return noun.plural_form if noun and noun.plural_form in ontology.nouns else None
    joined = name.replace(" ", "")
    return joined if " " in name and joined in ontology.nouns and len(joined) > 6 else None


def _values(words: list[str], ontology: Ontology) -> tuple[str, ...] | None:
    """The values of all words, one or two words each; None if a word is not a value."""
    values: list[str] = []
    start = 0
    while start < len(words):
        for length in (2, 1):
            text = " ".join(words[start : start + length])
            value = clean_value(text, ontology) if start + length <= len(words) else None
            found = ontology.attributes.get(value or "")
            if found is None or text in _WORDS["not themselves"]:
                continue
            if not (found.before_only or found.verb or found.after_only):  # not a drinking bottle, a tennis racket
                values.append(found.value)
                start += length
                break
        else:
            if words[start] not in _WORDS["stop words"] and words[start] != "and":
                return None
            start += 1
    return tuple(values)


@lru_cache(maxsize=1 << 14)
def _is_another(form: str, last: str) -> bool:
    """Whether WordNet has the noun, and it is not a hyponym of its last word: home plate, key board."""
    wordnet = load_wordnet()
    senses = wordnet.nouns.senses(form)
    if not senses:
        return False
    above = wordnet.ancestors[wordnet.ancestor_starts[senses[0]] : wordnet.ancestor_starts[senses[0] + 1]].tolist()
    return not set(above) & set(wordnet.nouns.senses(last))


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


def cleaned_relation(text: str) -> str:
    """An annotator's relation in the form that follows "is" (wearing, for wears); "" if it has no meaning."""
    words = re.sub(r"[^a-z ]", " ", unaccented(text).lower()).split()
    while words and words[0] in ("is", "are", "was", "were", "be", "being", "been", "currently"):
        words = words[1:]
    while len(words) > 1 and words[-1] in ("a", "an", "the", "his", "her", "its", "their", "one", "two", "some"):
        words = words[:-1]
    if words and words[0] not in PREPOSITIONS:  # a verb
        found = _THIRD_PERSON.match(words[0])
        stem = found[1] + ("y" if found[2] else (found[3] or "")) if found else ""
        if base := next((one for one in (words[0], stem, stem.removesuffix("e")) if one in RELATIONS["verbs"]), ""):
            shorter = "ly" if base == "lie" else base[:-1] if base.endswith("e") and not base.endswith("ee") else base
            words[0] = (base + base[-1] if base in RELATIONS["doubled"] else shorter) + "ing"
    name = " ".join(words)
    name = _SPELLINGS.get(name, name)
    return "" if name in RELATIONS["says nothing"] else name
