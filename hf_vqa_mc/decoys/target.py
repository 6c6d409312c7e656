"""The correct answer, the one choice that is no decoy."""

from hf_vqa_mc.decoys.kind import ChoiceKind

TARGET = ChoiceKind(name="target", label="correct answer", colour="#2f7d4f", dark_colour="#6cc48e")
