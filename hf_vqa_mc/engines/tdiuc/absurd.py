"""Questions about what is not there: Kafle and Kanan 2017, "Generating Questions using Image Annotations".

Asked again of other images are only questions that name nothing but objects whose absence COCO's annotation of the
image can prove: no yes/no question, no counting, no question with a word for something that COCO does not annotate,
and none with a synonym of, or a more general or special word for, something that is there.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence, Set
from itertools import accumulate

from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.engines.tdiuc.objects import objects_asked_of, related
from hf_vqa_mc.engines.tdiuc.question import NO, YES, Question
from hf_vqa_mc.scoring.tdiuc_types import ABSURD, COUNTING

_TRIES = 32
"""Draws from all questions before those that fit an image are listed."""


class AbsurdQuestions:
    """All questions that may be absurd elsewhere, by the objects that must be absent for that."""

    def __init__(self, questions: Iterable[Question]) -> None:
        """questions: the rest of the dataset; each text counts once, however often it is asked."""
        groups: dict[frozenset[str], list[str]] = {}
        texts = {one.question for one in questions if one.question_type not in (ABSURD, COUNTING)}
        texts -= {one.question for one in questions if one.answer in (YES, NO)}
        for text in sorted(texts):
            named = objects_asked_of(text)
            if named is not None:
                groups.setdefault(named.union(*map(related, named)), []).append(text)
        self._objects = sorted(groups, key=sorted)
        self._texts = [groups[one] for one in self._objects]
        self._ends = list(accumulate(map(len, self._texts)))

    def __len__(self) -> int:
        """How many texts."""
        return self._ends[-1] if self._ends else 0

    def for_image(self, provable: frozenset[str], asked: Set[str], how_many: int, rng: Chance) -> list[str]:
        """Questions that are absurd for an image, drawn uniformly from all that are; fewer only if there are no more.

        Args:
            provable: the objects that the image's annotation proves absent.
            asked: texts of the image's own questions, in lower case.
            how_many: questions.
            rng: source of randomness.
        """
        chosen: list[str] = []
        for _ in range(_TRIES if len(self) else 0):
            if len(chosen) == how_many:
                return chosen
            number = rng.below(len(self))
            group = bisect_right(self._ends, number)
            text = self._texts[group][number - self._ends[group]]
            if self._objects[group] <= provable and text not in chosen and text.lower() not in asked:
                chosen.append(text)
        if len(chosen) < how_many:
            fitting = self._fitting(provable, asked, chosen)
            chosen += rng.shuffled(fitting)[: how_many - len(chosen)]
        return chosen

    def _fitting(self, provable: frozenset[str], asked: Set[str], chosen: Sequence[str]) -> list[str]:
        return [
            text
            for objects, texts in zip(self._objects, self._texts, strict=True)
            if objects <= provable
            for text in texts
            if text not in chosen and text.lower() not in asked
        ]
