"""The processes of a run: one, or those that torchrun or accelerate launch started."""

from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.tracking import get_available_trackers

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
    there = {str(getattr(name, "value", name)) for name in get_available_trackers()}
    for name in track:
        if name not in there:
            raise InputError(f"--track {name}: no such tracker, or its package is not installed; here: {_list(there)}")
    if mixed_precision == "fp16" and not torch.accelerator.is_available():
        raise InputError("--mixed-precision fp16 needs a GPU, and there is none; take bf16 or no")
    if AcceleratorState._shared_state and AcceleratorState().mixed_precision != mixed_precision:
        AcceleratorState._reset_state()  # of an earlier run in this process
    try:
        # On a machine without GPUs it would take each of several processes for the only one.
        return Accelerator(cpu=not torch.accelerator.is_available(), mixed_precision=mixed_precision, **trackers)
    except (ValueError, ImportError) as error:
        raise InputError(f"accelerate: {' '.join(str(error).split())}") from error


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
