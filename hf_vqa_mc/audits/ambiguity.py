"""Possibly correct decoys, estimated from texts and annotators' answers."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows, Vocabulary
from hf_vqa_mc.audits.similar_choices import MOST_WORDS
from hf_vqa_mc.audits.texts import official_texts
from hf_vqa_mc.audits.texts import pairs as number_pairs
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.many_texts import squeezed_texts, texts_of
from hf_vqa_mc.text.normalisation import unaccented
from hf_vqa_mc.text.relations import Relations, exclusive, related
from hf_vqa_mc.text.similarity import WordScores, phrase_score, word_scores
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.text.wu_palmer import reading

WUP_THRESHOLD = 0.9  # Chao et al. 2018, Sect. 4.1: decoys at or above it are rejected
NEAR = 0.8  # minimum cosine of average word vectors
_AT_A_TIME = 100_000  # words looked up, and pairs whose vectors are compared, at a time, which limits memory

Numbers = NDArray[np.int32]
Starts = NDArray[np.int64]
Mask = NDArray[np.bool_]

SAME, NAMED, WUP, GENERAL, VECTORS = REASONS = (
    "same after normalisation",
    "named by an annotator",
    f"WordNet similarity {WUP_THRESHOLD} or more",
    "the same, a more general or more special word",
    "near in word vectors",
)


def possibly_correct(rows: Rows, answers: pa.Array, vectors: WordVectors | None) -> dict[str, Mask]:
    """Find possibly correct decoys by five heuristics; a decoy may have several reasons.

    - SAME: the official VQA evaluation normalises target and decoy to the same answer, or they differ in spaces,
      hyphens and accents only.
    - NAMED: it normalises the decoy to an answer of an annotator.
    - WUP: the phrase similarity of target and decoy (Chao et al. 2018, eq. 4), of their first MOST_WORDS words, is at
      least WUP_THRESHOLD (for example, cap and hat), and they do not exclude one another as two numbers do.
    - GENERAL: one of them, in any sense, is the most frequent sense of the other in WordNet, a hypernym (dog, animal)
      or an adjective of its cluster (cloudless, clear).
    - VECTORS: the cosine of their average word vectors is at least NEAR; only with vectors.

    Returns reason to mask (rows, choices), False for targets and padding; ``answers`` (rows,) are the annotators',
    lists of texts.
    """
    decoys = rows.valid & (np.arange(rows.valid.shape[1]) > 0)
    pairs = np.broadcast_to(rows.keys[:, :1], decoys.shape)[decoys], rows.keys[decoys]
    similar, general = np.zeros((2, len(pairs[0])), np.bool_)
    worded, relations = rows.vocabulary.worded, Relations.of(rows.vocabulary.key_texts)
    scores = word_scores(worded.vocabulary, WUP_THRESHOLD)
    _compare(*pairs, worded.numbers, worded.starts, scores, relations, similar, general)
    same, named = _official(rows, answers)
    letters = squeezed_texts(list(map(unaccented, rows.vocabulary.key_texts))).dictionary_encode().indices.to_numpy()
    equal = same[decoys] | (letters[pairs[0]] == letters[pairs[1]])
    found = {SAME: equal, NAMED: named[decoys], WUP: similar, GENERAL: general}
    if vectors is not None:
        found[VECTORS] = _near(*pairs, rows.vocabulary, vectors)
    masks = {reason: np.zeros(decoys.shape, np.bool_) for reason in found}
    for reason, flags in found.items():
        masks[reason][decoys] = flags
    return {reason: mask if reason == NAMED else mask & ~rows.different for reason, mask in masks.items()}


def _official(rows: Rows, answers: pa.Array) -> tuple[Mask, Mask]:
    """Masks of choices that the official evaluation treats as the target, and as an annotator's answer."""
    of_rows = answers.flatten().dictionary_encode()
    choices = pa.array(rows.vocabulary.choices, pa.large_string())
    plain = official_texts(pa.concat_arrays([choices, of_rows.dictionary.cast(pa.large_string())]))
    numbers = plain.dictionary_encode().indices.to_numpy()
    by_choice = np.where(rows.valid, numbers[rows.texts], MISSING)
    answered = numbers[len(choices) :][of_rows.indices.to_numpy()] if len(of_rows) else np.zeros(0, np.int32)
    of_answers = np.repeat(np.arange(len(rows)), answers.value_lengths().to_numpy())
    named = np.isin(number_pairs(np.arange(len(rows))[:, None], by_choice), number_pairs(of_answers, answered))
    return (by_choice == by_choice[:, :1]) & rows.valid, named & rows.valid


@reading
def _compare(
    targets: Numbers,
    others: Numbers,
    tokens: Numbers,
    token_starts: Starts,
    scores: WordScores,
    relations: Relations,
    similar: Mask,
    general: Mask,
) -> None:
    """Set ``similar`` unless two texts exclude one another, and ``general``."""
    for pair in range(len(targets)):
        start, end = token_starts[targets[pair]], token_starts[targets[pair] + 1]
        other, other_end = token_starts[others[pair]], token_starts[others[pair] + 1]
        if targets[pair] == others[pair]:
            similar[pair] = True
            continue
        general[pair] = related(targets[pair], others[pair], relations)
        if end > start and other_end > other and not exclusive(targets[pair], others[pair], relations):
            end, other_end = min(end, start + MOST_WORDS), min(other_end, other + MOST_WORDS)
            similar[pair] = phrase_score(tokens, start, end, other, other_end, scores) >= WUP_THRESHOLD


def _near(targets: Numbers, others: Numbers, vocabulary: Vocabulary, vectors: WordVectors) -> Mask:
    """(pairs,): whether the cosine of two texts' average word vectors is at least NEAR; False without vectors."""
    words, near = vocabulary.worded.words, np.zeros(len(targets), np.bool_)
    has, parts = [np.zeros(0, np.bool_)], [np.zeros((0, vectors.dim), np.float32)]
    for first in range(0, len(words), _AT_A_TIME):
        found, known = vectors.rows(texts_of(words.slice(first, _AT_A_TIME)))
        has.append(known)
        parts.append(found[known])
    matrix, table = vocabulary.worded.matrix[:, np.flatnonzero(np.concatenate(has))], np.concatenate(parts)
    for first in range(0, len(targets), _AT_A_TIME):
        some = slice(first, first + _AT_A_TIME)
        keys, number = np.unique(np.stack([targets[some], others[some]]), return_inverse=True)
        sums = matrix[keys] @ table.astype(np.float64)
        target, other = sums[number.reshape(2, -1)]
        lengths = np.linalg.norm(target, axis=1) * np.linalg.norm(other, axis=1)
        near[some] = (lengths > 0) & (np.einsum("pd,pd->p", target, other) >= NEAR * lengths)
    return near
