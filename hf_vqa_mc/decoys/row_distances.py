"""How well two rows' questions tell whose answer is whose, where answers are too rare to learn P(answer | question).

Untrained cosines of static text embeddings find the answer that is about the same things as the question. For two rows
with questions q1, q2 and answers a1, a2 they gain (q1 - q2) . (a1 - a2): nothing if this product is near 0 or the
questions are near one another.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hf_vqa_mc.decoys.candidates import Float32s, Int32s, Int64s, Ints
from hf_vqa_mc.decoys.plausible_answers import TYPED_WORDS, answer_types, numbered_beginnings
from hf_vqa_mc.decoys.set_rows import COORDINATES

RARE = 2  # mean number of rows per distinct answer below which P(answer | question) cannot be learned
ADVANTAGE, OTHER_TYPE, OTHER_BEGINNING = 6.0, 3.0, 3.0
"""Standard deviations of question distance that count as much as one of the gain, as an answer of another type, and as
another beginning of the question. Chosen on A-OKVQA at a coverage of 0.9 by the cosine of wordllama (31.1%, 27.5% by
assignment) and the share of implausible decoys (23%); 4, 4 and 4: 32.8%, 31.0% and 22%."""
WORDS = 2  # first words of questions that begin alike
SCALE = 20.0  # distances per log odds. In sets with a few rows their leak is then nearly linear in the distances
SAMPLED = 1_000  # rows from which standard deviations are estimated


class _Family(NamedTuple):
    """Embeddings with rows of norm 1, and the standard deviations of what is computed from them."""

    questions: Float32s  # (distinct questions, dimensions)
    answers: Float32s  # (keys, dimensions)
    gain: float = 1.0
    distance: float = 1.0


class RowDistances:
    """Distances of pairs of rows, as log odds of one's answer for the other's question, by families of embeddings."""

    is_calibrated = False

    def __init__(
        self, questions: pa.Array, keys: Ints, key_texts: list[str], embed: Sequence[Callable[[list[str]], Float32s]]
    ) -> None:
        encoded = questions.dictionary_encode()
        self._question, self._key = encoded.indices.to_numpy(), keys
        beginnings = numbered_beginnings(questions, {WORDS, TYPED_WORDS})
        self._beginning = beginnings[WORDS]
        self._type = answer_types(key_texts, keys, beginnings[TYPED_WORDS])[keys]
        texts = encoded.dictionary.to_pylist()
        sample = np.arange(0, len(keys), -(-len(keys) // SAMPLED))[None]
        self._families: list[_Family] = []
        for one in embed:
            family = _Family(one(texts), one(key_texts))
            gain, distance = (max(values.std(), 1e-6) for values in self._compared(family, sample))
            self._families.append(family._replace(gain=gain, distance=distance))

    def coordinates(self) -> Float32s:
        """Principal components of the questions' embeddings, float32 (rows, at most COORDINATES)."""
        vectors = np.concatenate([one.questions for one in self._families], axis=1) / len(self._families) ** 0.5
        centred = vectors - vectors[self._question].mean(axis=0)
        axes = np.linalg.eigh(centred.T @ centred)[1][:, -COORDINATES:]
        found: Float32s = (centred @ axes)[self._question]
        return found

    def of_group(self, rows: Int64s, targets: Int32s) -> tuple[Float32s, Int64s]:
        """See `Propensities.of_group`; every row's answer is one of its own."""
        return self.of_sets(rows[None], targets)[0], np.arange(len(rows))

    def of_sets(self, sets: Int64s, targets: Int32s) -> Float32s:
        """See `Propensities.of_sets`."""
        total = np.zeros((*sets.shape, sets.shape[1]), np.float32)
        for one in self._families:
            gain, distance = self._compared(one, sets)
            total += (ADVANTAGE * np.abs(gain) / one.gain + distance / one.distance) / len(self._families)
        for column, weight in ((self._type, OTHER_TYPE), (self._beginning, OTHER_BEGINNING)):
            total += np.float32(weight) * (column[sets][:, :, None] != column[sets][:, None])
        total /= -SCALE
        return total

    def _compared(self, family: _Family, sets: Int64s) -> tuple[Float32s, Float32s]:
        """The gain of a cosine from each pair of rows of some sets, and the distance of their questions."""
        questions, answers = family.questions[self._question[sets]], family.answers[self._key[sets]]
        scores = questions @ answers.swapaxes(1, 2)
        own = np.einsum("sii->si", scores)[:, :, None]
        gain = own - scores
        return gain + gain.swapaxes(1, 2), 1 - questions @ questions.swapaxes(1, 2)
