"""The default ontology: our lists of nouns, values and relations, and WordNet's rarer nouns."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from hf_vqa_mc.engines.gqa.ontology import KINDS, Attribute, Noun, Ontology, both_numbers, both_ways, similar_kinds
from hf_vqa_mc.engines.vocabulary import PLURALS, Vocabulary, plural_of
from hf_vqa_mc.text.wordnet import load_wordnet


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

    def names(self) -> dict[str, str]:
        """All names, each with the noun that it is a kind of, or ""."""
        plain = dict.fromkeys([*self.nouns, *sorted(self.mass | self.plural | self.unique | self.sometimes)], "")
        return plain | {name: higher for higher, names in self.kinds_of.items() for name in names}


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


def similar_values(known: Iterable[str]) -> dict[str, frozenset[str]]:
    """For each value those that might be used for the same object, by our list."""
    values = frozenset(known)
    return {value: frozenset(_ALIKE.get(value, ())) & values for value in values}


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
        for name, higher in one.names().items():
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
