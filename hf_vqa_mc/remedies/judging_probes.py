"""Selection probes and report probes, which judge a repair: other learners, text forms and folds than it fights.

Selection probes stop the loop and choose the strategy. Report probes are run once, on the rows before and after, when
the choice is frozen; every table shows these alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs, picked
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Ints
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.cross_fitting import (
    FOLDS,
    RowNumbers,
    Scores,
    conditional_logit,
    cross_fitted,
    group_folds,
    in_blocks,
    sparse_columns,
)
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace, pair_columns, relation_columns, texts_and_questions
from hf_vqa_mc.text.embeddings import normalised

LSA_SIZE = 48
"""Dimensions of latent semantic analysis."""
FOREST, LARGE_FOREST, EXTRA_TREES = (100, 8, 0.5), (100, 20, 0.15), (50, 8, 0.5)
"""n_estimators, min_samples_leaf and max_samples. On NExT-QA (20,000 choices), the values of `FOREST` find 0.1 points
more in three times the time; on A-OKVQA (4,000), those of `LARGE_FOREST` find 2 to 3 points less."""
LARGE = 10_000
"""Choices from which on a forest is large."""
HASHED = 2**17
"""Columns of hashed word pairs."""
HIDDEN, EPOCHS, BATCH, RATE, DECAY, DROPOUT = 32, 8, 64, 2e-3, 1e-2, 0.3
"""Network: hidden units, epochs, rows per step, learning rate and weight decay of AdamW, dropout of its inputs."""
SMOOTHING = 2.0
"""Presentations added to each word in naive Bayes."""
_SELECTION_SEED, _REPORT_SEED = 101, 202


@dataclass(frozen=True, eq=False)
class JudgingInputs:
    """Rows and what probes read of them; rows of one vocabulary share ``forms`` and spaces."""

    rows: Rows
    folds: NDArray[np.int8]
    forms: TextForms
    spaces: Sequence[TextSpace]
    """the static embeddings, for probes that learn from all of their dimensions"""
    seed: int
    counted: tuple[Rows, ...]
    """rows whose texts latent semantic analysis counts: these before and after a remedy, without other candidates"""

    @cached_property
    def characters(self) -> TextSpace:
        """Latent semantic analysis of character n-grams."""
        return _lsa(self.counted, "char_wb", (2, 4))

    @cached_property
    def words(self) -> TextSpace:
        """Latent semantic analysis of words."""
        return _lsa(self.counted, "word", (1, 1))


@dataclass(frozen=True)
class JudgingProbe:
    """The declaration of a probe."""

    name: str
    sees: ProbeInputs
    scores: Callable[[JudgingInputs], Scores] = field(repr=False)
    trained: bool = True
    uses: str = ""
    """what a trained probe learns from"""


@lru_cache(maxsize=4)
def _lsa(counted: tuple[Rows, ...], analyzer: str, lengths: tuple[int, int]) -> TextSpace:
    """The texts of some rows; other texts of their vocabulary are zero."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    vocabulary = counted[0].vocabulary
    used, asked = texts_and_questions(counted)
    texts = [vocabulary.choices[one].lower() for one in used] + [vocabulary.questions[one].lower() for one in asked]
    pattern = {"token_pattern": r"(?u)\b\w+\b"} if analyzer == "word" else {}
    vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=lengths, min_df=2, sublinear_tf=True, **pattern)
    try:
        counts = vectorizer.fit_transform(texts)
        size = min(LSA_SIZE, counts.shape[1] - 1)
    except ValueError:  # no term occurs in two texts
        size = 0
    if size:
        vectors = normalised(TruncatedSVD(size, random_state=0).fit_transform(counts))
    else:
        vectors = np.zeros((len(texts), 1), np.float32)
    choices, questions = (
        np.zeros((size + 1, vectors.shape[1]), np.float32)
        for size in (len(vocabulary.choices), len(vocabulary.questions))
    )
    choices[used], questions[asked] = vectors[: len(used)], vectors[len(used) :]
    return TextSpace.of(f"{analyzer} LSA", choices, questions, counted)


