"""A run's learning curve as a picture."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import MissingExtra
from hf_vqa_mc.io.atomic_file import replaced_file


def draw_curve(record: Mapping[str, Any], chance: float | None, path: Path) -> None:
    """Draw training loss, validation accuracy, ``chance`` and drops of the learning rate to a PNG file.

    Args:
        record: content of training.json.
        chance: accuracy of random guessing; None if unknown.
        path: of the picture.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "report") from None
    figure = Figure(figsize=(7, 6), layout="constrained")
    figure.suptitle(f"{record['model']} on {record['config']}")
    above, below = figure.subplots(2, sharex=True)
    curve = record["curve"]
    epochs = [point["epoch"] for point in curve]
    above.plot(epochs, [100 * point["accuracy"] for point in curve], marker=".", label="validation")
    if chance is not None:
        above.axhline(100 * chance, linestyle=":", color="gray", label="chance")
    below.plot(epochs, [point["loss"] for point in curve], marker=".", color="tab:red")
    above.set_ylabel("accuracy in %")
    above.legend(loc="lower right")
    below.ticklabel_format(axis="y", style="plain", useOffset=False)
    below.set_ylabel("training loss")
    below.set_xlabel("epoch (dashed: learning rate drop)")
    for before, after in pairwise(curve):
        if after["learning_rate"] < before["learning_rate"]:
            for axes in (above, below):
                axes.axvline(before["epoch"], linestyle="--", color="lightgray", zorder=0)
    with replaced_file(path) as file:
        figure.savefig(file, format="png", dpi=120, metadata={"Software": None})
