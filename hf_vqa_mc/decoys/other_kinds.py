"""The target, the publisher's decoys, and random decoys as a baseline."""

from hf_vqa_mc.decoys.kind import ChoiceKind, Method

TARGET = ChoiceKind(name="target", label="correct answer", colour="#2f7d4f", dark_colour="#6cc48e")
"""The correct answer, the only choice that is not a decoy."""

ORIGINAL = ChoiceKind(
    name="orig",
    label="original",
    colour="#6b7480",
    dark_colour="#a5aeb9",
    methods=(Method(name="orig", label="original", column="orig_decoys", fallback=False),),
)
"""Published with the source, or generated as VQA's 18 candidates were (``engines.vqa_candidates``)."""

RANDOM_TARGETS = ChoiceKind(
    name="random",
    label="random",
    colour="#9a6b16",
    dark_colour="#dcb060",
    methods=(
        Method(
            name="random_uniform",
            label="random, drawn evenly",
            take="hf_vqa_mc.decoys.random_draws:take_uniform_decoys",
            size="n_random",
        ),
        Method(
            name="random_frequency",
            label="random, drawn by frequency",
            take="hf_vqa_mc.decoys.random_draws:take_frequency_decoys",
            size="n_random",
        ),
    ),
)
"""Neutral, but plausible for neither the image nor the question (Chao et al. 2018, Supplement G)."""
