"""The files that official programs and evaluation servers read and write."""

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic_file import check_folder, check_place, write_json
from hf_vqa_mc.metrics.asked import DESCRIPTIONS, Asked
from hf_vqa_mc.metrics.prediction_files import bare_name

if TYPE_CHECKING:
    from hf_vqa_mc.metrics.score import Scored

TASKS = {"Open-Ended": "OpenEnded", "Multiple-Choice": "MultipleChoice"}
"""A header's task_type, and the same in the names of files."""
SUBSETS = {"train": "train2014", "validation": "val2014"}
"""VQA's data_subtype of the splits of its multiple-choice variants."""
DIGITS = 2
"""The official program rounds percentages to so many."""


LONGEST_NAME = 100
"""of a model or a subset in the names of files, in bytes; file systems take 255 in all"""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_NAMED = re.compile(r"(mscoco|abstract_v002)_((?:train|val|test|test-dev)20\d\d)")


def write_official(folder: Path, scored: "Scored", name: str | None = None, taken: Iterable[Path] = ()) -> list[Path]:
    """Write the predictions as the official programs read them and, for VQA, its scores as the official one does.

    Args:
        folder: made if there is none.
        scored: of VQA, TDIUC or GQA questions.
        name: what the files call the model; by default as the predictions file is called, without its endings.
        taken: files that must stay as they are, beside those that were read.

    Returns:
        The files, each of which appears whole or not at all.

    Raises:
        InputError: there is no official format, or the folder cannot be made.
        OSError: the disk is full or closed to us.
    """
    files = official_files(scored, name)
    check_folder(folder, "--official")
    paths = {folder / file: value for file, value in files.items()}
    for path in paths:
        check_place(path, "--official: its file", [*scored.inputs, *taken])
    is_new = not folder.exists()
    try:
        for path, value in paths.items():
            write_json(path, value)
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # as when it is not empty
                folder.rmdir()
        raise
    return list(paths)


def check_has_official(asked: Asked) -> None:
    """Nothing, if an official program reads predictions for these questions.

    Raises:
        InputError: none does.
    """
    if asked.kind == "multiple_choice" and not asked.by_consensus:
        raise InputError(f"--official: {DESCRIPTIONS[asked.kind]} with one right answer have no official files")


def official_files(scored: "Scored", name: str | None = None) -> dict[str, Any]:
    """Names of files and what goes into them.

    Raises:
        InputError: there is no official format for these questions.
    """
    asked = scored.asked
    check_has_official(asked)
    model = _in_names(name or bare_name(scored.predictions))
    ids: list[str | int] = asked.ids
    if asked.kind != "gqa" and "config" in asked.about:  # VQA and TDIUC number theirs; ids in our rows are text
        ids = [int(one) if _NUMBER.fullmatch(str(one)) else one for one in ids]
    answered = [(one, text) for one, text in zip(ids, scored.joined.texts(), strict=True)]
    if asked.kind == "gqa":
        kept = [{"questionId": one, "prediction": text} for one, text in answered if text is not None]
        return {f"{model}_predictions.json": kept}
    results = [{"question_id": one, "answer": text} for one, text in answered]
    if asked.kind == "tdiuc":
        return {f"{model}_predictions.json": results}
    stem = f"vqa_{_task(scored)}_{_subset(asked)}_{model}"
    files: dict[str, Any] = {f"{stem}_results.json": results}
    if "vqa_accuracy" in scored.results:
        evaluated = _evaluation(asked, ids, scored.results["vqa_accuracy"]["per_question"])
        files |= {f"{stem}_{kind}.json": value for kind, value in evaluated.items()}
    return files


def _evaluation(asked: Asked, ids: list[str | int], scores: list[float]) -> dict[str, Any]:
    """Overall, each type's and each question's accuracy in percent."""
    percents = {str(one): round(100 * score, DIGITS) for one, score in zip(ids, scores, strict=True)}
    by_type: dict[str, dict[str, dict[str, float]]] = {}
    means: dict[str, dict[str, float]] = {}
    for kind, types in (("QuesType", asked.question_types), ("AnsType", asked.answer_types)):
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(types or []):
            rows.setdefault(name, []).append(row)
        by_type[kind] = {name: {str(ids[row]): percents[str(ids[row])] for row in of} for name, of in rows.items()}
        means[kind] = {name: _percent([scores[row] for row in of]) for name, of in rows.items()}
    return {
        "accuracy": {
            "overall": _percent(scores),
            "perQuestionType": means["QuesType"],
            "perAnswerType": means["AnsType"],
        },
        "evalQA": percents,
        "evalQuesType": by_type["QuesType"],
        "evalAnsType": by_type["AnsType"],
    }


def _percent(scores: list[float]) -> float:
    return round(100 * sum(scores) / len(scores), DIGITS)


def _in_names(text: str) -> str:
    """What of a text may stand in the name of a file."""
    plain = re.sub(r"[^\w.-]+", "-", text)
    if len(plain.encode()) > LONGEST_NAME:
        raise InputError(f"--official: {plain[:30]!r}... is too long for a file's name; shorten it, or give --name")
    return plain


def _task(scored: "Scored") -> str:
    known = TASKS.get(scored.asked.about.get("task_type", ""))
    return known or ("MultipleChoice" if scored.joined.choices else "OpenEnded")


def _subset(asked: Asked) -> str:
    """Such as ``mscoco_val2014``; of a file that does not say it inside what its name says, else the name."""
    about, file = asked.about, bare_name(Path(asked.place))
    if "data_subtype" in about:
        return _in_names(f"{about.get('data_type', 'mscoco')}_{about['data_subtype']}")
    if about.get("split") in SUBSETS:
        return f"mscoco_{SUBSETS[about['split']]}"
    named = _NAMED.search(file)
    return named[0] if named else f"mscoco_{re.sub(r'[^A-Za-z0-9]+', '', file)}"
