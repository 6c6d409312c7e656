"""How plausible a text is as a choice of a question, learned from the published choices.

Boosted models tell a row's published choices from choices of other rows of the same fold, most of them with similar
questions, as candidates are. Without this floor a repair exchanges people's plausible decoys for absurd ones, which
cheap probes cannot see. Averages of word vectors mix topic and type: "game" is near "remotes", but no answer to "How
many remotes?"; so texts are also embedded by the type of thing that they name, by WordNet.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Float64s, Int32s, Int64s, Ints
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.remedies.cross_fitting import boosted, fitted_rows
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace, in_blocks, row_vectors, similar_rows
from hf_vqa_mc.text.embeddings import EmbeddingFamily, Embeddings, normalised
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.wordnet import load_wordnet

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


class Plausibility:
    """The model of rows as published, cross-fitted over their folds; groups are images, videos or contexts."""

    def __init__(
        self, rows: Rows, groups: Ints, folds: Ints, spaces: Sequence[TextSpace], forms: TextForms, seed: int
    ) -> None:
        types = TextSpace.embedded(EmbeddingFamily("WordNet types", WordTypes().embed), rows)
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
            drawn = [self._random_rows(row[some], rng), *(self._near_rows(row[some], rng) for _ in range(SIMILAR))]
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

    def _random_rows(self, row: Int64s, rng: np.random.Generator) -> Int64s:
        """A random row of each row's fold."""
        drawn = np.zeros_like(row)
        for fold in self._models:
            own = np.flatnonzero(self._folds[row] == fold)
            drawn[own] = rng.choice(np.flatnonzero(self._folds == fold), len(own))
        return drawn

    def _near_rows(self, row: Int64s, rng: np.random.Generator) -> Int64s:
        """A random one of each row's neighbours, MISSING if it has none."""
        near = self._near[row]
        drawn = (rng.random(len(row)) * (near != MISSING).sum(axis=1)).astype(np.int64)
        found: Int64s = near[np.arange(len(row)), drawn]
        return found

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


class WordTypes:
    """Texts as the hypernyms of their words' most frequent senses, and the forms of their words."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts, see `Embeddings`."""
        vectors = np.zeros((len(texts) + 1, SIZE))
        for number, text in enumerate(texts):
            found = words(text)
            for index, word in enumerate(found):
                vectors[number] += _word_vector(word) * (LAST_WORD if index == len(found) - 1 else 1.0)
            if found:
                vectors[number] += _FORM_WEIGHT * _direction(
                    f"first word {found[0][-3:]}" if len(found) > 1 else "one"
                )
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
