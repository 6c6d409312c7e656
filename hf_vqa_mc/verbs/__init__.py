"""The verbs: one file each, with its settings, its function and its result; Python and the command line share them.

``hf_vqa_mc.<name>`` is the function ``<name>`` of the module ``verbs.<name>``.
"""

VERBS = (
    "quickstart",
    "build",
    "describe",
    "lint",
    "audit",
    "verify",
    "remedy",
    "evaluate",
    "judge",
    "compare",
    "preview",
    "export",
    "score",
    "features",
    "train",
    "predict",
    "transfer",
    "push",
    "generate_tdiuc",
    "generate_complementary",
    "generate_gqa",
    "study_create",
    "study_serve",
    "study_results",
)
"""The listing; ``vqa-mc -h`` has them in groups, see `cli.PANELS`."""
