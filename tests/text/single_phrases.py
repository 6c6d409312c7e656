"""Wu-Palmer similarity of two words or phrases, by the kernels of the package."""

import numpy as np

from hf_vqa_mc.text.wu_palmer import directed_score, phrase_score, word_scores


def wup(word, other):
    """Eq. 3."""
    tokens, scores = _numbered([word], [other])
    return float(directed_score(tokens, 0, 1, 1, 2, scores))


def phrase_wup(phrase, other):
    """Eq. 4."""
    tokens, scores = _numbered(phrase, other)
    return float(phrase_score(tokens, 0, len(phrase), len(phrase), len(tokens), scores))


def _numbered(phrase, other):
    numbers = {word: number for number, word in enumerate(dict.fromkeys([*phrase, *other]))}
    return np.array([numbers[word] for word in (*phrase, *other)], np.int32), word_scores(list(numbers), 0.0)
