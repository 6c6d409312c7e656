"""An ontology without files: our lists of nouns, values and relations, with WordNet's for the rarer nouns."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.kinds import KINDS_ALIKE, VAGUE, heads_alike, people_alike
from hf_vqa_mc.engines.gqa.ontology import Noun, Ontology
from hf_vqa_mc.engines.gqa.own_attributes import own_attributes
from hf_vqa_mc.engines.gqa.own_nouns import ABOVE, CATEGORIES
from hf_vqa_mc.engines.gqa.own_nouns import SPELLED as NOUNS_SPELLED
from hf_vqa_mc.engines.gqa.own_values import ADJECTIVES, EXCLUSIVE, SPELLED
from hf_vqa_mc.engines.gqa.plurals import PAIRS, plural_of
from hf_vqa_mc.engines.gqa.relation_names import RelationTable
from hf_vqa_mc.text.wordnet import WordNet, load_wordnet

WORDNET_CATEGORIES = {
    "animal": ("animal", 0),
    "bird": ("bird", 0),
    "fruit": ("edible_fruit", 0),
    "vegetable": ("vegetable", 0),
    "furniture": ("furniture", 0),
    "clothing": ("clothing", 0),
    "vehicle": ("vehicle", 0),
    "appliance": ("home_appliance", 0),
    "musical instrument": ("musical_instrument", 0),
    "flower": ("flower", 0),
    "tree": ("tree", 0),
    "dog": ("dog", 0),
    "building": ("building", 0),
    "tool": ("hand_tool", 0),
    "food": ("dish", 1),
    "drink": ("alcohol", 0),
}
"""Categories to the word and the place among its noun senses (from 0) under which WordNet has their kinds."""

NOT_FROM_WORDNET = frozenset(
    "top bottom short shorts black blue white red green brown gray grey orange gold silver pink purple tan beige "
    "still light right left front back side end set pair male female young adult pet game monster baby jack "
    "baker hood crane bat drill brush file counter bar seat stand slip plane level square plan paddle pack roll "
    "boxer pointer setter retriever cock stock pier court hall house home pound post range plant tee train "
    "combination head ear leg arm foot mount beast creature invertebrate vertebrate prey darter thing painter "
    "hack stray den mama baa queen king drone worker soldier sole bass pike perch skate ray kite swift crab "
    "cancer tick grub host date lime seed nut kernel pit cone bolt nail tag tab pull gown slide sled float raft "
    "balloon horn tube press iron range plate cup glass".split()
)
"""Words whose sense in WordNet is rarely the one meant in a picture, or that are values as often as nouns."""


@lru_cache(maxsize=1)
def own_ontology() -> Ontology:
    """Nouns of our list and WordNet's, our values and relations; the same each time.

    A word is taken from WordNet only where all its noun senses are of one category: the paper warns of wrong senses
    (Sect. 3.2, footnote 5).
    """
    nouns, loose = _listed()
    nouns |= _from_wordnet(load_wordnet(), nouns)
    for noun in list(nouns.values()):
        if noun.plural_form and noun.plural_form not in nouns:
            nouns[noun.plural_form] = replace(noun, name=noun.plural_form, plural=True)
    nouns = with_numbers_of_one_kind(nouns)
    near = defaultdict(set, {kind: set(others) for kind, others in KINDS_ALIKE.items()})
    for kind, others in [*people_alike(nouns.values()).items(), *loose.items()]:
        near[kind] |= others
        for other in others:
            near[other].add(kind)
    attributes = own_attributes()
    aliases = {alias: name for alias, name in NOUNS_SPELLED.items() if name in nouns and alias not in nouns}
    for kind, others in heads_alike(nouns, aliases).items():
        near[kind] |= others
    return Ontology(
        nouns=nouns,
        attributes=attributes,
        relations=RelationTable(),
        exclusive=EXCLUSIVE,
        name="own",
        similar_kinds={kind: frozenset(others) for kind, others in near.items()},
        name_aliases=aliases,
        value_aliases={alias: value for alias, value in SPELLED.items() if value in attributes}
        | {adjective: value for value, adjective in ADJECTIVES.items()},
    )


def with_numbers_of_one_kind(nouns: Mapping[str, Noun]) -> dict[str, Noun]:
    """The nouns, without a singular or plural that is the name of something else: glasses are no glass twice."""

    def of_kind(other: str, noun: Noun) -> str:
        return other if other in nouns and nouns[other].kind == noun.kind else ""

    return {
        name: replace(noun, singular=of_kind(noun.singular, noun), plural_form=of_kind(noun.plural_form, noun))
        for name, noun in nouns.items()
    }


def _listed() -> tuple[dict[str, Noun], dict[str, frozenset[str]]]:
    """The nouns of our list, and the categories that some of them may be of."""
    nouns: dict[str, Noun] = {}
    loose: dict[str, frozenset[str]] = {}
    above: dict[str, tuple[str, ...]] = {}
    for category, line in CATEGORIES.items():
        of_category = (category, *ABOVE.get(category, ())) if category else ()
        for name, mark, higher in _marked(line):
            if name in nouns:
                continue
            if higher == ".":
                loose[name] = frozenset(of_category)
            parents = () if higher == "." else _chain(higher, above) + of_category
            above[name] = tuple(dict.fromkeys(parent for parent in parents if parent != name))
            nouns[name] = _noun(name, mark, higher, above[name])
    for name in VAGUE - nouns.keys():
        nouns[name] = Noun(name=name, kind=name, singular=name, plural_form=plural_of(name), vague=True)
    return nouns, loose


def _chain(higher: str, above: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return (higher, *above.get(higher, ())) if higher else ()


def _marked(line: str) -> Iterator[tuple[str, str, str]]:
    """Names with their mark ("", "+" mass, "^" plural, "=" the only one) and the kind above."""
    for word in line.split():
        name, _, higher = word.replace("_", " ").partition(":")
        name, _, kind = name.partition("=") if "^=" in name else (name, "", "")
        mark = "+" if name[0] == "+" else name[-1] if name[-1] in "^=+" else ""
        yield name.strip("+^="), mark, f"={kind}" if kind else higher


def _noun(name: str, mark: str, higher: str, parents: tuple[str, ...]) -> Noun:
    if higher.startswith("="):  # people: several of another kind
        return Noun(name=name, kind=higher[1:], plural=True, singular=higher[1:], plural_form=name)
    return Noun(
        name=name,
        kind=name,
        plural=mark == "^",
        mass=mark == "+",
        parents=parents,
        singular=name if mark in ("", "=") else "",
        plural_form=plural_of(name) if mark == "" else name if mark == "^" and name not in PAIRS else "",
        vague=name in VAGUE,
    )


def _from_wordnet(wordnet: WordNet, listed: Mapping[str, Noun]) -> dict[str, Noun]:
    """Nouns of one or two words of which all senses are of one of the categories."""
    anchors = {category: wordnet.nouns.senses(word)[place] for category, (word, place) in WORDNET_CATEGORIES.items()}
    codes = _category_codes(wordnet, anchors)
    taken = listed.keys() | NOUNS_SPELLED.keys() | {plural_of(name) for name in listed} | NOT_FROM_WORDNET | VAGUE
    found = {}
    starts = wordnet.nouns.starts
    for lemma, place in wordnet.nouns.lemmas.items():
        name = lemma.replace("_", " ")
        if name in taken or not _plain(name):
            continue
        above = {codes[sense] for sense in wordnet.nouns.synsets[starts[place] : starts[place + 1]]}
        wholes = {_ABOVE[code][-1:] for code in above}
        parents = tuple(parent for parent in _ABOVE[max(above)] if parent != name) if len(wholes) == 1 else ()
        if parents:
            mass = parents[0] == "drink"
            many = "" if mass else plural_of(name)
            found[name] = Noun(
                name=name, kind=name, parents=parents, mass=mass, singular="" if mass else name, plural_form=many
            )
    return {name: noun for name, noun in found.items() if name not in {n.plural_form for n in listed.values()}}


_CHAINS: Mapping[str, tuple[str, ...]] = {
    "animal": ("animal",),
    "bird": ("bird", "animal"),
    "dog": ("dog", "animal"),
    "food": ("food",),
    "fruit": ("fruit", "food"),
    "vegetable": ("vegetable", "food"),
    "flower": ("flower", "plant"),
    "tree": ("tree", "plant"),
}
_ORDER = (*(category for category in WORDNET_CATEGORIES if category not in _CHAINS), *_CHAINS)
_ABOVE = ((), *(_CHAINS.get(category, (category,)) for category in _ORDER))
"""By code: what is above a synset of that category; special categories have the higher codes, 0 is none."""


def _category_codes(wordnet: WordNet, anchors: Mapping[str, int]) -> list[int]:
    """The code of the category of every synset."""
    codes = np.zeros(len(wordnet.ancestor_starts) - 1, np.int64)
    for code, category in enumerate(_ORDER, 1):
        codes[_below(wordnet, anchors[category])] = code
    return [int(code) for code in codes]


def _below(wordnet: WordNet, synset: int) -> NDArray[np.bool_]:
    """Which synsets are kinds of one, itself left out: bool (synsets,)."""
    rows = np.repeat(np.arange(len(wordnet.ancestor_starts) - 1), np.diff(wordnet.ancestor_starts))
    below = np.zeros(len(wordnet.ancestor_starts) - 1, bool)
    below[rows[wordnet.ancestors == synset]] = True
    below[synset] = False
    return below


def _plain(name: str) -> bool:
    return 3 <= len(name) <= 24 and name.count(" ") < 2 and name.replace(" ", "").isalpha()
