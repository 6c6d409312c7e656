"""Which texts may replace a decoy: filters against texts that may be correct as well, each with a named reason."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import lru_cache

import numpy as np
from nltk.stem.porter import PorterStemmer

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.decoys.candidates import (
    ACCEPTED,
    MISSING,
    Bools,
    Candidates,
    Int32s,
    Ints,
    NumberedTexts,
    reason_against,
    without_fillers,
)
from hf_vqa_mc.decoys.candidates import Reason as DecoyReason
from hf_vqa_mc.remedies.plausibility import of_shared_type
from hf_vqa_mc.remedies.row_features import TextSpace
from hf_vqa_mc.text.normalisation import comparable
from hf_vqa_mc.text.relations import Relations, exclusive, related

WUP_THRESHOLD = 0.9  # Chao et al. 2018, Sect. 4.1
MOST_SIMILAR = 0.75
"""Largest cosine with the target in any embedding, unless both are different numbers, colours or animals."""
NEARER = 0.05
"""Cosine by which a new decoy may exceed the largest of the row's published decoys with the target, likewise."""
UNBALANCED = 0.01
"""Targets above or below their share among the texts that occur twice, per row, from which such texts are refused."""
NEAR_DUPLICATE = 0.9  # largest cosine with another decoy of the row, likewise


class Refusal(StrEnum):
    """Why a text does not replace a decoy."""

    IN_ROW = "already a choice of the row"
    POPULAR = "would be a decoy too often for how often it is a target"
    SIMILAR = "embedding near that of the target, or nearer than those of the published decoys"
    DUPLICATE = "embedding near that of another decoy"
    IMPLAUSIBLE = "less plausible than four fifths of the published choices"
    CONTAINED = "contains another choice, or is contained in it"
    WUP = "WordNet similarity 0.9 or more to another choice"
    RELATED = "synonym, hypernym or hyponym of another choice"
    ANSWER = "given by an annotator, or means the same as such an answer"
    QUESTION = "words of the question"
    SHARED = "shares a word with the target that neither the question nor the other decoys have"
    KIND = "not of the type (number, colour, animal, WordNet type) that the target shares with most decoys"
    VERDICT = "rejected by a verdict"


_OF_DECOYS = {
    DecoyReason.SAME_TEXT: Refusal.IN_ROW,
    DecoyReason.CONTAINS: Refusal.CONTAINED,
    DecoyReason.WUP_TARGET: Refusal.WUP,
    DecoyReason.WUP_TAKEN: Refusal.WUP,
    DecoyReason.RELATED: Refusal.RELATED,
}


