"""Annotators' words to the ontology's: names with their values ("two white horses"), values, spelling."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.own_ontology import is_participle
from hf_vqa_mc.engines.gqa.plurals import is_surely_plural, singular_of
from hf_vqa_mc.engines.vocabulary import vocabulary
from hf_vqa_mc.text.wordnet import load_wordnet


@dataclass(frozen=True)
class NameWords:
    """The schema of ``cleaning.yaml``, which describes its keys."""

    stop_words: frozenset[str]
    not_themselves: frozenset[str]
    after_it: frozenset[str]
    sentences: frozenset[str]
    no_heads: frozenset[str]
    before_values: frozenset[str]
    after_values: frozenset[str]


_WORDS = vocabulary("gqa/cleaning", NameWords)
_UNSEEN = frozenset({"Mn", "Me", "Cf"})  # Unicode's categories of accents and of what cannot be seen.
LONGEST = 3  # Words of a name that is read as its last one; longer ones are sentences more often than names.


class Cleaned(NamedTuple):
    """What a name says."""

    name: str | None  # in the ontology, None if it knows no such thing
    values: tuple[str, ...] = ()
    note: str = ""  # what had to be done, for the count of problems


def plain(text: str) -> str:
    """Lower case, single spaces, no accents, no punctuation but hyphens and apostrophes inside words.

    Letters that only look otherwise, such as wide ones, become plain ones, and what cannot be seen is left away.

    >>> plain("  The Man's  T-shirt. "), plain("caf\u00e9\u200b")
    ("the man's t-shirt", 'cafe')
    """
    words = re.sub(r"[^\w\s'-]", " ", folded(text).lower().replace("_", " ")).split()
    return " ".join(word for word in (word.strip("'-") for word in words) if word)


def folded(text: str) -> str:
    """Compatible letters as one (NFKD), without accents, marks and what cannot be seen."""
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in _UNSEEN)


def is_foreign(text: str) -> bool:
    """Whether a name is in letters or signs of which nobody can tell whether they name what the ontology knows."""
    return not folded(text).isascii()


def clean_value(text: str, ontology: Ontology) -> str | None:
    """The ontology's value for an annotator's word, None if it knows none.

    Spelling, adjectives (wooden: wood) and words around it (very large) are seen to.
    """
    word = plain(text)
    for tried in (word, word.replace("-", " "), word.replace(" ", "-"), _without_filler(word)):
        if tried in ontology.attributes:
            return tried
        if tried in ontology.value_aliases:
            return ontology.value_aliases[tried]
    return None


def unclear_kinds(names: Iterable[str], ontology: Ontology) -> frozenset[str]:
    """The kinds that words of names are, of objects that were left out: a toy car may be meant by car.

    >>> from hf_vqa_mc.engines.gqa.own_ontology import own_ontology
    >>> sorted(unclear_kinds(["man riding a horse"], own_ontology()))
    ['horse', 'man']
    """
    words = {word for name in names for word in plain(name).split()}
    known = (_known(word, ontology) for word in words - _WORDS.stop_words)
    return frozenset(ontology.nouns[name].kind for name in known if name and not ontology.nouns[name].vague)


def is_unknown(name: str, ontology: Ontology) -> bool:
    """Whether nothing tells what a name is of: the ontology knows neither it nor any of its words.

    >>> from hf_vqa_mc.engines.gqa.own_ontology import own_ontology
    >>> [is_unknown(name, own_ontology()) for name in ("zzyzx", "dog", "thing", "man riding a horse", "")]
    [True, False, False, False, False]
    """
    if not name.strip():
        return False
    words = [word for word in plain(name).split() if word not in _WORDS.stop_words]
    if not words:
        return is_foreign(name)
    return clean_name(name, ontology).name is None and not any(_known(word, ontology) for word in words)


def besides(name: str) -> str:
    """What a name tells of besides its object: a chair, of the leg of a chair; "" where nothing.

    >>> besides("leg of a chair"), besides("chair leg")
    ('a chair', '')
    """
    words = plain(name).split()
    place = next((place for place, word in enumerate(words) if place and word in _WORDS.after_it), len(words))
    return " ".join(words[place + 1 :])


def _without_filler(word: str) -> str:
    words = word.split()
    while words and words[0] in _WORDS.before_values:
        words = words[1:]
    while words and words[-1] in _WORDS.after_values:
        words = words[:-1]
    return " ".join(words)


def clean_name(text: str, ontology: Ontology) -> Cleaned:
    """What an annotator's name for an object says in the ontology's words.

    As it stands, as another spelling or number of it, else as values before a noun ("white horse"), else as its last
    word if the whole is no word of its own in WordNet ("crt monitor"); words after "of", "in", "on" are left away.
    """
    words = plain(text).split()
    while len(words) > 1 and words[0] in _WORDS.stop_words:
        words = words[1:]
    if not words:
        return Cleaned(None, (), "empty")
    if set(words) & _WORDS.sentences and " ".join(words) not in ontology.nouns:
        return Cleaned(None, (), "unknown")
    found = _known(" ".join(words), ontology)
    if found:
        return Cleaned(found)
    for place, word in enumerate(words):
        if place and word in _WORDS.after_it:
            shorter = clean_name(" ".join(words[:place]), ontology)
            noun = ontology.nouns.get(shorter.name or "")
            return Cleaned(None, (), "unknown") if noun is None or noun.vague else shorter._replace(note="phrase")
    for split in range(1, len(words)):
        name = _known(" ".join(words[split:]), ontology)
        values = _values(words[:split], ontology) if name else None
        if name and values is not None:
            return Cleaned(name, values, "values in the name")
    last = _known(words[-1], ontology) if len(words) <= LONGEST else None
    if (
        last
        and set(words[:-1]).isdisjoint(_WORDS.after_it)
        and not any(map(is_participle, words[:-1]))
        and words[-1] not in _WORDS.no_heads
        and not set(words[:-1]) & _WORDS.not_themselves
        and not _is_a_word(words)
    ):
        return Cleaned(last, (), "read as its last word")
    return Cleaned(None, (), "unknown")


def _known(name: str, ontology: Ontology) -> str | None:
    for tried in (name, name.replace("-", " "), name.replace("-", "")):
        if tried in ontology.nouns:
            return tried
        if tried in ontology.name_aliases:
            return ontology.name_aliases[tried]
    singular = singular_of(name)
    if singular and is_surely_plural(name):
        noun = ontology.nouns.get(ontology.name_aliases.get(singular, singular))
        return noun.plural_form if noun and noun.plural_form in ontology.nouns else None
    joined = name.replace(" ", "")
    return joined if " " in name and joined in ontology.nouns and len(joined) > 6 else None


def _values(words: list[str], ontology: Ontology) -> tuple[str, ...] | None:
    """The values that all of the words are, one or two words each; None if one is none."""
    values: list[str] = []
    place = 0
    while place < len(words):
        for length in (2, 1):
            text = " ".join(words[place : place + length])
            value = clean_value(text, ontology) if len(words[place : place + length]) == length else None
            found = ontology.attributes.get(value or "")
            if found is None or text in _WORDS.not_themselves:
                continue
            if not (found.before_only or found.verb or found.after_only):  # not so a drinking bottle, a tennis racket
                values.append(found.value)
                place += length
                break
        else:
            if words[place] not in _WORDS.stop_words and words[place] != "and":
                return None
            place += 1
    return tuple(values)


def _is_a_word(words: list[str]) -> bool:
    """Whether the last two words are one of WordNet's that is no kind of the last: home plate, key board."""
    return any(_is_another(form, words[-1]) for form in ("_".join(words[-2:]), "".join(words[-2:])))


@lru_cache(maxsize=1 << 14)
def _is_another(form: str, last: str) -> bool:
    wordnet = load_wordnet()
    senses = wordnet.nouns.senses(form)
    if not senses:
        return False
    above = wordnet.ancestors[wordnet.ancestor_starts[senses[0]] : wordnet.ancestor_starts[senses[0] + 1]].tolist()
    return not set(above) & set(wordnet.nouns.senses(last))
