"""All that a fast probe is given, by what it may know."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.choice_features import Columns, beside_others, own_columns, question_columns
from hf_vqa_mc.audits.cross_fitted import NOWHERE, Contexts, CrossFitted
from hf_vqa_mc.audits.dealt import Dealt
from hf_vqa_mc.audits.image_clusters import image_signs
from hf_vqa_mc.audits.parts import Part
from hf_vqa_mc.audits.shortcut import Knows
from hf_vqa_mc.audits.text_crosses import ImageSigns, TextCrosses

FIRST_WORDS = 8
"""Of a question, by which choices are counted one after the other; then by the whole question."""
SEEN_IN = 2
"""A sparse column counts if it differs from 0 at so many of the choices that are learnt from."""


class ProbeFeatures:
    """The columns of all rows of an audit; what needs no labels is made once.

    Args:
        dealt: all rows, those asked and those learnt from.
        placed: whether the order of the choices is the benchmark's own.
        vectors: of the images, float32 (rows, numbers).
        seed: of the images' clusters.
        least: a text that was offered less often counts as never seen.
    """

    def __init__(
        self, dealt: Dealt, placed: bool, vectors: NDArray[np.float32] | None, seed: int, least: int = 0
    ) -> None:
        self.dealt = dealt
        self._least = least
        self._placed, self._vectors, self._seed = placed, vectors, seed
        self._crosses: dict[Knows, TextCrosses] = {}
        sizes = dealt.sizes
        self._starts = np.cumsum(sizes) - sizes

    def of(self, knows: Knows, part: Part, *, sparse: bool) -> tuple[Any, Any]:
        """The columns of rows that are learnt from and of rows that are asked.

        Args:
            knows: what the probe may know.
            part: says which these are.
            sparse: with the words' columns; all are then scaled for a linear model.

        Returns:
            Two arrays float32 (choices, columns), or sparse matrices.
        """
        counted = self._counted(knows, part)
        plain = self._plain(knows)
        both = []
        for rows, of_rows in zip((part.learn, part.asked), counted, strict=True):
            choices = self._choices(rows)
            dense = np.column_stack([*(column[choices] for column in plain.values()), *of_rows.values()])
            # Sums of the same numbers in another order differ in their last digits; trees would split there.
            both.append(np.round(dense.astype(np.float64), 6).astype(np.float32))
        return self._with_words(knows, both, part) if sparse else (both[0], both[1])

    def _with_words(self, knows: Knows, dense: list[NDArray[np.float32]], part: Part) -> tuple[Any, Any]:
        from scipy import sparse

        of_rows = self.dealt.take(part.learn)
        row = of_rows.there.nonzero()[0]
        means = np.column_stack([np.bincount(row, column) for column in dense[0].T]) / of_rows.sizes[:, None]
        spread = np.sqrt(np.mean((dense[0] - means[row]) ** 2, axis=0))
        kept = spread > 1e-6  # what all choices of a row share says nothing to a linear model
        if knows not in self._crosses:
            with_question, with_image = knows in ("question", "everything"), knows in ("image", "everything")
            image = self._image if with_image else None
            self._crosses[knows] = TextCrosses(self.dealt, with_question, self._placed, image)
        found = [self._crosses[knows].matrix(rows) for rows in (part.learn, part.asked)]
        often = np.flatnonzero(np.bincount(found[0].indices, minlength=found[0].shape[1]) >= SEEN_IN)
        learnt, told = (
            sparse.hstack([sparse.csr_matrix(one[:, kept] / spread[kept]), words[:, often]], format="csr")
            for one, words in zip(dense, found, strict=True)
        )
        return learnt, told

    def _choices(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the choices of some rows."""
        sizes = self.dealt.sizes[rows]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        numbers: NDArray[np.int64] = np.repeat(self._starts[rows], sizes) + within
        return numbers

    def _plain(self, knows: Knows) -> Columns:
        return self._own | (self._with_question if knows in ("question", "everything") else {})

    @cached_property
    def _own(self) -> Columns:
        return own_columns(self.dealt, self._placed)

    @cached_property
    def _with_question(self) -> Columns:
        return question_columns(self.dealt)

    @cached_property
    def _image(self) -> ImageSigns:
        if self._vectors is None:
            raise ValueError("no image vectors were given")
        return image_signs(self._vectors, self._seed)

    def _counted(self, knows: Knows, part: Part) -> tuple[Columns, Columns]:
        """What is counted from labels, of the rows that are learnt from and of those asked."""
        counts = CrossFitted(self.dealt.take(part.counted), part.inner, self.dealt.take(part.asked), self._least)
        kept = np.repeat(np.isin(np.arange(len(part.counted)), part.chosen), counts.learn.sizes)
        named: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {"seen": counts.evidence()}
        for name, contexts in self._contexts(knows).items():
            levels = [(context[part.counted], context[part.asked]) for context in contexts]
            steps = list(counts.ladder(levels))
            named["prior"] = steps[0]
            if contexts:
                named |= {f"prior by {name}": steps[-1], f"prior by {name}, roughly": steps[len(steps) // 2]}
        found: tuple[Columns, Columns] = ({}, {})
        sides = (self.dealt.take(part.learn), counts.asked)
        for name, (learnt, asked) in named.items():
            for side, columns, values in zip(sides, found, (learnt[kept], asked), strict=True):
                columns[name] = values.astype(np.float32)
                columns |= beside_others(name, columns[name], side)
        return found

    def _contexts(self, knows: Knows) -> dict[str, list[Contexts]]:
        """By what the choices of all rows are counted, from the widest to the narrowest."""
        if knows == "choices":
            return {"choice": []}
        question = self._beginnings() if knows != "image" else []
        image = list(self._image.clusters.T) if knows != "question" else []
        both = [_joint(one, other) for one in question[:2] for other in image]
        named = {"question": question, "image": image, "question and image": both}
        return {name: contexts for name, contexts in named.items() if contexts}

    def _beginnings(self) -> list[Contexts]:
        beginnings = self.dealt.vocabulary.beginnings[:, :FIRST_WORDS]
        return [*beginnings[self.dealt.questions].T, self.dealt.questions]


def _joint(one: Contexts, other: Contexts) -> Contexts:
    """What is counted where both are the same."""
    both = one.astype(np.int64) * (int(other.max(initial=0)) + 1) + other
    return np.where((one == NOWHERE) | (other == NOWHERE), NOWHERE, both)
