"""The words of questions: articles, adjectives, relations, patterns (Hudson and Manning 2019, Sect. 3.3)."""

import re
from collections.abc import Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import Part
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.own_ontology import VALUES
from hf_vqa_mc.engines.vocabulary import Vocabulary, plural_of, with_article

WORDS = Vocabulary("gqa/wording")
PARTITIVES = WORDS.read("partitives", dict[str, str])
_SWITCHED = WORDS.read("switched", dict[str, str])
_POSITIONS = WORDS.read("positions", dict[str, dict[str, tuple[str, ...]]])
DOING = ("activity", "sportActivity", "pose")  # Types of values that only people and animals have.
MATERIAL = "material"

Phrase: TypeAlias = Sequence[Part]

NOT_UNIQUE = {"glass"}  # Countable names whose plural names another thing.

_CAPITALS = {word.lower(): word for word in WORDS["capitals"]}
POSITIONS = {(kind, value): phrases for kind, values in _POSITIONS.items() for value, phrases in values.items()}


class NounPhrase(NamedTuple):
    """A noun phrase and its grammar."""

    text: str
    plural: bool = False  # takes a plural verb
    mass: bool = False  # takes no indefinite article
    proper: bool = False  # a proper name
    unique: bool = False  # usually one per image: the sky

    @property
    def be(self) -> str:
        """The verb form "is" or "are"."""
        return "are" if self.plural else "is"

    @property
    def some(self) -> str:
        """With an indefinite article if it takes one: an apple, apples, water."""
        if self.unique:
            return f"the {self.text}"
        return self.text if self.plural or self.mass or self.proper else with_article(self.text)

    @property
    def the(self) -> str:
        """The definite article, "" if it takes none."""
        return "" if self.proper else "the"


@lru_cache(maxsize=1 << 16)
def spelled(text: str) -> str:
    """A name or value with its capitals."""
    return " ".join(_CAPITALS.get(word, word) for word in text.split(" "))


@lru_cache(maxsize=1 << 14)
def _called(name: str, plural: bool, uncounted: bool, proper: bool, has_plural: bool) -> NounPhrase:
    mass = (uncounted or name in WORDS["uncounted"]) and not plural
    unique = not (plural or mass or proper or has_plural or name in NOT_UNIQUE)
    return NounPhrase(name.title() if proper else spelled(name), plural, mass, proper, unique)


class Wording:
    """The words for the nouns and values of an ontology."""

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology

    def called(self, name: str) -> NounPhrase:
        """A noun as a phrase."""
        noun = self.ontology.nouns[name]
        return _called(name, noun.plural, noun.mass, noun.proper, bool(noun.plural_form))

    def one(self, name: str) -> NounPhrase | None:
        """The singular phrase: "apple" for apples; None for nouns without a singular (pants, water)."""
        noun = self.ontology.nouns[name]
        uncounted = noun.mass or noun.proper or name in WORDS["uncounted"] or not noun.plural_form
        return None if uncounted or (noun.plural and not noun.singular) else NounPhrase(spelled(noun.singular or name))

    def several(self, name: str) -> NounPhrase:
        """The plural phrase, or that of a mass noun: apples, pants, water."""
        noun = self.ontology.nouns[name]
        as_it_is = noun.plural or not noun.plural_form or name in WORDS["uncounted"]
        return self.called(name) if as_it_is else NounPhrase(spelled(noun.plural_form), plural=True)

    def as_category(self, category: str, plural: bool) -> NounPhrase | None:
        """The phrase for an object by its category, such as "piece of furniture"; None if there is none."""
        if category in PARTITIVES:
            return NounPhrase(category, mass=True) if plural else NounPhrase(f"{PARTITIVES[category]} of {category}")
        noun = self.ontology.nouns.get(category)
        if noun is None:
            return NounPhrase(spelled(plural_of(category) if plural else category), plural)
        form = noun.plural_form if plural and not (noun.mass or noun.plural) else category
        if noun.vague or noun.proper or (noun.plural and not plural) or not form:
            return None
        return NounPhrase(spelled(form), plural=plural and not noun.mass, mass=noun.mass)

    def predicate(self, kind: str, value: str) -> str:
        """A value after "is": red, made of wood, on the left."""
        if (kind, value) in POSITIONS:
            return POSITIONS[kind, value][0]
        is_made = kind == MATERIAL
        adjective = f"made of {spelled(value)}" if is_made else spelled(self.ontology.attributes[value].adjective)
        return _SWITCHED.get(value, adjective)

    def stands_before(self, kind: str, value: str) -> str | None:
        """A value as an adjective before its noun; None if it follows the noun (waiting, on the left)."""
        attribute = self.ontology.attributes.get(value)
        follows = attribute is None or attribute.verb or value in VALUES["after only"] or (kind, value) in POSITIONS
        return None if follows or attribute is None else spelled(attribute.adjective)

    def stands_behind(self, kind: str, value: str, phrase: NounPhrase, negated: bool, rng: SeededRng) -> str:
        """A value after its noun: that is red, made of wood, on the left, that is not waiting."""
        if (kind, value) in POSITIONS and not negated:
            return f"{rng.pick(('', f'that {phrase.be} '))}{rng.pick(POSITIONS[kind, value])}"
        short = kind == MATERIAL and not negated and rng.happens(0.5)
        return f"{'' if short else f'that {phrase.be} '}{'not ' if negated else ''}{self.predicate(kind, value)}"

    def kind_of(self, category: str, plural: bool) -> tuple[str, str]:
        """A category after "what kind of", with its verb: devices are, clothing is."""
        phrase = self.as_category(category, plural)
        if phrase is None or phrase.mass or category in PARTITIVES:
            return category, "is"
        return phrase.text, phrase.be


