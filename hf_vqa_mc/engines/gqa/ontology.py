"""The vocabulary of scene graphs: hierarchy of nouns, types of values, meanings of relations (Sect. 3.2).

Hudson and Manning 2019. `own_ontology` makes one of our lists and WordNet's rarer nouns; ``ontology_files.py`` reads
GQA's.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import permutations, product

import numpy as np

from hf_vqa_mc.engines.vocabulary import PLURALS, Vocabulary, plural_of
from hf_vqa_mc.text.wordnet import load_wordnet

ANYTHING = "_"  # The noun that every object is, as GQA's programs spell it.
PEOPLE, BODY_PART = "person", "body part"
LIVING = (PEOPLE, "animal", "bird")


@dataclass(frozen=True, slots=True)
class Noun:
    """A name of objects; singular and plural are two names of one kind."""

    name: str  # as in scene graphs, such as ``bananas``
    kind: str  # the singular, which all names of the kind share: ``banana``
    plural: bool = False  # takes a plural verb: bananas, pants, glasses
    mass: bool = False  # takes no indefinite article: water, grass
    parents: tuple[str, ...] = ()  # all hypernyms, the nearest first: ("fruit", "food")
    singular: str = ""  # the singular, "" if there is none (pants)
    plural_form: str = ""  # the plural, "" if there is none (water)
    proper: bool = False  # a proper name, with a capital and no article
    vague: bool = False  # too vague to be asked about: thing, object, side, part


@dataclass(frozen=True, slots=True)
class Attribute:
    """A value of objects."""

    value: str  # as in scene graphs, such as ``wood``
    types: tuple[str, ...]  # color, material ..., the main one first; () if nothing can be asked about it
    adjective: str  # before a noun and after "is": wooden, red
    similar: frozenset[str] = frozenset()  # values that might mean the same: no decoys
    verb: bool = False  # a present participle, which follows its noun: a man that is waiting
    before_only: bool = False  # a noun before another noun, never after "is": a tennis racket
    after_only: bool = False  # after "is", never before a noun: a lamp that is on; true of all verbs


@dataclass(frozen=True, slots=True)
class RelationName:
    """A relation from a subject to an object: the girl (subject) is eating (relation) the cake (object)."""

    name: str  # as after "is": to the left of, wearing, on top of
    inverse: str = ""  # the implied relation from object to subject (to the right of for to the left of), "" if none
    excludes: frozenset[str] = frozenset()  # relations that cannot hold at once between the same two
    one_subject: bool = False  # an object has only one such subject: clothes are worn by one person
    many: bool = False  # several such subjects or objects are usual, annotated or not (on, near)
    related: frozenset[str] = frozenset()  # relations that might mean the same (on, on top of): no decoys


@dataclass(frozen=True)
class Ontology:
    """All nouns, attributes and relations of normalised scene graphs."""

    nouns: Mapping[str, Noun]
    attributes: Mapping[str, Attribute]
    relations: Mapping[str, RelationName] = field(default_factory=lambda: RelationTable())
    exclusive: frozenset[str] = frozenset()  # types of which an object usually has one value: color, size
    name: str = ""  # its source, for statistics
    similar_kinds: Mapping[str, Set[str]] = field(default_factory=dict)
    """kinds that might be used for the same thing (cup, mug): neither is a decoy, or a "no", for the other"""
    name_aliases: Mapping[str, str] = field(default_factory=dict)  # other names: "sea gull" for seagull
    value_aliases: Mapping[str, str] = field(default_factory=dict)  # other words: grey for gray, wooden for wood

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of each attribute type, in the ontology's order."""
        found: dict[str, tuple[str, ...]] = defaultdict(tuple)
        for attribute in self.attributes.values():
            for kind in attribute.types:
                found[kind] += (attribute.value,)
        return dict(found)

    @cached_property
    def _above(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(self.above(name)) for name in self.nouns}

    def above(self, name: str) -> tuple[str, ...]:
        """A name's kind and hypernyms."""
        noun = self.nouns[name]
        return (noun.kind, *noun.parents)

    def kind(self, name: str) -> str:
        """A noun's kind, or the category itself."""
        noun = self.nouns.get(name)
        return noun.kind if noun else name

    def isa(self, name: str, category: str) -> bool:
        """Whether a ``name`` certainly is a ``category``: apples are fruit, and of an apple's kind."""
        return self.kind(category) in self._above[name] or category == ANYTHING

    def may_be(self, name: str, category: str) -> bool:
        """Whether a ``name`` could be a ``category``: a person may be a man, a couch a sofa."""
        noun, other = self.nouns[name], self.nouns.get(category)
        if self.isa(name, category) or noun.vague or (other and noun.kind in other.parents):
            return True
        return self.kind(category) in self.similar_kinds.get(noun.kind, ())

    def mixed_up(self, name: str, other: str) -> bool:
        """Whether two names could be used for the same object."""
        return self.may_be(name, other) or self.may_be(other, name)

    def alike(self, value: str, other: str) -> bool:
        """Whether two values could be used for the same object."""
        pairs = ((value, other), (other, value))
        return (
            value == other
            or any(one in self.attributes and two in self.attributes[one].similar for one, two in pairs)
            or (value in self.nouns and other in self.nouns and self.mixed_up(value, other))
        )


