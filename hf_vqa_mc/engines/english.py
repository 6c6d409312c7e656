"""English articles and plurals of nouns and noun phrases."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hf_vqa_mc.engines.vocabulary import vocabulary

AN_BEFORE = re.compile(
    r"(?!(?:eu|ew|uni(?!n|m)|us[aeu]|ut[ei]|ufo|uk|one|once)|u\b)[aeiou]|hour|honest|heir|(?:mp3|x-ray|suv|rv|lcd|led|mri|hd)\b"
)
"""Words that begin with the sound of a vowel: an apple, an hour, an SUV, but a unicorn, a one-way sign."""


@dataclass(frozen=True)
class Plurals:
    """The schema of ``plurals.yaml``, which describes its keys."""

    irregular: dict[str, str]
    same: frozenset[str]
    in_compounds: tuple[str, ...]
    no_compounds: frozenset[str]
    no_men: frozenset[str]
    pairs: frozenset[str]
    collective: frozenset[str]
    singular_in_s: frozenset[str]
    plural_of_ie: frozenset[str]
    plural_of_che: frozenset[str]


PLURALS = vocabulary("gqa/plurals", Plurals)
_SINGULARS = {plural: singular for singular, plural in PLURALS.irregular.items()}
_NO_SINGULAR = PLURALS.pairs | PLURALS.collective | PLURALS.singular_in_s | PLURALS.same | PLURALS.irregular.keys()


def plural_of(name: str) -> str:
    """The plural of a singular noun or noun phrase whose last word is the noun.

    >>> [plural_of(name) for name in ("berry", "wine glass", "policeman", "ottoman", "bookshelf", "goldfish")]
    ['berries', 'wine glasses', 'policemen', 'ottomans', 'bookshelves', 'goldfish']
    """
    *before, last = name.split()
    return " ".join((*before, _plural(last)))


def singular_of(name: str) -> str:
    """The singular of a plural noun; "" if there is none or no rule is certain.

    >>> [singular_of(name) for name in ("berries", "wine cups", "policemen", "pants", "grass", "penknives")]
    ['berry', 'wine cup', 'policeman', '', '', 'penknife']
    """
    *before, last = name.split() or [""]
    singular = _singular(last)
    return " ".join((*before, singular)) if singular else ""


def is_surely_plural(name: str) -> bool:
    """Whether a word is a plural by its form."""
    last = name.split()[-1:]
    return not PLURALS.pairs.isdisjoint(last) or not PLURALS.collective.isdisjoint(last) or bool(singular_of(name))


def _plural(word: str) -> str:
    if word in PLURALS.same or word in PLURALS.pairs or word in PLURALS.collective or word.endswith("fish"):
        return word
    if word in PLURALS.irregular:
        return PLURALS.irregular[word]
    if word.endswith("man") and len(word) > 4 and word not in PLURALS.no_men:
        return word[:-3] + "men"
    if (end := _compound_end(word, PLURALS.in_compounds)) and word not in PLURALS.no_compounds:
        return word.removesuffix(end) + PLURALS.irregular[end]
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + ("s" if word == "stomach" else "es")
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _compound_end(word: str, ends: Iterable[str]) -> str:
    return next((end for end in ends if word.endswith(end) and len(word) > len(end) + 1), "")


def _singular(word: str) -> str:
    if word in _NO_SINGULAR:
        return ""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if word.endswith("men") and len(word) > 5:
        return word[:-3] + "man"
    if end := _compound_end(word, [PLURALS.irregular[singular] for singular in PLURALS.in_compounds]):
        return word.removesuffix(end) + _SINGULARS[end]
    if not word.endswith("s") or len(word) < 4 or word.endswith(("ss", "us", "is", "ous")):
        return ""
    if word.endswith("ies") and len(word) > 4:
        return word if word in ("series", "species") else word[:-3] + ("ie" if word in PLURALS.plural_of_ie else "y")
    if word.endswith(("ches", "shes", "xes", "sses", "zzes")) and word not in PLURALS.plural_of_che:
        return word[:-2]
    return word[:-1]


def with_article(text: str) -> str:
    """Words with "a" or "an" before them.

    >>> with_article("unicorn"), with_article("hour glass"), with_article("orange hat")
    ('a unicorn', 'an hour glass', 'an orange hat')
    """
    return f"{'an' if AN_BEFORE.match(text.lower()) else 'a'} {text}"
