"""English articles and plurals of nouns and noun phrases."""

import re
from collections.abc import Iterable

from hf_vqa_mc.engines.vocabulary import Vocabulary

AN_BEFORE = re.compile(
    r"(?!(?:eu|ew|uni(?!n|m)|us[aeu]|ut[ei]|ufo|uk|one|once)|u\b)[aeiou]|hour|honest|heir|(?:mp3|x-ray|suv|rv|lcd|led|mri|hd)\b"
)
"""Words that begin with the sound of a vowel: an apple, an hour, an SUV, but a unicorn, a one-way sign."""


PLURALS = Vocabulary("gqa/plurals")
_IRREGULAR = PLURALS.read("irregular", dict[str, str])
_IN_COMPOUNDS = PLURALS.read("in compounds", tuple[str, ...])
_SINGULARS = {plural: singular for singular, plural in _IRREGULAR.items()}
_BOTH = PLURALS["pairs"] | PLURALS["collective"]  # plural verbs, but no other form
_NO_SINGULAR = _BOTH | PLURALS["singular in s"] | PLURALS["same"] | _IRREGULAR.keys()


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
    return not _BOTH.isdisjoint(name.split()[-1:]) or bool(singular_of(name))


def _plural(word: str) -> str:
    if word in PLURALS["same"] or word in _BOTH or word.endswith("fish"):
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("man") and len(word) > 4 and word not in PLURALS["no men"]:
        return word[:-3] + "men"
    if (end := _compound_end(word, _IN_COMPOUNDS)) and word not in PLURALS["no compounds"]:
        return word.removesuffix(end) + _IRREGULAR[end]
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
    if end := _compound_end(word, [_IRREGULAR[singular] for singular in _IN_COMPOUNDS]):
        return word.removesuffix(end) + _SINGULARS[end]
    if not word.endswith("s") or len(word) < 4 or word.endswith(("ss", "us", "is", "ous")):
        return ""
    if word.endswith("ies") and len(word) > 4:
        ending = "ie" if word in PLURALS["plural of ie"] else "y"
        return word if word in ("series", "species") else word[:-3] + ending
    if word.endswith(("ches", "shes", "xes", "sses", "zzes")) and word not in PLURALS["plural of che"]:
        return word[:-2]
    return word[:-1]


def with_article(text: str) -> str:
    """Words with "a" or "an" before them.

    >>> with_article("unicorn"), with_article("hour glass"), with_article("orange hat")
    ('a unicorn', 'an hour glass', 'an orange hat')
    """
    return f"{'an' if AN_BEFORE.match(text.lower()) else 'a'} {text}"
