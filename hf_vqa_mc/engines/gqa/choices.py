"""The valid and the plausible answers to each question (Hudson and Manning 2019, Sect. 4.4)."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NO, SHORT, YES
from hf_vqa_mc.engines.gqa.question_table import QuestionTable

BOTH = (YES, NO)


class Choices:
    """Answers by scope and by subject, over all questions of the dataset.

    Valid: all answers of the question's global group, or of its detailed type where it has none; for yes or no these,
    and for a choice of two, or a comparison of two, these two. Plausible: what of these is also an answer in its local
    group, which is that of its subject; for yes or no both.
    """

    def __init__(self, table: QuestionTable) -> None:
        self._table = table
        scope = np.where(table.global_group >= 0, table.global_group, -2 - table.detailed.astype(np.int64))
        self._valid = _by_group(scope, table.answer, table.answers)
        self._plausible = _by_group(table.local_group, table.answer, table.answers)
        self._lines: dict[tuple[int, int], str] = {}

    def line(self, place: int, record: Mapping[str, Any], graph: Mapping[str, Any]) -> str:
        """The valid and plausible answers to a question, as json.

        Args:
            place: of the question in the table.
            record: of the question.
            graph: the scene graph's record, for the names of what is compared.
        """
        answer = record["answer"]
        if answer in (YES, NO):
            return _line(BOTH, BOTH)
        group, local = int(self._table.global_group[place]), int(self._table.local_group[place])
        seen = self._plausible[local] if local >= 0 else [answer]
        options = _options(record, graph)
        if answer in options:
            return _line(options, [one for one in options if one in seen or one == answer])
        scope = group if group >= 0 else -2 - int(self._table.detailed[place])
        if local < 0:
            return _line(self._valid[scope], seen)
        if (scope, local) not in self._lines:
            valid = self._valid[scope]
            self._lines[scope, local] = _line(valid, sorted({*seen} & {*valid}))
        return self._lines[scope, local]


def _line(valid: Sequence[str], plausible: Sequence[str]) -> str:
    return json.dumps({"valid": valid, "plausible": plausible})


def _by_group(
    groups: NDArray[np.integer], answer: NDArray[np.integer], answers: Sequence[str]
) -> dict[int, list[str]]:
    keys = np.unique(groups.astype(np.int64) * (len(answers) + 1) + answer)
    pairs = np.stack((keys // (len(answers) + 1), keys % (len(answers) + 1)))
    found: dict[int, list[str]] = defaultdict(list)
    for group, code in pairs.T.tolist():
        found[group].append(answers[code])
    return {group: sorted(listed) for group, listed in found.items()}


def _options(record: Mapping[str, Any], graph: Mapping[str, Any]) -> list[str]:
    """What a question that chooses offers: two values or names, two relations in short, or two objects' names."""
    last = record["semantic"][-1]
    operation, argument = str(last["operation"]), str(last["argument"])
    if operation == "choose rel":  # name,one|other,side (ids)
        one, _, other = argument.partition("|")
        relations = one.rpartition(",")[2], other.partition(",")[0]
        return [SHORT.get(relation, relation) for relation in relations]
    if operation.removeprefix("choose ") in COMPARATIVES:
        compared = dict.fromkeys(record["annotations"]["fullAnswer"].values())
        return [graph["objects"][object_id]["name"] for object_id in compared]
    return argument.split("|") if operation.startswith("choose") else []
