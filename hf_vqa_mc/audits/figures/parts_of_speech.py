"""Nouns, verbs, adjectives and prepositions by rules.

The rules know words of closed classes and frequent verbs (``data/parts_of_speech.yaml``) and WordNet's nouns and
adjectives. A word that may be of several classes is decided by the words next to it.
"""

from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.texts import Words
from hf_vqa_mc.text.wordnet import load_wordnet

CLASSES = ("noun", "verb", "adjective", "preposition")
OTHER, NOUN, VERB, ADJECTIVE, PREPOSITION, DETERMINER = range(6)
"""Classes of words; auxiliaries are verbs, determiners are counted as no class."""


def word_classes(words: Words) -> NDArray[np.int64]:
    """(all words,): the class of each word, by `CLASSES` from 1, 0 for others."""
    table = np.array([_possible(word) for word in words.vocabulary], bool).reshape(-1, 6)
    possible = table[words.numbers]
    alone = possible.sum(axis=1) == 1
    found = np.where(alone, possible.argmax(axis=1), OTHER)
    texts = words.texts
    same_before = np.concatenate([[False], texts[1:] == texts[:-1]]) if len(texts) else np.zeros(0, bool)
    same_after = np.concatenate([texts[1:] == texts[:-1], [False]]) if len(texts) else np.zeros(0, bool)
    before = np.where(same_before, np.roll(found, 1), OTHER)
    noun_after = same_after & np.roll(possible[:, NOUN], -1)
    noun_before = same_before & np.roll(possible[:, NOUN], 1)
    after_determiner = np.isin(before, (DETERMINER, ADJECTIVE, PREPOSITION))
    is_adjective = ~alone & possible[:, ADJECTIVE] & (noun_after | ~(after_determiner | possible[:, VERB]))
    is_verb = ~alone & possible[:, VERB] & ~after_determiner & ~is_adjective
    is_verb &= noun_before | (before == VERB) | ~possible[:, NOUN]
    rest = ~alone & ~is_adjective & ~is_verb
    found[is_adjective], found[is_verb] = ADJECTIVE, VERB
    found[rest] = np.where(possible[rest, NOUN], NOUN, possible[rest].argmax(axis=1))
    found[found == DETERMINER] = OTHER
    return found.astype(np.int64)


def _possible(word: str) -> list[bool]:
    """The classes that a word may be of."""
    closed, verbs = _lists()
    found = [False] * 6
    if not word[0].isalpha():  # a number
        found[OTHER] = True
        return found
    if word in closed:
        found[closed[word]] = True
        return found
    wordnet = load_wordnet()
    found[NOUN] = bool(wordnet.nouns.base_forms(word))
    found[ADJECTIVE] = bool(wordnet.adjectives.base_forms(word))
    found[VERB] = word in verbs
    if not any(found):
        by_ending = {"ly": OTHER, "ed": VERB}.get(word[-2:], VERB if word.endswith("ing") else NOUN)
        found[by_ending] = True
    return found


@lru_cache(maxsize=1)
def _lists() -> tuple[dict[str, int], frozenset[str]]:
    """The words of closed classes, and all forms of the verbs."""
    import yaml

    file = resources.files("hf_vqa_mc.audits") / "data" / "parts_of_speech.yaml"
    lists = {name: words.split() for name, words in yaml.safe_load(file.read_text("utf-8")).items()}
    classes = {"determiners": DETERMINER, "auxiliaries": VERB, "prepositions": PREPOSITION,
               "adjectives": ADJECTIVE, "others": OTHER}  # fmt: skip
    closed: dict[str, int] = {}
    for name, number in classes.items():
        for word in lists[name]:
            closed.setdefault(word, number)
    forms = {form for verb in lists["verbs"] for form in verb_forms(verb)}
    return closed, frozenset(forms | set(lists["irregular"]))


def verb_forms(verb: str) -> list[str]:
    """The regular forms of a verb, also those with a doubled last letter.

    >>> verb_forms("carry"), verb_forms("bake")
    (['carry', 'carries', 'carried', 'carrying'], ['bake', 'bakes', 'baked', 'baking'])
    """
    if verb.endswith("e"):
        return [verb, f"{verb}s", f"{verb}d", *([f"{verb[:-2]}ying"] if verb.endswith("ie") else [f"{verb[:-1]}ing"])]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"]
    doubled = (
        [f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"] if verb[-2] in "aeiou" and verb[-3:-2] not in "aeiou" else []
    )
    plural = f"{verb}es" if verb.endswith(("s", "x", "ch", "sh", "o", "ss")) else f"{verb}s"
    return [verb, plural, f"{verb}ed", f"{verb}ing", *doubled]
