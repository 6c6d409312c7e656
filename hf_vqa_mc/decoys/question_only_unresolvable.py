"""QoU decoys: targets of similar questions (Chao et al. 2018, Sect. 4.1).

From the question alone one cannot tell which of them is correct.
"""

from hf_vqa_mc.decoys.kind import ChoiceKind, Method

QUESTION_ONLY_UNRESOLVABLE = ChoiceKind(
    name="qou",
    label="QoU",
    colour="#8a4fb0",
    dark_colour="#c79be6",
    definition="correct answers to similar questions about other images",
    caption="answers to similar questions",
    card="**QoU**, question only unresolvable: correct answers to *similar questions about other images*. To "
    "reject\n  them, one has to look at the image.",
    shortage="too few questions are similar, or their words have no vectors. A pool or other word vectors may help.",
    methods=(
        Method(
            name="qou",
            label="QoU",
            take="hf_vqa_mc.decoys.question_only_candidates:take_qou_decoys",
            column="qou_decoys",
            needs_word_vectors=True,
        ),
    ),
)
