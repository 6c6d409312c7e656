"""What type of thing a text names, by WordNet: a family of embeddings for plausibility, and a filter.

Averages of word vectors mix topic and type: "game" is near "remotes", but no answer to "How many remotes?".
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hf_vqa_mc.decoys.candidates import Float64s, Int64s
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.text.embeddings import Embeddings, normalised
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.wordnet import load_wordnet

SIZE = 128
"""Dimensions of the random projection of hypernyms and word forms."""
LAST_WORD = 2.0
"""Weight of the last word, mostly the head of a phrase, relative to the others."""
LEAST_DEPTH, MOST_DEPTH = 2, 8
"""WordNet depths of the hypernyms that are types: less deep ones fit anything, deeper ones are single things."""
MOST_HYPONYMS = 11_000
"""Synsets with more hyponyms (object, whole, organism) are no types; artifacts and persons are."""
SENSES = 2
"""Senses of a word whose types count; rare ones, such as "dog" for an andiron, make anything similar."""
BROADER = 10
"""A shared type has at most this many times the hyponyms of the narrowest that the choices share."""
_FORM_WEIGHT = 2.0
_ENDINGS = ("ing", "ed", "ly", "s")


class WordTypes:
    """Texts as the hypernyms of their words' most frequent senses, and the forms of their words."""

    name = "WordNet types"

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts, see `Embeddings`."""
        vectors = np.zeros((len(texts) + 1, SIZE))
        for number, text in enumerate(texts):
            found = words(text)
            for index, word in enumerate(found):
                vectors[number] += _word_vector(word) * (LAST_WORD if index == len(found) - 1 else 1.0)
            if found:
                vectors[number] += _FORM_WEIGHT * _direction(
                    f"first word {found[0][-3:]}" if len(found) > 1 else "one"
                )
        return normalised(vectors)


def of_shared_type(text: Sequence[str], target: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether a text is of the form and the type of thing that the target shares with most of the others, if it does.

    The form is that of the first word, such as "to" or "-ing"; the type is a hypernym of a noun phrase's last word.
    """
    form, least = _form(target), len(others) / 2
    if form and others and sum(_form(other) == form for other in others) >= least and _form(text) != form:
        return False
    types, sizes = Counter(one for other in others for one in _noun_types(other)), _hyponyms()
    shared = {one: int(sizes[one]) for one in _noun_types(target) if types[one] >= max(least, 1)}
    most = BROADER * min(shared.values(), default=0)
    return not shared or any(shared.get(one, most + 1) <= most for one in _noun_types(text))


def _noun_types(text: Sequence[str]) -> frozenset[int]:
    return frozenset() if not text or _form(text) else _types_of_senses(text[-1])


@lru_cache(maxsize=200_000)
def _types_of_senses(word: str) -> frozenset[int]:
    """The hypernyms of a word's most frequent senses as a noun that are not too general."""
    wordnet, sizes = load_wordnet(), _hyponyms()
    starts = wordnet.ancestor_starts
    senses = wordnet.nouns.senses(word)[:SENSES]
    above = np.concatenate([[], *(wordnet.ancestors[starts[one] : starts[one + 1]] for one in senses)]).astype(int)
    return frozenset(above[sizes[above] <= MOST_HYPONYMS].tolist())


def _form(text: Sequence[str]) -> str:
    first = text[0] if text else ""
    return first if first == "to" else "ing" if first.endswith("ing") else "digits" if first.isdigit() else ""


@lru_cache
def _hyponyms() -> Int64s:
    """The number of hyponyms of each synset, itself included."""
    wordnet = load_wordnet()
    return np.bincount(wordnet.ancestors, minlength=len(wordnet.min_depths))


@lru_cache(maxsize=200_000)
def _word_vector(word: str) -> Float64s:
    """The sum of the directions of a word's types, with norm 1 for its senses and for its form."""
    wordnet = load_wordnet()
    nouns, adjectives = wordnet.nouns.senses(word), wordnet.adjectives.senses(word)
    types = []
    if nouns:
        above = wordnet.ancestors[slice(*wordnet.ancestor_starts[nouns[0] : nouns[0] + 2])]
        depths = wordnet.min_depths[above]
        types = above[(depths >= LEAST_DEPTH) & (depths <= MOST_DEPTH)].tolist()
    if adjectives:
        types += [adjectives[0], *wordnet.similar[slice(*wordnet.similar_starts[adjectives[0] : adjectives[0] + 2])]]
    total = np.sum([_direction(f"synset {one}") for one in types], axis=0) if types else np.zeros(SIZE)
    norm = float(np.linalg.norm(total))
    form = next((ending for ending in _ENDINGS if word.endswith(ending)), "digits" if word.isdigit() else "none")
    return np.asarray(total / max(norm, 1e-6) + 0.5 * _direction(f"form {form} {bool(nouns)} {bool(adjectives)}"))


@lru_cache(maxsize=200_000)
def _direction(name: str) -> Float64s:
    """A random direction of norm 1 for a name."""
    drawn = np.random.default_rng(int(text_hashes([name])[0])).normal(size=SIZE)
    return np.asarray(drawn / np.linalg.norm(drawn))
