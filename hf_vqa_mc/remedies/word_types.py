"""What type of thing a text names, by WordNet: a family of embeddings for plausibility.

Averages of word vectors mix topic and type: "game" is near "remotes", but no answer to "How many remotes?".
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

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


@lru_cache(maxsize=200_000)
def _word_vector(word: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The sum of the directions of a word's types, with norm 1 for its senses and for its form."""
    wordnet = load_wordnet()
    nouns, adjectives = wordnet.nouns.senses(word), wordnet.adjectives.senses(word)
    types = []
    if nouns:
        start, end = wordnet.ancestor_starts[nouns[0] : nouns[0] + 2]
        ancestors = wordnet.ancestors[start:end]
        types = [one for one in ancestors.tolist() if LEAST_DEPTH <= wordnet.min_depths[one] <= MOST_DEPTH]
    if adjectives:
        types += [adjectives[0], *wordnet.similar[slice(*wordnet.similar_starts[adjectives[0] : adjectives[0] + 2])]]
    total = np.sum([_direction(f"synset {one}") for one in types], axis=0) if types else np.zeros(SIZE)
    norm = float(np.linalg.norm(total))
    form = next((ending for ending in _ENDINGS if word.endswith(ending)), "digits" if word.isdigit() else "none")
    parts = f"{form} {bool(nouns)} {bool(adjectives)}"
    found = total / max(norm, 1e-6) + 0.5 * _direction(f"form {parts}")
    return found


@lru_cache(maxsize=200_000)
def _direction(name: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """A random direction of norm 1 for a name."""
    drawn = np.random.default_rng(int(text_hashes([name])[0])).normal(size=SIZE)
    return np.asarray(drawn / np.linalg.norm(drawn))
