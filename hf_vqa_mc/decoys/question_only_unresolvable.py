"""QoU decoys: the targets of similar questions (Chao et al. 2018, Sect. 4.1).

The question alone does not tell which of them is correct.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hf_vqa_mc.decoys.kind import ChoiceKind, Method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hf_vqa_mc.decoys.decoy_set import DecoySet
    from hf_vqa_mc.decoys.material import Material


def _take(
    decoys: "DecoySet", pool: "NDArray[np.int64]", material: "Material", progress: Callable[[int], None]
) -> None:
    from hf_vqa_mc.decoys.similar_targets import take_question_decoys

    take_question_decoys(decoys, pool, material, progress)


QUESTION_ONLY_UNRESOLVABLE = ChoiceKind(
    name="qou",
    label="QoU",
    colour="#8a4fb0",
    dark_colour="#c79be6",
    definition="correct answers to similar questions about other images",
    fits="they fit the question",
    card="**QoU**, question only unresolvable: correct answers to *similar questions about other images*. They all "
    "fit the\n  question; one has to look at the image.",
    shortage="too few questions are similar, or their words have no vectors. A pool or other word vectors may help.",
    methods=(Method(name="qou", label="QoU", take=_take, column="qou_decoys", needs_word_vectors=True),),
)
