"""The verbs: settings, function and, unless ``report`` has it, result; Python and the command line share them.

``hf_vqa_mc.<name>`` is the function ``<name>`` of the module ``verbs.<name>``; those of groups, such as
``generate_gqa``, share the module ``verbs.generate``.
"""

PANELS = {
    "Your benchmark": ("audit", "lint", "describe", "remedy", "survey", "verify", "preview", "score", "export"),
    "Models": ("evaluate", "compare", "features", "train", "predict", "transfer"),
    "The papers' datasets": ("quickstart", "build", "generate_tdiuc", "generate_complementary", "generate_gqa"),
    "Check by people or a model": ("study_create", "study_serve", "study_results", "judge"),
    "Sharing": ("push",),
}
"""The listing, in the groups of ``vqa-mc -h``."""
VERBS = tuple(name for names in PANELS.values() for name in names)
