"""Random decoys, a baseline: neutral, but plausible for neither the image nor the question.

Chao et al. 2018, Supplement G: (A) drawn uniformly from the unique correct answers, (B) weighted by their frequency.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from hf_vqa_mc.decoys.kind import ChoiceKind, Method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hf_vqa_mc.decoys.decoy_set import DecoySet
    from hf_vqa_mc.decoys.material import Material


def _take(
    decoys: "DecoySet",
    pool: "NDArray[np.int64]",
    material: "Material",
    progress: Callable[[int], None],
    by_frequency: bool,
) -> None:
    from hf_vqa_mc.decoys.random_draws import take_random_decoys

    triplets, candidates = material.triplets, material.candidates
    take_random_decoys(decoys, pool, triplets, candidates, material.settings.seed, by_frequency)


RANDOM_TARGETS = ChoiceKind(
    name="random",
    label="random",
    colour="#9a6b16",
    dark_colour="#dcb060",
    methods=(
        Method(
            name="random_uniform",
            label="random, drawn evenly",
            take=partial(_take, by_frequency=False),
            size="n_random",
        ),
        Method(
            name="random_frequency",
            label="random, drawn by frequency",
            take=partial(_take, by_frequency=True),
            size="n_random",
        ),
    ),
)
