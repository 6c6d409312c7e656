"""Commonly used names of a benchmark's columns, and runs of columns such as A, B, C, D."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from hf_vqa_mc.errors import InputError, shown

_KNOWN = yaml.safe_load(Path(__file__).with_name("column_names.yaml").read_text("utf-8"))


def known_names(of: str) -> tuple[str, ...]:
    """The names in ``column_names.yaml`` under a key."""
    return tuple(_KNOWN[of].split())


QUESTION, CHOICES, LABEL, ANSWERS = map(known_names, ("question", "choices", "label", "answers"))
CAPTION, FOILS = known_names("caption"), known_names("foils")
DECOYS = (*known_names("decoys"), *FOILS)
IMAGE, IMAGE_PATH, IMAGE_ID, VIDEO = map(known_names, ("image", "image_path", "image_id", "video"))
QUESTION_ID, QUESTION_TYPE = known_names("question_id"), known_names("question_type")
ROW_NUMBER = "(row number)"  # column that checks add: the number of each row in all splits; messages leave it out
MAX_NAME_LENGTH = 60  # longer column names are shortened in messages

_SEPARATOR = r"[\s_.#/-]*"
_LETTERED = re.compile(rf"(?i:(option|choice|opt|op|answer|ans|candidate){_SEPARATOR})?([A-Z]|[a-z])")
_NUMBERED = re.compile(
    rf"(?i)(options?|choices?|opt?|ending|sol|(?:mc_)?answer|ans|candidate|a){_SEPARATOR}(\d{{1,2}})"
)
_DECOY = re.compile(rf"(?i)((?:distractor|decoy|wrong|incorrect|false|negative|foil)"
                    rf"(?:[\s_-]*(?:answer|choice|option))?){_SEPARATOR}(\d{{1,2}})")  # fmt: skip
_PICTURE = re.compile(r"(?i)(image|img)[\s_.-]*(\d{1,2})")


def named(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """The columns with known names, in the order of these; case and punctuation are ignored.

    A column within another, such as ``question.stem``, is known by either name.

    >>> named(["Answer", "correct_choice_idx", "hint"], LABEL)
    ['correct_choice_idx', 'Answer']
    """
    ranks = {name: rank for rank, name in enumerate(known)}
    found = {}
    for name in names:
        keys = [re.sub(r"[^a-z0-9]", "", text.lower()) for text in (name, name.rpartition(".")[2])]
        found[name] = min((2 * ranks[key] + at for at, key in enumerate(keys) if key in ranks), default=None)
    return sorted((name for name, rank in found.items() if rank is not None), key=lambda name: found[name] or 0)


def choice_columns(names: Sequence[str]) -> list[list[str]]:
    """Runs of columns with one choice each, such as A, B, C, D or option1, option2.

    >>> choice_columns(["index", "A", "B", "C", "question"])
    [['A', 'B', 'C']]
    >>> choice_columns(["ending1", "ending0", "a"])
    [['ending0', 'ending1']]
    """
    return [*_runs(names, _LETTERED, letters=True), *_runs(names, _NUMBERED)]


def decoy_columns(names: Sequence[str]) -> list[list[str]]:
    """Runs of one or more columns with one decoy each, such as distractor1, distractor2, distractor3."""
    return _runs(names, _DECOY, least=1)


def picture_columns(names: Sequence[str]) -> list[str]:
    """The run image_1, image_2 and so on, if there is one."""
    return next(iter(_runs(names, _PICTURE, least=1)), [])


def next_name(last: str, more: int) -> str:
    """The name of the column ``more`` positions after the last of a run; raises InputError if no letters are left.

    >>> next_name("D", 1), next_name("option_b", 2), next_name("choice9", 1)
    ('E', 'option_d', 'choice10')
    """
    digits = re.search(r"\d+$", last)
    if digits:
        return f"{last[: digits.start()]}{int(digits[0]) + more:0{len(digits[0])}d}"
    letter = chr(ord(last[-1]) + more)
    if not letter.isascii() or not letter.isalpha() or letter.isupper() != last[-1].isupper():
        raise InputError(f"no letter is left for a column {more} after {last!r}; use fewer choices per row")
    return last[:-1] + letter


def columns_in_words(names: Sequence[str]) -> str:
    """Column names for messages; a run by its first and last.

    >>> columns_in_words(["alt1", "alt2", "alt3"]), columns_in_words(["A", "C", "D"])
    ('alt1 to alt3', 'A, C and D')
    """
    shortened = [name if name.isprintable() and len(name) <= MAX_NAME_LENGTH else shown(name) for name in names]
    run = list[str]()
    with contextlib.suppress(InputError, IndexError):  # no letters are left, or an empty name
        run = [next_name(names[0], more) for more in range(len(names))]
    if len(names) > 2 and run == [*names]:
        return f"{shortened[0]} to {shortened[-1]}"
    return " and ".join([*([", ".join(shortened[:-1])] if shortened[1:] else []), *shortened[-1:]])


def _runs(names: Sequence[str], pattern: re.Pattern[str], *, letters: bool = False, least: int = 2) -> list[list[str]]:
    """Columns whose names differ only in a letter or number that increases from 0, 1 or A; a letter may be missing."""
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        parent, _, inner = name.rpartition(".")
        found = pattern.fullmatch(name.lstrip()) or pattern.fullmatch(inner)
        if pattern is _NUMBERED and named([parent], CHOICES):
            found = found or re.fullmatch(r"()(\d{1,2})", inner)
        if found:
            end = found[2]
            stem = name[: len(name) - len(end)] + (("A" if end.isupper() else "a") if letters else "")
            stems.setdefault(stem, {})[ord(end.upper()) - ord("A") if letters else int(end)] = name
    runs = []
    for stem, indices in stems.items():
        first = 0 if 0 in indices else 1
        last, run = first - 1, list[str]()
        for index in sorted(indices):
            if last < index <= last + (2 if letters and run else 1) and not (letters and first):
                run.append(indices[index])
                last = index
        parent, _, inner = stem.rpartition(".")
        others = {name for name in names if parent and name.startswith(f"{parent}.")} - set(run)
        if len(run) >= least and (not (others and inner) or parent not in names or named([parent], CHOICES)):
            runs.append(run)
    return sorted(runs, key=len, reverse=True)
