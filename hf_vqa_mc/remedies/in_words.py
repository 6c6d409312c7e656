"""What a remedy did, in sentences: for the terminal, and for the card of what was written."""

from typing import Any

MOSTLY = 0.5
"""Fall-backs of more than this part of the decoys are pointed at."""


def in_words(statistics: dict[str, Any]) -> list[str]:
    """What was changed.

    Args:
        statistics: of `Remedied` or `Pruned`.
    """
    return _pruned(statistics) if "rounds" in statistics else _remedied(statistics)


def _pruned(statistics: dict[str, Any]) -> list[str]:
    last, wanted = statistics["rounds"][-1], f"{100 * statistics['to_gain']:g}"
    reached = "" if statistics["reached"] else f" More than the {wanted} asked for, but no more are left out."
    return [
        f"{statistics['rows']:,} of {statistics['published']:,} rows are kept; those left out gave most away. Of "
        f"these the strongest blind probe gains {100 * last['gain']:+.1f} points.{reached}"
    ]


def _remedied(statistics: dict[str, Any]) -> list[str]:
    sizes = " or ".join(statistics["choices"])
    before = " or ".join(statistics["choices_before"])
    told = [f"Choices are the target and {_KINDS[statistics['variant']]}: {sizes} a row, where there were {before}."]
    for name, found in statistics["decoys"].items():
        kind = _NAMES.get(name, name)
        rest = f"; {found['missing']:,} are missing" if found["missing"] else ""
        told.append(
            f"{kind}: {found['found']:,} of {found['wanted']:,} decoys are of this kind, {found['fallbacks']:,} stand "
            f"in for others that could not be found{rest}."
        )
        if found["fallbacks"] > MOSTLY * found["wanted"]:
            told.append(f"So most {kind} decoys are none: {_REMEDIES.get(name, '')}")
    donors = statistics["donors"]
    if donors["given"]:
        told.append(
            f"Donors: {donors['given']:,} answers about {donors['images_in_common']:,} of the benchmark's images; "
            f"{donors['decoys_from_them']:,} decoys are theirs."
        )
        if not donors["images_in_common"]:
            told.append(
                "Images are matched by their ids or file names; pictures inside a file go by their content, and match "
                "such pictures alone."
            )
    if statistics["rows_left_as_published"]:
        told.append(f"{statistics['rows_left_as_published']:,} rows keep their published choices: no decoy was found.")
    return told


_NAMES = {"iou": "IoU", "qou": "QoU", "orig": "published"}
_KINDS = {
    "iou": "IoU decoys",
    "qou": "QoU decoys",
    "iou_qou": "IoU and QoU decoys",
    "all": "published, IoU and QoU decoys",
}
_REMEDIES = {
    "iou": "its images have too few questions. Donors about them (a pool, captions, scene graphs) may help.",
    "qou": "too few questions are similar, or their words have no vectors. A pool or other word vectors may help.",
}
