"""The processes of a run: one, or those that torchrun or accelerate launch started."""

from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from hf_vqa_mc.errors import InputError


def accelerator(
    mixed_precision: str = "no", track: tuple[str, ...] = (), tracked_in: Path | None = None
) -> Accelerator:
    """What knows of the devices and of the other processes.

    Args:
        mixed_precision: no, bf16 or fp16.
        track: names of trackers.
        tracked_in: the folder that they may write to.

    Raises:
        InputError: accelerate has no such precision here, or no such tracker.
    """
    trackers: dict[str, Any] = {"log_with": list(track), "project_dir": tracked_in} if track else {}
    try:
        # On a machine without GPUs it would take each of several processes for the only one.
        return Accelerator(cpu=not torch.accelerator.is_available(), mixed_precision=mixed_precision, **trackers)
    except (ValueError, ImportError) as error:
        raise InputError(f"accelerate: {' '.join(str(error).split())}") from error