class ReplacementFilters:
    """The filters over the vocabulary of some rows, which holds all candidates.

    Annotators' ``answers`` and ``rejected`` texts are (rows,), or empty.
    """

    def __init__(
        self,
        rows: Rows,
        spaces: Sequence[TextSpace],
        answers: Sequence[Collection[str]] = (),
        rejected: Sequence[Collection[str]] = (),
    ) -> None:
        words = rows.vocabulary
        self._rows, self._spaces, self._answers, self._rejected = rows, spaces, answers, rejected
        numbered = NumberedTexts(words.choices, words.keys, words.key_texts, True)
        self._tables = Candidates.of(numbered, WUP_THRESHOLD, True, all_pairs=True).tables
        self._content = [tuple(text.split()) for text in without_fillers(words.key_texts)]
        self._words = [tuple(text.split()) for text in words.key_texts]
        self._asked = [frozenset(map(_stem, comparable(question).split())) for question in words.questions]
        self._digits = np.array([any(sign.isdigit() for sign in text) for text in words.choices])
        distinct = dict.fromkeys(word for content in self._content for word in content)
        distinct |= dict.fromkeys(word for given in answers for one in given for word in comparable(one).split())
        self._numbers = {word: number for number, word in enumerate(distinct)}
        self._relations = Relations.of(list(distinct))

    def near_target(self, text: Ints, choices: Int32s) -> Bools:
        """Whether each text is too similar to the target, the first of a row's published choices."""
        target, decoys = choices[:1], choices[1:][choices[1:] != MISSING]
        published = [float((space.texts[decoys] @ space.texts[target[0]]).max()) for space in self._spaces]
        return self._near(text, target, [min(MOST_SIMILAR, most + NEARER) for most in published])

    def near_duplicate(self, text: Ints, others: Int32s) -> Bools:
        """Whether each text is too similar to any of the other decoys."""
        return self._near(text, others[others != MISSING], [NEAR_DUPLICATE] * len(self._spaces))

    def _near(self, text: Ints, others: Int32s, most: Sequence[float]) -> Bools:
        """Whether each text has a larger cosine than ``most`` (of each embedding) with any of the others."""
        near = np.zeros((len(text), len(others)), np.bool_)
        for space, limit in zip(self._spaces, most, strict=True):
            near |= space.texts[text] @ space.texts[others].T > limit
        for one, other in np.argwhere(near).tolist():
            near[one, other] = not self._exclusive(int(text[one]), int(others[other]))
        return np.asarray(near.any(axis=1))

    def _exclusive(self, text: int, other: int) -> bool:
        """Whether two texts are different numbers, colours or animals."""
        key, other_key = (int(self._rows.vocabulary.keys[one]) for one in (text, other))
        return exclusive(key, other_key, self._tables.relations) or bool(self._digits[text] and self._digits[other])

    def refusal(self, row: int, column: int, text: int, choices: Ints) -> Refusal | None:
        """Why a text may not replace the choice in a column of the row's choices, the target first; None if it may.

        It must differ from the decoy that it replaces, too.
        """
        vocabulary = self._rows.vocabulary
        key, keys = int(vocabulary.keys[text]), vocabulary.keys[choices].astype(np.int32)
        reason = reason_against(key, int(keys[0]), keys[1:].copy(), len(keys) - 1, True, self._tables)
        if reason != ACCEPTED:
            return _OF_DECOYS[DecoyReason(reason)]
        kinds = self._tables.relations.kinds[keys]
        if kinds[0] >= 0 and (kinds == kinds[0]).all() and self._tables.relations.kinds[key] != kinds[0]:
            return Refusal.KIND
        content = self._content[key]
        target, *kept = (self._words[other] for other in np.delete(keys, column).tolist())
        if not of_shared_type(self._words[key], target, kept):
            return Refusal.KIND
        asked = self._asked[self._rows.questions[row]]
        if content and {_stem(word) for word in content} <= asked:
            return Refusal.QUESTION
        known = asked.union(*map(_content_stems, kept))
        if (_content_stems(self._words[key]) & _content_stems(target)) - known:
            return Refusal.SHARED
        if any(self._same_meaning(content, self._content[other]) for other in keys.tolist()):
            return Refusal.RELATED
        key_text = vocabulary.key_texts[key]
        for answer in self._answers[row] if len(self._answers) else ():
            form = comparable(answer)
            if form == key_text or self._same_meaning(content, tuple(form.split())):
                return Refusal.ANSWER
        if len(self._rejected) and key_text in map(comparable, self._rejected[row]):
            return Refusal.VERDICT
        return None

    def _same_meaning(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Whether each word of the shorter text is, or is related in WordNet to, a word of the longer one."""
        few, many = sorted((one, other), key=len)
        return bool(few) and all(any(self._related(word, partner) for partner in many) for word in few)

    @lru_cache(maxsize=1_000_000)  # noqa: B019  the filters live as long as one repair
    def _related(self, word: str, other: str) -> bool:
        if _stem(word) == _stem(other):
            return True
        one, two = self._numbers.get(word), self._numbers.get(other)
        if one is None or two is None:
            return False
        return bool(related(one, two, self._relations)) and not exclusive(one, two, self._relations)


@lru_cache(maxsize=1_000_000)
def _content_stems(words: tuple[str, ...]) -> frozenset[str]:
    """The stems of the words that are no function words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(_stem(word) for word in words if word not in ENGLISH_STOP_WORDS)


@lru_cache(maxsize=1_000_000)
def _stem(word: str) -> str:
    """The stem of a word (Porter 1980), so that "running" and "runs" are the same; ordinals are their numbers."""
    stem: str = PorterStemmer().stem(_ORDINALS.get(word, word))
    return stem


_ORDINALS = {
    f"{number}{'th' if number in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}": word
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        1,
    )
}
"""Ordinals in digits, as "19th" for "nineteenth"."""


class TextCounts:
    """How often each text is a decoy and a target of some rows.

    Counts of texts reveal the target where frequent texts are targets too often or too seldom. A text that
    occurs often must have its share of targets itself; of the texts that occur twice, all together.
    """

    def __init__(self, rows: Rows) -> None:
        self._keys, size = rows.vocabulary.keys, len(rows.vocabulary.key_texts)
        self._targets = np.bincount(rows.keys[:, 0], minlength=size)
        self._decoys = np.bincount(rows.keys[rows.valid], minlength=size) - self._targets
        self._per_target = max(float(np.median(rows.sizes)) - 1, 1.0)
        self._most_surplus = UNBALANCED * len(rows)
        twice = self._targets + self._decoys == 2
        self._surplus = float(self._targets[twice].sum() - 2 * twice.sum() / (self._per_target + 1))

    def may_add(self, text: Ints) -> Bools:
        """Whether each text may become a decoy once more."""
        targets, decoys = self._targets[self._keys[text]], self._decoys[self._keys[text]]
        below, above = self._surplus < self._most_surplus, self._surplus > -self._most_surplus
        own_share = decoys < np.maximum(self._per_target * targets, 1)
        return np.where(targets + decoys == 1, np.where(targets > 0, below, above), own_share)

    def move(self, old: int, new: int) -> None:
        """Count a replacement."""
        for text, change in ((old, -1), (new, 1)):
            key = self._keys[text]
            for sign, added in ((-1, change), (1, 0)):  # targets above their share, if the text occurs twice
                targets, decoys = int(self._targets[key]), int(self._decoys[key])
                if targets + decoys == 2:
                    self._surplus += sign * (targets - 2 / (self._per_target + 1))
                self._decoys[key] += added
