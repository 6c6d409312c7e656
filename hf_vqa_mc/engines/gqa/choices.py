"""The valid and the plausible answers to each question (Hudson and Manning 2019, Sect. 4.4)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.question_table import QuestionTable

BOTH = json.dumps([YES, NO])
SIDES = 2


class Choices:
    """Answers by scope and by subject, over all questions of the dataset.

    Valid: all answers of the question's global group, or of its detailed type where it has none; for yes or no these,
    and for a choice of two these two. Plausible: what is also an answer in its local group, which is that of its
    subject; for yes or no both.
    """

    def __init__(self, table: QuestionTable) -> None:
        self._table = table
        scope = np.where(table.global_group >= 0, table.global_group, -2 - table.detailed.astype(np.int64))
        self._valid = _by_group(scope, table.answer, table.answers)
        self._plausible = _by_group(table.local_group, table.answer, table.answers)
        self._texts: dict[tuple[str, int], str] = {}

    def line(self, place: int, record: dict[str, Any]) -> str:
        """The valid and plausible answers to a question, as json.

        Args:
            place: of the question in the table.
            record: of the question.
        """
        answer = record["answer"]
        if answer in (YES, NO):
            return _line(BOTH, BOTH)
        group, local = int(self._table.global_group[place]), int(self._table.local_group[place])
        scope = group if group >= 0 else -2 - int(self._table.detailed[place])
        seen = self._plausible[local] if local >= 0 else [answer]
        options = _options(record)
        if answer in options:
            return _line(json.dumps(options), json.dumps([one for one in options if one in seen or one == answer]))
        return _line(self._text("valid", scope, self._valid[scope]), self._text("plausible", local, seen))

    def _text(self, what: str, group: int, answers: Iterable[str]) -> str:
        """A list of answers as json, made once; what has no local group has only its own answer."""
        if group == -1:
            return json.dumps(list(answers))
        key = (what, group)
        if key not in self._texts:
            self._texts[key] = json.dumps(list(answers))
        return self._texts[key]


def _line(valid: str, plausible: str) -> str:
    return f'{{"valid": {valid}, "plausible": {plausible}}}'


def _by_group(
    groups: NDArray[np.integer], answer: NDArray[np.integer], answers: Sequence[str]
) -> dict[int, list[str]]:
    keys = np.unique(groups.astype(np.int64) * (len(answers) + 1) + answer)
    pairs = np.stack((keys // (len(answers) + 1), keys % (len(answers) + 1)))
    found: dict[int, list[str]] = defaultdict(list)
    for group, code in pairs.T.tolist():
        found[group].append(answers[code])
    return {group: sorted(listed) for group, listed in found.items()}


def _options(record: dict[str, Any]) -> list[str]:
    """What a choose question offers."""
    last = record["semantic"][-1]
    parts = str(last["argument"]).split("|") if str(last["operation"]).startswith("choose") else []
    return parts if len(parts) == SIDES else []
