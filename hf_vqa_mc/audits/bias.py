"""How far each row can be solved without its image, and whether the probes that say so can be believed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.probed import ALIKE, Probed

BINS = 10


def bias_scores(probes: Sequence[Probed]) -> NDArray[np.float64]:
    """P(target) of each row by those who see question and choices but no image, (rows,), in [0, 1].

    The mean over such probes; where there is none, over those that see the choices alone.

    Raises:
        ValueError: there is neither.
    """
    blind = [one for one in probes if one.shortcut.knows == "question"]
    blind = blind or [one for one in probes if one.shortcut.knows == "choices"]
    if not blind:
        raise ValueError("none of the probes is blind; expected one that knows question or choices")
    mean: NDArray[np.float64] = np.mean([one.chances[:, 0] for one in blind], axis=0)
    return mean


def calibration(chances: NDArray[np.float64]) -> list[dict[str, float]]:
    """How often picks are right that are said to be right with about the same chance.

    Args:
        chances: (rows, places), the target first, 0 where there is no choice.

    Returns:
        For each tenth of [0, 1] with rows: the mean of what was ``said``, the share that is ``right``, and ``rows``.
    """
    said = chances.max(axis=1)
    best = chances >= said[:, None] - ALIKE
    right = best[:, 0] / best.sum(axis=1)
    place = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    rows, sums, rights = (np.bincount(place, weights, BINS) for weights in (None, said, right))
    return [
        {"said": float(sums[bin_] / rows[bin_]), "right": float(rights[bin_] / rows[bin_]), "rows": int(rows[bin_])}
        for bin_ in np.flatnonzero(rows)
    ]