@cache
def relation_form(name: str) -> str | None:
    """The form of a relation: "verb" (wearing), "state" (parked on), "place" (near); None if it cannot follow "is"."""
    first = name.split()[0]
    if name in WORDS["prepositions"]:
        return "place"
    if first in WORDS["passives"]:
        return "state"
    return "verb" if first.endswith("ing") and first not in ("during", "king") else None


_TEMPLATES = Vocabulary("gqa/templates")
_PHRASES = _TEMPLATES.read("phrases", dict[str, tuple[str, ...]])
_BY_TYPE = _TEMPLATES.read("templates", dict[str, dict[str, tuple[str, ...]]])  # by question type and variant
_DETAILED = _TEMPLATES.read("detailed types", dict[str, dict[str, str]])


class Pattern:
    """A wording with slots ``{x}`` and phrases ``{X}`` with alternatives: ``{WHAT} color {THINK} {is} {the}?``."""

    def __init__(self, text: str, phrases: Mapping[str, Sequence[str]]) -> None:
        pieces = re.split(r"\{([A-Z_]+)\}", text.removesuffix("?"))
        choices = [phrases[piece] if at % 2 else [piece] for at, piece in enumerate(pieces)]
        self.forms: list[list[tuple[str, bool]]] = []  # alternating texts and slots
        for form in dict.fromkeys(re.sub(r"\s*,", " ,", "".join(chosen)) for chosen in product(*choices)):
            found = [(" ".join(piece.split()), at % 2 == 1) for at, piece in enumerate(re.split(r"\{(\w+)\}", form))]
            if (parts := [(piece, is_slot) for piece, is_slot in found if piece]) not in self.forms:
                self.forms.append(parts)

    def fill(self, rng: SeededRng, slots: Mapping[str, str | Phrase], avoided: Set[str] = frozenset()) -> list[Part]:
        """A random form with its slots filled, without the avoided words if there is such a form."""
        forms = self.forms
        if avoided:
            fixed = (" ".join(text for text, is_slot in form if not is_slot).split() for form in forms)
            forms = [form for form, words in zip(forms, fixed, strict=True) if avoided.isdisjoint(words)] or forms
        parts: list[Part] = []
        for text, is_slot in rng.pick(forms):
            value = slots[text] if is_slot else text
            parts.extend([(value, "")] if isinstance(value, str) else value)
        return parts


def wordings(question_type: str) -> dict[str, tuple[Pattern, ...]]:
    """The wordings of a question type by variant."""
    by_variant = _BY_TYPE[question_type].items()
    return {variant: tuple(Pattern(text, _PHRASES) for text in texts) for variant, texts in by_variant}


def detailed_types(question_type: str) -> dict[str, str]:
    """GQA's names of the detailed types by variant."""
    return _DETAILED[question_type]
