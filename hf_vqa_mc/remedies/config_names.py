"""Names of the configs of remedied benchmarks."""

from hf_vqa_mc.decoys import VARIANTS


def remedied_config(config: str | None, variant: str) -> str | None:
    """The name of a config with new decoys; a benchmark without configs remains without.

    >>> remedied_config("easyvqa_random_uniform", "iou_qou"), remedied_config("rows_v2", "qou")
    ('easyvqa_iou_qou_remedied', 'rows_v2_qou_remedied')
    """
    if config is None:
        return None
    source = config.removesuffix("_remedied")
    known = [f"_{name}" for name in VARIANTS if source.endswith(f"_{name}")]
    return f"{source.removesuffix(max(known, key=len, default=''))}_{variant}_remedied"


def pruned_config(config: str | None) -> str | None:
    """The name of a config with fewer rows; a benchmark without configs remains without."""
    return config and f"{config.removesuffix('_pruned')}_pruned"


def repaired_config(config: str | None) -> str | None:
    """The name of a config with some new decoys; a benchmark without configs remains without."""
    return config and f"{config.removesuffix('_repaired')}_repaired"