def _forest(space: str, extra: bool, question: bool) -> Callable[[JudgingInputs], Scores]:
    """A forest on the relations of the choices in one space."""

    def run(judged: JudgingInputs) -> Scores:
        from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

        rows = judged.rows

        def block(some: RowNumbers) -> Float32s:
            texts, asked = rows.texts[some], rows.questions[some]
            related = relation_columns(getattr(judged, space), texts, asked, question)
            return np.concatenate([related, judged.forms.columns(texts, asked, question)], axis=2)

        columns = in_blocks(block, len(rows))
        targets = _is_target(rows)

        def fit(train: RowNumbers, seed: int) -> Callable[[RowNumbers], Scores]:
            kind = ExtraTreesClassifier if extra else RandomForestClassifier
            valid = rows.valid[train]
            large = LARGE_FOREST if valid.sum() >= LARGE else FOREST
            trees, leaf, share = EXTRA_TREES if extra else large
            forest = kind(
                trees,
                min_samples_leaf=leaf,
                max_features="sqrt",
                bootstrap=True,
                max_samples=share,
                random_state=seed,
                n_jobs=-1,
            )
            forest.fit(columns[train][valid], targets[train][valid])

            def score(test: RowNumbers) -> Scores:
                valid = rows.valid[test]
                scores = np.zeros(valid.shape)
                scores[valid] = np.round(forest.predict_proba(columns[test][valid])[:, 1], 9)
                return scores

            return score

        return cross_fitted(judged.rows, judged.folds, fit, judged.seed)

    return run


def _is_target(rows: Rows) -> Bools:
    return np.broadcast_to(np.arange(rows.texts.shape[1]) == 0, rows.texts.shape)


def _choices_of(some: RowNumbers, rows: Rows) -> RowNumbers:
    """The choices (raveled) of some rows."""
    found: RowNumbers = (some[:, None] * rows.texts.shape[1] + np.arange(rows.texts.shape[1])).ravel()
    return found


def _word_pairs(question: bool) -> Callable[[JudgingInputs], Scores]:
    """A linear model of pairs of words, of a choice and the question or the row's other choices."""

    def run(judged: JudgingInputs) -> Scores:
        rows = judged.rows
        words = judged.forms.hashed_words(rows.texts, rows.questions, False, HASHED)[0]
        pairs = pair_columns(judged.forms, rows.texts, rows.questions, question, HASHED)
        columns = sparse_columns([pairs, words], rows.texts.size, HASHED)

        def fit(train: RowNumbers, seed: int) -> Callable[[RowNumbers], Scores]:
            weights = conditional_logit(columns[_choices_of(train, rows)], rows.texts[train].shape, rows.valid[train])
            scores = np.round((columns @ weights).reshape(rows.texts.shape), 9)
            return lambda test: scores[test]

        return cross_fitted(judged.rows, judged.folds, fit, judged.seed)

    return run


def _network(question: bool) -> Callable[[JudgingInputs], Scores]:
    """A network on all dimensions of the embeddings: each choice, its difference from the mean, times the question."""

    def run(judged: JudgingInputs) -> Scores:
        import torch

        spaces = judged.spaces or [judged.characters]
        texts = np.concatenate([space.texts for space in spaces], axis=1)
        questions = np.concatenate([space.questions for space in spaces], axis=1)

        rows = judged.rows
        vectors = texts[rows.texts] * np.sqrt(texts.shape[1] / len(spaces), dtype=np.float32)
        parts = [vectors - vectors.sum(axis=1, keepdims=True) / rows.sizes[:, None, None].astype(np.float32)]
        if question:
            parts.append(vectors * questions[rows.questions][:, None, :])
        inputs = torch.from_numpy(np.concatenate(parts, axis=2))
        padding = torch.from_numpy(~rows.valid)

        def fit(train: RowNumbers, seed: int) -> Callable[[RowNumbers], Scores]:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                model = torch.nn.Sequential(
                    torch.nn.Dropout(DROPOUT),
                    torch.nn.Linear(inputs.shape[2], HIDDEN),
                    torch.nn.ReLU(),
                    torch.nn.Linear(HIDDEN, 1),
                )
                optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
                known = torch.from_numpy(train)
                for _ in range(EPOCHS):
                    for some in torch.split(known[torch.randperm(len(known))], BATCH):
                        odds = model(inputs[some])[:, :, 0].masked_fill(padding[some], -1e9)
                        optimizer.zero_grad()
                        loss = torch.nn.functional.cross_entropy(odds, torch.zeros(len(some), dtype=torch.int64))
                        torch.autograd.backward(loss)
                        optimizer.step()
                model.eval()

            def score(test: RowNumbers) -> Scores:
                with torch.no_grad():
                    found: Scores = model(inputs[torch.from_numpy(test)])[:, :, 0].numpy().astype(np.float64)
                return np.round(found, 5)

            return score

        return cross_fitted(judged.rows, judged.folds, fit, judged.seed)

    return run


