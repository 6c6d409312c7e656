"""Which texts may replace a decoy: filters with named reasons, and how plausible a text is as a choice of a question.

Boosted models tell a row's published choices from choices of other rows of the same fold, most of them with similar
questions, as candidates are. Without this floor a repair exchanges people's plausible decoys for absurd ones, which
cheap probes cannot see. Averages of word vectors mix topic and type: "game" is near "remotes", but no answer to "How
many remotes?"; so texts are also embedded by the type of thing that they name, by WordNet.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from nltk.stem.porter import PorterStemmer
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.decoys.candidates import (
    ACCEPTED,
    MISSING,
    Bools,
    Float32s,
    Float64s,
    Int32s,
    Int64s,
    Ints,
    NumberedTexts,
    filter_tables,
    reason_against,
    without_fillers,
)
from hf_vqa_mc.decoys.candidates import Reason as DecoyReason
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.remedies.fought_probes import boosted, fitted_rows
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace, in_blocks, row_vectors, similar_rows
from hf_vqa_mc.text.embeddings import EmbeddingFamily, Embeddings, normalised
from hf_vqa_mc.text.normalisation import comparable, words
from hf_vqa_mc.text.relations import Relations, exclusive, related
from hf_vqa_mc.text.wordnet import load_wordnet

WUP_THRESHOLD = 0.9  # Chao et al. 2018, Sect. 4.1
MOST_SIMILAR = 0.75
"""Largest cosine with the target in any embedding, unless both are different numbers, colours or animals."""
NEARER = 0.05
"""Cosine by which a new decoy may exceed the largest of the row's published decoys with the target, likewise."""
UNBALANCED = 0.01
"""Targets above or below their share among the texts that occur twice, per row, from which such texts are refused."""
NEAR_DUPLICATE = 0.9  # largest cosine with another decoy of the row, likewise
NEIGHBOURS = 20  # similar questions whose choices a candidate is compared with
SIMILAR = 2  # choices of rows with similar questions, besides one of a random other row, for each published choice
MODELS = 2  # models with other negatives, whose log odds are averaged
TREES, RATE, LEAVES = 75, 0.2, 15  # boosting: see `boosted`; twice the trees at half the rate are no more accurate
_LARGEST = 5  # nearest choices of similar questions whose mean cosine is a feature
SIZE = 128  # dimensions of the random projection of hypernyms and word forms
LAST_WORD = 2.0  # weight of the last word, mostly the head of a phrase, relative to the others
LEAST_DEPTH, MOST_DEPTH = 2, 8
"""WordNet depths of the hypernyms that are types: less deep ones fit anything, deeper ones are single things."""
MOST_HYPONYMS = 11_000  # synsets with more hyponyms (object, whole, organism) are no types; artifacts and persons are
SENSES = 2  # senses of a word whose types count; rare ones, such as "dog" for an andiron, make anything similar
BROADER = 10  # A shared type has at most this many times the hyponyms of the narrowest that the choices share
_FORM_WEIGHT = 2.0
_ENDINGS = ("ing", "ed", "ly", "s")


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
        self._rows, self._spaces = rows, spaces
        self._answers, self._rejected = answers or [()] * len(rows), rejected or [()] * len(rows)
        numbered = NumberedTexts(words.choices, words.keys, words.key_texts, True)
        self._tables = filter_tables(numbered, WUP_THRESHOLD, True, all_pairs=True)
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
        keys = self._rows.vocabulary.keys
        for one, other in np.argwhere(near).tolist():  # but for different numbers, colours or animals
            key, other_key = int(keys[text[one]]), int(keys[others[other]])
            apart = exclusive(key, other_key, self._tables.relations)
            near[one, other] = not (apart or (self._digits[text[one]] and self._digits[others[other]]))
        return np.asarray(near.any(axis=1))

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
        for answer in self._answers[row]:
            form = comparable(answer)
            if form == key_text or self._same_meaning(content, tuple(form.split())):
                return Refusal.ANSWER
        return Refusal.VERDICT if key_text in map(comparable, self._rejected[row]) else None

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