KINDS = Vocabulary("gqa/kinds")
_SPORTS = KINDS.read("sports", tuple[frozenset[str], ...])


def both_numbers(nouns: Mapping[str, Noun]) -> dict[str, Noun]:
    """Add missing singulars and plurals, and remove those that name another kind: glasses are no plural of glass."""
    whole = dict(nouns)
    for noun in nouns.values():
        for other, plural in ((noun.plural_form, True), (noun.singular, False)):
            if other and other not in whole:
                whole[other] = replace(noun, name=other, plural=plural)

    def of_kind(other: str, noun: Noun) -> str:
        return other if other in whole and whole[other].kind == noun.kind else ""

    numbers = {name: (of_kind(noun.singular, noun), of_kind(noun.plural_form, noun)) for name, noun in whole.items()}
    return {name: replace(whole[name], singular=one, plural_form=many) for name, (one, many) in numbers.items()}


def both_ways(groups: Iterable[Iterable[str]], one_to_many: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Name to all similar names: any two of a group, and a name and each of its list."""
    near: dict[str, set[str]] = defaultdict(set)
    pairs = [pair for group in groups for pair in permutations(group, 2)]
    for one, other in [*pairs, *((one, other) for one, others in one_to_many.items() for other in others)]:
        near[one].add(other)
        near[other].add(one)
    return near


def similar_kinds(
    nouns: Mapping[str, Noun], aliases: Mapping[str, str], others: Mapping[str, Iterable[str]]
) -> dict[str, set[str]]:
    """Kind to those that might be used for the same thing: by our list, by meaning, and by ``others``, both ways."""
    near: dict[str, set[str]] = defaultdict(set)
    people = {one.kind for one in nouns.values() if "person" in one.parents or one.kind in KINDS["groups of people"]}
    people_alike = {  # a skier may be a man, a man is not a woman
        kind: {other for other in people if other != kind and not _two_people(kind, other)} for kind in people
    }
    heads: dict[str, set[str]] = defaultdict(set)  # for kinds of several words, by any of their names: a street lamp
    for name, meant in [*((name, name) for name in nouns), *aliases.items()]:
        head = nouns.get(name.split()[-1]) if " " in name and name not in KINDS["no head"] else None
        if head is not None and meant in nouns and head.kind != nouns[meant].kind and not head.vague:
            heads[nouns[meant].kind].add(head.kind)
    alike_one = KINDS.read("alike one", dict[str, tuple[str, ...]])
    listed = both_ways(KINDS.read("alike", tuple[tuple[str, ...], ...]), alike_one)
    for found in (listed, both_ways((), others), people_alike, both_ways((), heads)):
        for kind, alike in found.items():
            near[kind] |= alike
    return near


def _two_people(one: str, other: str) -> bool:
    pair = {one, other}
    sports = [{index for index, names in enumerate(_SPORTS) if name in names} for name in (one, other)]
    return not pair & KINDS["groups of people"] and bool(
        (pair & KINDS["male"] and pair & KINDS["female"])
        or (pair & KINDS["babies"] and (pair & KINDS["adults"] or any(sports)))
        or (all(sports) and sports[0] != sports[1])
    )


RELATIONS = Vocabulary("gqa/relations")
PREPOSITIONS, SURE, OPPOSITES, ACTIONS, APART = (
    RELATIONS.read(key, dict[str, frozenset[str]]) for key in ("prepositions", "sure", "opposites", "actions", "apart")
)
POSTURES, POSTURE_PREPOSITIONS = (RELATIONS.read(key, tuple[str, ...]) for key in ("postures", "posture prepositions"))
POSTURES_ALIKE = RELATIONS.read("postures alike", frozenset[tuple[str, ...]])
_BACK = RELATIONS.read("inverses", dict[str, str])
_INVERSES = {**_BACK, **{back: name for name, back in _BACK.items() if back}}


class RelationTable(Mapping[str, RelationName]):
    """All relations: those of the tables, which iteration yields, and participles with prepositions, by rule."""

    def __init__(self) -> None:
        names = (name for name in PREPOSITIONS if name not in RELATIONS["says nothing"])
        self._known = {name: _preposition(name) for name in names}
        self._known |= {name: _action(name) for name in ACTIONS}
        for posture, preposition in product(POSTURES, POSTURE_PREPOSITIONS):
            self._known[f"{posture} {preposition}"] = _compound(posture, preposition)

    def __getitem__(self, name: str) -> RelationName:
        """The relation of this name; KeyError if it is in no table and no rule derives it."""
        return self._known.get(name) or _by_rule(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@cache
def _by_rule(name: str) -> RelationName:
    verb, _, rest = name.partition(" ")
    irregular = verb in RELATIONS["participles"]
    regular = verb.isalpha() and verb.endswith("ing") and len(verb) > 4 and verb not in RELATIONS["no participles"]
    if rest:
        is_known = (regular or irregular) and rest in PREPOSITIONS and rest not in ("for", "of")
    else:
        is_known = regular and not irregular and verb not in POSTURES
    if not is_known:
        raise KeyError(name)
    return _compound(verb, rest)


def _sharing(meanings: Mapping[str, Set[str]], wanted: Set[str]) -> set[str]:
    return {name for name, own in meanings.items() if own & wanted}


def _against(meant: Set[str], opposites: Mapping[str, Set[str]]) -> set[str]:
    return _sharing(opposites, meant).union(*(opposites.get(one, frozenset()) for one in meant))


def _preposition(name: str) -> RelationName:
    excludes = _sharing(SURE, _against(SURE.get(name, frozenset()), OPPOSITES))
    related = _sharing(PREPOSITIONS, PREPOSITIONS[name]) - {name}
    return RelationName(name, _INVERSES.get(name, ""), frozenset(excludes), many=True, related=frozenset(related))


def _action(name: str) -> RelationName:
    meant = ACTIONS[name]
    related = _sharing(ACTIONS, meant) - {name}
    excludes = _sharing(ACTIONS, _against(meant, APART)) - related - {name}
    one_subject, many = name in RELATIONS["one subject"], bool(meant & RELATIONS["many"])
    return RelationName(name, _INVERSES.get(name, ""), frozenset(excludes), one_subject, many, frozenset(related))


def _compound(verb: str, preposition: str) -> RelationName:
    if not preposition:  # nothing else is known of the verb
        return RelationName(verb, many=True)
    plain = _preposition(preposition)
    name, related, excludes = f"{verb} {preposition}", {*plain.related, preposition}, set(plain.excludes)
    if verb in POSTURES:
        for other in POSTURES:
            same = other == verb or tuple(sorted((verb, other))) in POSTURES_ALIKE
            (related if same else excludes).add(f"{other} {preposition}")
    elif preposition in ("on", "on top of"):
        excludes.clear()  # a lamp hanging on the ceiling is under it
    return RelationName(name, excludes=frozenset(excludes), many=True, related=frozenset(related - excludes - {name}))


@dataclass(frozen=True)
class Category:
    """Nouns of a category; ``nouns.yaml`` describes the keys."""

    above: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    mass: frozenset[str] = frozenset()
    plural: frozenset[str] = frozenset()
    unique: frozenset[str] = frozenset()
    kinds_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sometimes: frozenset[str] = frozenset()


VALUES = Vocabulary("gqa/values")
ADJECTIVES, VALUE_SPELLINGS = (VALUES.read(key, dict[str, str]) for key in ("adjectives", "spellings"))
_GROUPS, _PLACES = (VALUES.read(key, tuple[tuple[str, ...], ...]) for key in ("alike", "places"))
_ALIKE = both_ways(_GROUPS, VALUES.read("alike one", dict[str, tuple[str, ...]]))
NOUNS = Vocabulary("gqa/nouns")
CATEGORIES = NOUNS.read("categories", dict[str, Category])
NO_CATEGORY = NOUNS.read("no category", Category)
_SPELLINGS = NOUNS.read("spellings", dict[str, str])
_OF_WORDNET = NOUNS.read("wordnet categories", dict[str, tuple[str, ...]])
_ABOVE = ((), *((category, *above) for category, (_, _, *above) in _OF_WORDNET.items()))
"""By code: the hypernyms of a synset of that category; 0 is none."""


def scene_attributes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The values with those of every image: positions, location, place."""
    rows = [("place", place, {*group} - {place}) for group in _PLACES for place in group]
    tables = {"place": VALUES.read("places nearby", dict[str, set[str]])}
    tables |= VALUES.read("positions", dict[str, dict[str, set[str]]])
    rows += [(kind, value, similar) for kind, values in tables.items() for value, similar in values.items()]
    added = dict(attributes)
    for kind, value, similar in rows:
        known = added.get(value) or Attribute(value=value, types=(), adjective=value)
        types, after_only = dict.fromkeys((*known.types, kind)), known.after_only or value in VALUES["after only"]
        added[value] = replace(known, types=tuple(types), similar=known.similar | similar, after_only=after_only)
    return added


def similar_values(known: Mapping[str, object]) -> dict[str, frozenset[str]]:
    """For each value those that might be used for the same object, by our list."""
    return {value: frozenset(_ALIKE.get(value, ())) & known.keys() for value in known}


def is_participle(value: str) -> bool:
    """Whether a value is a present participle of an activity, such as waiting."""
    return value.partition(" ")[0].endswith("ing") and value not in VALUES["no participles"]


@lru_cache(maxsize=1)
def own_ontology() -> Ontology:
    """Nouns of our list and WordNet's, our values and relations."""
    types: dict[str, list[str]] = defaultdict(list)
    for kind, values in VALUES.read("types", dict[str, tuple[str, ...]]).items():
        for value in values:
            types[value].append(kind)
    types |= {value: [] for value in VALUES.read("untyped", tuple[str, ...]) if value not in types}
    similar = similar_values(types)
    attributes = scene_attributes(
        {
            value: Attribute(
                value=value,
                types=tuple(dict.fromkeys(kinds)),
                adjective=ADJECTIVES.get(value, value),
                similar=similar[value],
                verb=is_participle(value),
                before_only=value in VALUES["nouns"],
                after_only=is_participle(value) or value in VALUES["after only"],
            )
            for value, kinds in types.items()
        }
    )
    nouns, loose = _listed()
    nouns = both_numbers(nouns | _from_wordnet(nouns))
    aliases = {alias: name for alias, name in _SPELLINGS.items() if name in nouns and alias not in nouns}
    return Ontology(
        nouns=nouns,
        attributes=attributes,
        exclusive=VALUES["exclusive types"],
        name="own",
        similar_kinds=similar_kinds(nouns, aliases, loose),
        name_aliases=aliases,
        value_aliases={alias: value for alias, value in VALUE_SPELLINGS.items() if value in attributes}
        | {adjective: value for value, adjective in ADJECTIVES.items()},
    )


def _listed() -> tuple[dict[str, Noun], dict[str, tuple[str, ...]]]:
    """The nouns of our list, and those that only sometimes are of their category, with the categories."""
    nouns: dict[str, Noun] = {}
    loose: dict[str, tuple[str, ...]] = {}
    for category, one in [*CATEGORIES.items(), ("", NO_CATEGORY)]:
        of_category = (category, *one.above) if category else ()
        plain = dict.fromkeys([*one.nouns, *sorted(one.mass | one.plural | one.unique | one.sometimes)], "")
        for name, higher in (plain | {name: kind for kind, names in one.kinds_of.items() for name in names}).items():
            if name in nouns:
                continue
            above = (higher, *(nouns[higher].parents if higher in nouns else ())) if higher else ()
            parents = tuple(dict.fromkeys(parent for parent in (*above, *of_category) if parent != name))
            if name in one.sometimes:
                loose[name], parents = of_category, parents[:0]
            mass, plural = name in one.mass, name in one.plural
            no_plural = name in PLURALS["pairs"] if plural else mass or name in one.unique
            nouns[name] = Noun(
                name=name,
                kind=name,
                plural=plural,
                mass=mass,
                parents=parents,
                singular="" if mass or plural else name,
                plural_form="" if no_plural else name if plural else plural_of(name),
                vague=name in KINDS["vague"],
            )
    for name in sorted(KINDS["vague"] - nouns.keys()):
        nouns[name] = Noun(name=name, kind=name, singular=name, plural_form=plural_of(name), vague=True)
    nouns["people"] = Noun(name="people", kind="person", plural=True, singular="person", plural_form="people")
    return nouns, loose


def _from_wordnet(listed: Mapping[str, Noun]) -> dict[str, Noun]:
    """Nouns of one or two words with senses of one category only, as Sect. 3.2, footnote 5 warns of wrong senses."""
    wordnet = load_wordnet()
    categories = np.zeros(len(wordnet.ancestor_starts) - 1, np.int64)
    rows = np.repeat(np.arange(len(categories)), np.diff(wordnet.ancestor_starts))
    for code, (lemma, sense, *_) in enumerate(_OF_WORDNET.values(), 1):
        anchor = wordnet.nouns.senses(lemma)[int(sense)]
        below = rows[wordnet.ancestors == anchor]
        categories[below[below != anchor]] = code
    codes = categories.tolist()
    taken = listed.keys() | _SPELLINGS.keys() | NOUNS["not from wordnet"] | KINDS["vague"]
    taken |= {plural_of(name) for name in listed} | {noun.plural_form for noun in listed.values()}
    found = {}
    for lemma in wordnet.nouns.lemmas:
        name = lemma.replace("_", " ")
        is_plain = 3 <= len(name) <= 24 and name.count(" ") < 2 and name.replace(" ", "").isalpha()
        if name in taken or not is_plain:
            continue
        above = {codes[sense] for sense in wordnet.nouns.senses(lemma)}
        parents = tuple(parent for parent in _ABOVE[max(above)] if parent != name)
        if parents and len({_ABOVE[code][-1:] for code in above}) == 1:
            mass = parents[0] == "drink"
            single, many = ("", "") if mass else (name, plural_of(name))
            found[name] = Noun(name=name, kind=name, parents=parents, mass=mass, singular=single, plural_form=many)
    return found