def _naive_bayes(question: bool) -> Callable[[JudgingInputs], Scores]:
    """The mean log ratio of target and decoy over the words of a choice; with the question also by its beginning."""

    def run(judged: JudgingInputs) -> Scores:
        rows, chance = judged.rows, float(judged.rows.chance.mean())
        parts = judged.forms.hashed_words(rows.texts, rows.questions, question, HASHED)
        columns = sparse_columns(parts, rows.texts.size, HASHED)
        total = np.maximum(np.asarray(columns.sum(axis=1)).ravel(), 1)

        def fit(train: RowNumbers, seed: int) -> Callable[[RowNumbers], Scores]:
            targets, choices = columns[train * rows.texts.shape[1]], columns[_choices_of(train, rows)]
            right, count = (np.asarray(one.sum(axis=0)).ravel() for one in (targets, choices))
            share = (right + SMOOTHING * chance) / (count + SMOOTHING)
            odds = np.log(share / (1 - share)) - np.log(chance / (1 - chance))
            scores = np.round((columns @ odds / total).reshape(rows.texts.shape), 9)
            return lambda test: scores[test]

        return cross_fitted(judged.rows, judged.folds, fit, judged.seed)

    return run


def _frequency(judged: JudgingInputs) -> Scores:
    counts = np.bincount(judged.rows.keys[judged.rows.valid])
    return counts[judged.rows.keys].astype(np.float64)


def _longest(judged: JudgingInputs) -> Scores:
    lengths = np.array([*map(len, judged.rows.vocabulary.choices), 0], np.float64)
    return lengths[judged.rows.texts]


CHOICES, QUESTION = ProbeInputs.CHOICES, ProbeInputs.QUESTION
SELECTION_PROBES = (
    JudgingProbe("extra trees on word LSA", CHOICES, _forest("words", True, False)),
    JudgingProbe("extra trees on word LSA", QUESTION, _forest("words", True, True)),
    JudgingProbe("naive Bayes on words", CHOICES, _naive_bayes(False)),
    JudgingProbe("naive Bayes on words", QUESTION, _naive_bayes(True)),
)
REPORT_PROBES = (
    JudgingProbe("forest on character LSA", CHOICES, _forest("characters", False, False), uses="spelling and lengths"),
    JudgingProbe("forest on character LSA", QUESTION, _forest("characters", False, True), uses="spelling and lengths"),
    JudgingProbe("linear model of word pairs", CHOICES, _word_pairs(False), uses="words and pairs of words"),
    JudgingProbe("linear model of word pairs", QUESTION, _word_pairs(True), uses="words and pairs of words"),
    JudgingProbe("network on embeddings", CHOICES, _network(False), uses="meanings of words"),
    JudgingProbe("network on embeddings", QUESTION, _network(True), uses="meanings of words"),
    JudgingProbe("longest choice", CHOICES, _longest, trained=False),
    JudgingProbe("most frequent choice", CHOICES, _frequency, trained=False),
    JudgingProbe(
        "nearest to the other choices (characters)",
        CHOICES,
        lambda judged: judged.characters.centrality(judged.rows.texts)[0].astype(np.float64),
        trained=False,
    ),
    JudgingProbe(
        "nearest to the question (characters)",
        QUESTION,
        lambda judged: judged.characters.question_cosines(judged.rows.texts, judged.rows.questions).astype(np.float64),
        trained=False,
    ),
    JudgingProbe(
        "most words of the question",
        QUESTION,
        lambda judged: judged.forms.question_overlap(judged.rows.texts, judged.rows.questions),
        trained=False,
    ),
)


def selection_folds(groups: Ints, seed: int) -> NDArray[np.int8]:
    """Folds of the selection probes."""
    return group_folds(groups, seed + _SELECTION_SEED)


def report_folds(groups: Ints, seed: int) -> NDArray[np.int8]:
    """Folds of the report probes."""
    return group_folds(groups, seed + _REPORT_SEED)


def run_judging_probes(
    probes: Sequence[JudgingProbe], judged: JudgingInputs, progress: Progress = silent
) -> dict[str, Prediction]:
    """Run probes on rows: name (``... : choices alone``) to prediction."""
    found = {}
    for number, probe in enumerate(probes):
        name = f"{probe.name}: {probe.sees.label}"
        progress("judging", number, len(probes))
        scores = np.where(judged.rows.texts == MISSING, -np.inf, probe.scores(judged))
        folds = FOLDS if probe.trained else 0
        found[name] = Prediction(scores=picked(np.where(judged.rows.valid, scores, 0), judged.rows), folds=folds)
    progress("judging", len(probes), len(probes))
    return found