class Plausibility:
    """The model of rows as published, cross-fitted over their folds; groups are images, videos or contexts."""

    def __init__(
        self, rows: Rows, groups: Ints, folds: Ints, spaces: Sequence[TextSpace], forms: TextForms, seed: int
    ) -> None:
        types = TextSpace.embedded(EmbeddingFamily("WordNet types", _word_types), rows)
        self._rows, self._spaces, self._forms, self._folds = rows, [*spaces, types], forms, folds
        self._keys = np.append(rows.vocabulary.keys, MISSING)
        self._near = np.full((len(rows), NEIGHBOURS), MISSING, np.int64)
        self._models: dict[int, list[Any]] = {fold: [] for fold in np.unique(folds).tolist()}
        """fold to models of the other folds"""
        questions = row_vectors(spaces, rows)
        for fold in self._models:
            own = np.flatnonzero(folds == fold)
            near = similar_rows(questions, groups, own, own, NEIGHBOURS)[0]
            self._near[own, : near.shape[1]] = near
        row, column = rows.valid.nonzero()
        text = rows.texts[row, column]
        features = self._columns(row, column, text, rows.texts)
        self._fit(row, column, text, features, np.random.default_rng([seed, 1]))
        self.published = np.full(rows.texts.shape, np.nan)
        """(rows, choices): log odds of the published choices, NaN for padding"""
        self.published[row, column] = self._odds(row, features)

    def of(self, row: Ints, column: Ints, text: Ints, texts: Int32s) -> Float64s:
        """Log odds that each text is a published choice of its row, in a column of the current ``texts``."""
        return self._odds(row, self._columns(row, column, text, texts))

    def _odds(self, row: Ints, features: Float32s) -> Float64s:
        """The mean log odds by the models that have not seen a text's row."""
        found = np.zeros(len(row))
        for fold, models in self._models.items():
            some = np.flatnonzero(self._folds[row] == fold)
            if len(some):
                found[some] = np.mean([model.decision_function(features[some]) for model in models], axis=0)
        return found

    def _fit(self, row: Int64s, column: Int64s, text: Int32s, features: Float32s, rng: np.random.Generator) -> None:
        """Fit all models; folds share the choices of other rows, which are of a row's own fold."""
        some = np.flatnonzero(np.isin(row, fitted_rows(self._folds, MISSING, rng)))
        own = self._folds[row]
        for _ in range(MODELS):
            drawn, near = [np.zeros(len(some), np.int64)], self._near[row[some]]
            for fold in self._models:  # a random row of the fold
                of_fold = np.flatnonzero(own[some] == fold)
                drawn[0][of_fold] = rng.choice(np.flatnonzero(self._folds == fold), len(of_fold))
            for _ in range(SIMILAR):  # a random one of the row's neighbours, MISSING if it has none
                chance = rng.random(len(some)) * (near != MISSING).sum(axis=1)
                drawn.append(near[np.arange(len(some)), chance.astype(np.int64)])
            chosen = [(rng.random(len(one)) * self._rows.sizes[one]).astype(np.int64) for one in drawn]
            of_drawn = zip(drawn, chosen, strict=True)  # a random choice of each row
            texts = np.stack([np.where(one == MISSING, MISSING, self._rows.texts[one, at]) for one, at in of_drawn], 1)
            at, copy = ((texts != MISSING) & (texts != text[some, None])).nonzero()
            index = some[at]
            others = self._columns(row[index], column[index], texts[at, copy], self._rows.texts)
            for fold, models in self._models.items():
                positive, negative = features[some[own[some] != fold]], others[own[index] != fold]
                is_published = np.arange(len(positive) + len(negative)) < len(positive)
                models.append(boosted(np.concatenate([positive, negative]), is_published, TREES, RATE, LEAVES, 0))

    def _columns(self, row: Ints, column: Ints, text: Ints, texts: Int32s) -> Float32s:
        def block(some: Int64s) -> Float32s:
            others = texts[row[some]].copy()
            others[np.arange(len(some)), column[some]] = MISSING
            return self._features(row[some], text[some], others)

        found: Float32s = in_blocks(block, len(row), 2048)
        return found

    def _features(self, row: Ints, text: Ints, others: Int32s) -> Float32s:
        near = self._near[row]
        of_similar = np.where((near == MISSING)[:, :, None], MISSING, self._rows.texts[near]).reshape(len(row), -1)
        valid = (of_similar != MISSING) & (self._keys[of_similar] != self._keys[text][:, None])
        asked = self._rows.questions[row]
        first = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        runs = list(zip(first.tolist(), np.append(first[1:], len(row)).tolist(), strict=True))
        columns: list[NDArray[np.floating]] = []
        for space in self._spaces:
            vector = space.texts[text]
            columns.append(np.einsum("rd,rd->r", vector, space.questions[asked]))
            columns += _summary(np.einsum("rcd,rd->rc", space.texts[others], vector), others != MISSING, 1)
            cosines = np.zeros(of_similar.shape, np.float32)
            for start, end in runs:  # one product for all texts of a row
                cosines[start:end] = vector[start:end] @ space.texts[of_similar[start]].T
            columns += _summary(np.round(cosines, 5), valid, _LARGEST)
            columns += [*space.text_axes[text].T, *space.question_axes[asked].T]
        together = np.concatenate([text[:, None], others], axis=1).astype(np.int32)
        return np.column_stack([*columns, self._forms.columns(together, asked, True)[:, 0]]).astype(np.float32)


