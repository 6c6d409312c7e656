"""Maps annotators' words to the ontology: names, also with values ("two white horses"), values, spelling."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hf_vqa_mc.engines.english import is_surely_plural, singular_of
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.own_ontology import is_participle
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
_INVISIBLE = frozenset({"Mn", "Me", "Cf"})  # Unicode's categories of accents and invisible characters.
LONGEST = 3  # Longest name, in words, that is read as its last word; longer ones are mostly sentences.


class Cleaned(NamedTuple):
    """A name in the ontology's words."""

    name: str | None  # None if the ontology has no such noun
    values: tuple[str, ...] = ()
    note: str = ""  # how it was found, for the count of problems


def plain(text: str) -> str:
    """Lower case, single spaces, no accents, no punctuation but hyphens and apostrophes inside words, NFKD letters.

    >>> plain("  The Man's  T-shirt. "), plain("caf\u00e9\u200b")
    ("the man's t-shirt", 'cafe')
    """
    words = re.sub(r"[^\w\s'-]", " ", folded(text).lower().replace("_", " ")).split()
    return " ".join(word for word in (word.strip("'-") for word in words) if word)


def folded(text: str) -> str:
    """NFKD letters without accents, marks and invisible characters."""
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if unicodedata.category(letter) not in _INVISIBLE)


def is_foreign(text: str) -> bool:
    """Whether a name has other than Latin letters, so that it may mean any noun of the ontology."""
    return not folded(text).isascii()


def clean_value(text: str, ontology: Ontology) -> str | None:
    """The ontology's value for an annotator's word, its spelling, adjective (wooden) or with a filler (very large)."""
    word = plain(text)
    for tried in (word, word.replace("-", " "), word.replace(" ", "-"), _without_filler(word)):
        if tried in ontology.attributes:
            return tried
        if tried in ontology.value_aliases:
            return ontology.value_aliases[tried]
    return None


def unclear_kinds(names: Iterable[str], ontology: Ontology) -> frozenset[str]:
    """The kinds that single words of names mean, for objects that were left out: a toy car may be called a car.

    >>> from hf_vqa_mc.engines.gqa.own_ontology import own_ontology
    >>> sorted(unclear_kinds(["man riding a horse"], own_ontology()))
    ['horse', 'man']
    """
    words = {word for name in names for word in plain(name).split()}
    known = (_known(word, ontology) for word in words - _WORDS.stop_words)
    return frozenset(ontology.nouns[name].kind for name in known if name and not ontology.nouns[name].vague)


def is_unknown(name: str, ontology: Ontology) -> bool:
    """Whether the ontology knows neither a name nor any of its words.

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


def other_mention(name: str) -> str:
    """The other object that a name mentions: a chair, for "leg of a chair"; "" if none.

    >>> other_mention("leg of a chair"), other_mention("chair leg")
    ('a chair', '')
    """
    words = plain(name).split()
    end = next((index for index, word in enumerate(words) if index and word in _WORDS.after_it), len(words))
    return " ".join(words[end + 1 :])


def _without_filler(word: str) -> str:
    words = word.split()
    while words and words[0] in _WORDS.before_values:
        words = words[1:]
    while words and words[-1] in _WORDS.after_values:
        words = words[:-1]
    return " ".join(words)


def clean_name(text: str, ontology: Ontology) -> Cleaned:
    """An annotator's name for an object in the ontology's words.

    The name, another spelling or number of it, else values before a noun ("white horse"), else its last word unless
    the whole is a noun of its own in WordNet ("crt monitor"); words from "of", "in", "on" onwards are ignored.
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
    for index, word in enumerate(words):
        if index and word in _WORDS.after_it:
            shorter = clean_name(" ".join(words[:index]), ontology)
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
        and not any(_is_another(joint.join(words[-2:]), words[-1]) for joint in ("_", ""))
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
    """The values of all words, one or two words each; None if a word is not a value."""
    values: list[str] = []
    start = 0
    while start < len(words):
        for length in (2, 1):
            text = " ".join(words[start : start + length])
            value = clean_value(text, ontology) if start + length <= len(words) else None
            found = ontology.attributes.get(value or "")
            if found is None or text in _WORDS.not_themselves:
                continue
            if not (found.before_only or found.verb or found.after_only):  # not a drinking bottle, a tennis racket
                values.append(found.value)
                start += length
                break
        else:
            if words[start] not in _WORDS.stop_words and words[start] != "and":
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
