"""Heuristics without labels: the longest choice, the first one, the most frequent one."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.probe import Context, Prediction, Probe
from hf_vqa_mc.audits.shortcut import Sees
from hf_vqa_mc.audits.similar_choices import likeness, words_in_question

MOST_POSITIONS = 10
"""Number of positions with a heuristic each."""

Values = NDArray[np.float64]


def _position(index: int) -> Probe:
    """Always pick the choice at an index of the published order."""

    def run(context: Context) -> Prediction | None:
        if not context.split.ordered or index >= context.rows.texts.shape[1]:
            return None
        return context.prefer(context.rows.positions == index)

    name = f"choice {chr(ord('A') + index)}"
    return Probe(name, Sees.CHOICES, f"always picks {name}", run)


def _last(context: Context) -> Prediction | None:
    sizes = context.rows.sizes
    if not context.split.ordered or sizes.min() == sizes.max():  # with equal sizes it is one of the positions
        return None
    return context.prefer(context.rows.positions == sizes[:, None] - 1)


def _lengths(context: Context) -> Values:
    """Number of characters of each choice, stripped."""
    texts = pa.array(context.rows.vocabulary.choices, pa.large_string())
    characters = pc.utf8_length(pc.utf8_trim_whitespace(texts)).to_numpy()
    lengths: Values = characters.astype(np.float64)[context.rows.texts]
    return lengths


def _frequencies(context: Context) -> Values:
    """Frequency of each choice in the split."""
    keys = context.rows.keys
    frequencies: Values = np.bincount(keys[context.rows.valid])[keys].astype(np.float64)
    return frequencies


def _likeness(context: Context) -> Values:
    return likeness(context.rows, context.letters)


def _heuristic(
    name: str, sentence: str, values: Callable[[Context], Values], sign: int = 1, sees: Sees = Sees.CHOICES
) -> Probe:
    """Pick the choice with the highest value, or the lowest with ``sign`` -1."""
    return Probe(name, sees, sentence, lambda context: context.prefer(sign * values(context)))


HEURISTICS = (
    *(_position(index) for index in range(MOST_POSITIONS)),
    Probe("last choice", Sees.CHOICES, "always picks the last choice", _last),
    _heuristic("longest choice", "picks the longest choice", _lengths),
    _heuristic("shortest choice", "picks the shortest choice", _lengths, -1),
    _heuristic("most frequent choice", "picks the choice that the benchmark presents most often", _frequencies),
    _heuristic("least frequent choice", "picks the choice that the benchmark presents least often", _frequencies, -1),
    _heuristic("odd one out", "picks the choice spelled least like the others", _likeness, -1),
    _heuristic("most like the others", "picks the choice spelled most like the others", _likeness),
    _heuristic(
        "most words of the question",
        "picks the choice with the largest share of its words in the question",
        lambda context: words_in_question(context.rows),
        sees=Sees.QUESTION,
    ),
)
