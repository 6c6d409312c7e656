"""Original decoys: published with the source, or made as VQA's 18 candidates were (``engines.vqa_candidates``)."""

from hf_vqa_mc.decoys.kind import ChoiceKind, Method

ORIGINAL = ChoiceKind(
    name="orig",
    label="original",
    colour="#6b7480",
    dark_colour="#a5aeb9",
    methods=(Method(name="orig", label="original", column="orig_decoys", fallback=False),),
)
