"""Singular and plural of English nouns, by rules and ``data/plurals.yaml``."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hf_vqa_mc.engines.vocabulary import vocabulary


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
    return _of_last_word(name, _plural)


def singular_of(name: str) -> str:
    """The singular of a plural noun; "" if there is none or no rule is certain.

    >>> [singular_of(name) for name in ("berries", "wine cups", "policemen", "pants", "grass", "penknives")]
    ['berry', 'wine cup', 'policeman', '', '', 'penknife']
    """
    return _of_last_word(name, _singular)


def is_surely_plural(name: str) -> bool:
    """Whether a word is a plural by its form."""
    last = name.split()[-1] if name.split() else ""
    return last in PLURALS.pairs or last in PLURALS.collective or bool(singular_of(name))


def _of_last_word(name: str, rule: Callable[[str], str]) -> str:
    words = name.split()
    if not words:
        return ""
    changed = rule(words[-1])
    return " ".join([*words[:-1], changed]) if changed else ""


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
        return word + ("es" if not word.endswith("ch") or word != "stomach" else "s")
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