def _summary(cosines: NDArray[np.floating], valid: Bools, largest: int) -> list[NDArray[np.floating]]:
    """Mean, smallest, largest and mean of the ``largest`` largest of the valid cosines of each row; 0 without any."""
    any_valid = valid.any(axis=1)
    mean = np.where(valid, cosines, 0).sum(axis=1) / np.maximum(valid.sum(axis=1), 1)
    low = np.where(any_valid, np.where(valid, cosines, 2).min(axis=1), 0)
    known = np.where(valid, cosines, -1)
    top = np.partition(known, -largest, axis=1)[:, -largest:] if known.shape[1] > largest else known
    return [mean, low, np.where(any_valid, top.max(axis=1), 0), np.where(any_valid, np.sort(top).mean(axis=1), 0)]


def _word_types(texts: Sequence[str]) -> Embeddings:
    """Texts as the hypernyms of their words' most frequent senses, and the forms of their words."""
    vectors = np.zeros((len(texts) + 1, SIZE))
    for number, text in enumerate(texts):
        found = words(text)
        for index, word in enumerate(found):
            vectors[number] += _word_vector(word) * (LAST_WORD if index == len(found) - 1 else 1.0)
        if found:
            form = f"first word {found[0][-3:]}" if len(found) > 1 else "one"
            vectors[number] += _FORM_WEIGHT * _direction(form)
    return normalised(vectors)


def of_shared_type(text: Sequence[str], target: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether a text is of the form and the type of thing that the target shares with most of the others, if it does.

    The form is that of the first word, such as "to" or "-ing"; the type is a hypernym of a noun phrase's last word.
    """
    form, least = _form(target), len(others) / 2
    if form and others and sum(_form(other) == form for other in others) >= least and _form(text) != form:
        return False
    types, sizes = Counter(one for other in others for one in _noun_types(other)), _hyponyms()
    shared = {one: int(sizes[one]) for one in _noun_types(target) if types[one] >= max(least, 1)}
    most = BROADER * min(shared.values(), default=0)
    return not shared or any(shared.get(one, most + 1) <= most for one in _noun_types(text))


def _noun_types(text: Sequence[str]) -> frozenset[int]:
    return frozenset() if not text or _form(text) else _types_of_senses(text[-1])


@lru_cache(maxsize=200_000)
def _types_of_senses(word: str) -> frozenset[int]:
    """The hypernyms of a word's most frequent senses as a noun that are not too general."""
    wordnet, sizes = load_wordnet(), _hyponyms()
    starts = wordnet.ancestor_starts
    senses = wordnet.nouns.senses(word)[:SENSES]
    above = np.concatenate([[], *(wordnet.ancestors[starts[one] : starts[one + 1]] for one in senses)]).astype(int)
    return frozenset(above[sizes[above] <= MOST_HYPONYMS].tolist())


def _form(text: Sequence[str]) -> str:
    first = text[0] if text else ""
    return first if first == "to" else "ing" if first.endswith("ing") else "digits" if first.isdigit() else ""


@lru_cache
def _hyponyms() -> Int64s:
    """The number of hyponyms of each synset, itself included."""
    wordnet = load_wordnet()
    return np.bincount(wordnet.ancestors, minlength=len(wordnet.min_depths))


@lru_cache(maxsize=200_000)
def _word_vector(word: str) -> Float64s:
    """The sum of the directions of a word's types, with norm 1 for its senses and for its form."""
    wordnet = load_wordnet()
    nouns, adjectives = wordnet.nouns.senses(word), wordnet.adjectives.senses(word)
    types = []
    if nouns:
        above = wordnet.ancestors[slice(*wordnet.ancestor_starts[nouns[0] : nouns[0] + 2])]
        depths = wordnet.min_depths[above]
        types = above[(depths >= LEAST_DEPTH) & (depths <= MOST_DEPTH)].tolist()
    if adjectives:
        types += [adjectives[0], *wordnet.similar[slice(*wordnet.similar_starts[adjectives[0] : adjectives[0] + 2])]]
    total = np.sum([_direction(f"synset {one}") for one in types], axis=0) if types else np.zeros(SIZE)
    norm = float(np.linalg.norm(total))
    form = next((ending for ending in _ENDINGS if word.endswith(ending)), "digits" if word.isdigit() else "none")
    return np.asarray(total / max(norm, 1e-6) + 0.5 * _direction(f"form {form} {bool(nouns)} {bool(adjectives)}"))


@lru_cache(maxsize=200_000)
def _direction(name: str) -> Float64s:
    """A random direction of norm 1 for a name."""
    drawn = np.random.default_rng(int(text_hashes([name])[0])).normal(size=SIZE)
    return np.asarray(drawn / np.linalg.norm(drawn))
