"""What a checkpoint reaches, as its card's tables."""

from typing import Any

from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.hub.markdown import plain, table

HELD_OUT = "held_out"
"""Names the training images on which the checkpoint was chosen where no split does."""


def kind_label(name: str) -> str:
    """The adjective of a kind of choices; its name where it is not one of ours."""
    return CHOICE_KINDS[name].label if name in CHOICE_KINDS and name != TARGET.name else name


def results(measured: list[tuple[str, Any]]) -> str:
    """Accuracies.

    Args:
        measured: (split, its figures), the training data's first.
    """
    rows = [
        [
            plain(called(split)),
            percent(figures["accuracy"]),
            f"± {100 * figures['stderr']:.2f}%" if "stderr" in figures else "",
            percent(figures["chance"]) if "chance" in figures else "",
            f"{figures['questions']:,}" if "questions" in figures else "",
        ]
        for split, figures in reversed(measured)
    ]
    return table(["split", "accuracy", "standard error", "chance", "questions"], rows) if rows else ""


def decoys(split: str, figures: dict[str, Any]) -> str:
    """What is picked of each kind, and of which kinds the wrong answers are."""
    chosen, offered = figures.get("chosen_kinds", {}), figures.get("offered_kinds", {})
    if not chosen:
        return ""
    rows = [
        [plain(kind_label(kind)), percent(share), percent(offered[kind]) if kind in offered else ""]
        for kind, share in chosen.items()
    ]
    wrong = {kind: share for kind, share in chosen.items() if kind != TARGET.name and share > 0}
    told = ", ".join(
        f"{percent(share / sum(wrong.values()))} are {plain(kind_label(kind))} decoys"
        for kind, share in sorted(wrong.items(), key=lambda item: -item[1])
    )
    said = f"On {split}, of its wrong answers {told}." if told else f"On {split}, none."
    return "\n\n".join([said, table(["kind of choice", "picked", "picked at random"], rows)])


def question_types(split: str, figures: dict[str, Any]) -> str:
    """Accuracies by type of question."""
    rows = [[plain(kind), percent(share)] for kind, share in figures.get("per_question_type", {}).items()]
    return table(["type", f"accuracy on {split}"], rows) if rows else ""


def called(split: str) -> str:
    """A split, or what was held out of one, in words.

    >>> called("held_out")
    'training images held out'
    """
    return "training images held out" if split == HELD_OUT else split


def percent(share: float) -> str:
    """A share as text.

    >>> percent(0.5253)
    '52.5%'
    """
    return f"{100 * share:.1f}%"
