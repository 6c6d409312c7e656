"""Selection probes and report probes, which judge a repair: other learners, text forms and folds than it fights.

Selection probes stop the loop and choose the strategy. Report probes are run once, on the rows before and after, when
the choice is frozen; every table shows these alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.models import isolated_warnings
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs, picked
from hf_vqa_mc.decoys.candidates import Int64s, Ints
from hf_vqa_mc.decoys.propensity_model import one_thread
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.fought_probes import FOLDS, Fit, Scores, conditional_logit, cross_fitted, sparse_columns
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace, choice_columns, texts_and_questions
from hf_vqa_mc.text.embeddings import normalised

LSA_SIZE = 48  # dimensions of latent semantic analysis
FOREST, LARGE_FOREST, EXTRA_TREES = (100, 8, 0.5), (100, 20, 0.15), (50, 8, 0.5)
"""n_estimators, min_samples_leaf and max_samples. On NExT-QA (20,000 choices), the values of `FOREST` find 0.1 points
more in three times the time; on A-OKVQA (4,000), those of `LARGE_FOREST` find 2 to 3 points less."""
LARGE = 10_000  # choices from which on a forest is large
HASHED = 2**17  # columns of hashed word pairs
HIDDEN, EPOCHS, BATCH, RATE, DECAY, DROPOUT = 32, 8, 64, 2e-3, 1e-2, 0.3
"""Network: hidden units, epochs, rows per step, learning rate and weight decay of AdamW, dropout of its inputs."""
SMOOTHING = 2.0  # presentations added to each word in naive Bayes
SELECTION_SEED, REPORT_SEED = 101, 202  # added to the seed of their folds, see `group_folds`


@dataclass(frozen=True, eq=False)
class JudgingInputs:
    """Rows and what probes read of them; rows of one vocabulary share ``forms`` and spaces."""

    rows: Rows
    folds: Ints
    forms: TextForms
    spaces: Sequence[TextSpace]  # the static embeddings, for probes that learn from all of their dimensions
    seed: int
    counted: tuple[Rows, ...]
    """rows whose texts latent semantic analysis counts: these before and after a remedy, without other candidates"""

    @property
    def characters(self) -> TextSpace:
        """Latent semantic analysis of character n-grams."""
        return _lsa(self.counted, "char_wb", (2, 4))

    @property
    def words(self) -> TextSpace:
        """Latent semantic analysis of words."""
        return _lsa(self.counted, "word", (1, 1))


@dataclass(frozen=True)
class JudgingProbe:
    """The declaration of a probe."""

    name: str
    sees: ProbeInputs
    make: Callable[[JudgingInputs, bool], Fit | NDArray[Any]] = field(repr=False)
    """its scores, or the function that fits it, with or without the question"""
    trained: bool = False
    uses: str = ""  # what a trained probe learns from


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
    vectors = np.zeros((len(texts), 1), np.float32)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:  # no term occurs in two texts
        counts = vectors
    if size := min(LSA_SIZE, counts.shape[1] - 1):
        vectors = normalised(TruncatedSVD(size, random_state=0).fit_transform(counts))
    choices = np.zeros((len(vocabulary.choices) + 1, vectors.shape[1]), np.float32)
    questions = np.zeros((len(vocabulary.questions) + 1, vectors.shape[1]), np.float32)
    choices[used], questions[asked] = vectors[: len(used)], vectors[len(used) :]
    return TextSpace.of(f"{analyzer} LSA", choices, questions, counted)


def _forest(judged: JudgingInputs, question: bool, space: str, extra: bool = False) -> Fit:
    """A forest on the relations of the choices in one space."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    rows = judged.rows
    columns = choice_columns([getattr(judged, space)], judged.forms, rows.texts, rows.questions, question)

    def fit(train: Int64s, seed: int) -> Callable[[Int64s], Scores]:
        valid = rows.valid[train]
        large = LARGE_FOREST if valid.sum() >= LARGE else FOREST
        trees, leaf, share = EXTRA_TREES if extra else large
        kind = ExtraTreesClassifier if extra else RandomForestClassifier
        forest = kind(trees, min_samples_leaf=leaf, max_features="sqrt", bootstrap=True, max_samples=share,
                      random_state=seed, n_jobs=-1)  # fmt: skip
        with isolated_warnings():
            forest.fit(columns[train][valid], valid.nonzero()[1] == 0)

        def score(test: Int64s) -> Scores:
            valid = rows.valid[test]
            scores = np.zeros(valid.shape)
            with isolated_warnings():
                scores[valid] = np.round(forest.predict_proba(columns[test][valid])[:, 1], 9)
            return scores

        return score

    return fit


def _word_pairs(judged: JudgingInputs, question: bool) -> Fit:
    """A linear model of pairs of words, of a choice and the question or the row's other choices."""
    rows, choices = judged.rows, np.arange(judged.rows.texts.size).reshape(judged.rows.texts.shape)
    words = judged.forms.hashed_words(rows.texts, rows.questions, False, HASHED)[0]
    pairs = judged.forms.hashed_pairs(rows.texts, rows.questions, question, HASHED)
    columns = sparse_columns([pairs, words], rows.texts.size, HASHED)

    def fit(train: Int64s, seed: int) -> Callable[[Int64s], Scores]:
        weights = conditional_logit(columns[choices[train].ravel()], rows.valid[train])
        scores: Scores = np.round((columns @ weights).reshape(rows.texts.shape), 9)
        return lambda test: scores[test]

    return fit


def _network(judged: JudgingInputs, question: bool) -> Fit:
    """A network on all dimensions of the embeddings: each choice, its difference from the mean, times the question."""
    import torch

    rows, spaces = judged.rows, judged.spaces or [judged.characters]
    texts = np.concatenate([space.texts for space in spaces], axis=1)
    vectors = texts[rows.texts] * np.sqrt(texts.shape[1] / len(spaces), dtype=np.float32)
    parts = [vectors - vectors.sum(axis=1, keepdims=True) / rows.sizes[:, None, None].astype(np.float32)]
    if question:
        questions = np.concatenate([space.questions for space in spaces], axis=1)
        parts.append(vectors * questions[rows.questions][:, None, :])
    inputs, padding = torch.from_numpy(np.concatenate(parts, axis=2)), torch.from_numpy(~rows.valid)

    def fit(train: Int64s, seed: int) -> Callable[[Int64s], Scores]:
        with one_thread(), torch.random.fork_rng():  # several threads take longer, on a busy machine ten times
            torch.manual_seed(seed)
            hidden, output = torch.nn.Linear(inputs.shape[2], HIDDEN), torch.nn.Linear(HIDDEN, 1)
            model = torch.nn.Sequential(torch.nn.Dropout(DROPOUT), hidden, torch.nn.ReLU(), output)
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

        def score(test: Int64s) -> Scores:
            with torch.no_grad():
                found: Scores = model(inputs[torch.from_numpy(test)])[:, :, 0].numpy().astype(np.float64)
            return np.round(found, 5)

        return score

    return fit


def _naive_bayes(judged: JudgingInputs, question: bool) -> Fit:
    """The mean log ratio of target and decoy over the words of a choice; with the question also by its beginning."""
    rows, chance = judged.rows, float(judged.rows.chance.mean())
    cells = np.arange(rows.texts.size).reshape(rows.texts.shape)
    parts = judged.forms.hashed_words(rows.texts, rows.questions, question, HASHED)
    columns = sparse_columns(parts, rows.texts.size, HASHED)
    total = np.maximum(np.asarray(columns.sum(axis=1)).ravel(), 1)

    def fit(train: Int64s, seed: int) -> Callable[[Int64s], Scores]:
        targets, choices = columns[cells[train, 0]], columns[cells[train].ravel()]
        right, count = (np.asarray(one.sum(axis=0)).ravel() for one in (targets, choices))
        share = (right + SMOOTHING * chance) / (count + SMOOTHING)
        odds = np.log(share / (1 - share)) - np.log(chance / (1 - chance))
        scores: Scores = np.round((columns @ odds / total).reshape(rows.texts.shape), 9)
        return lambda test: scores[test]

    return fit


CHOICES, QUESTION = ProbeInputs.CHOICES, ProbeInputs.QUESTION


def _trained(name: str, fit: Callable[[JudgingInputs, bool], Fit], uses: str = "") -> list[JudgingProbe]:
    return [JudgingProbe(name, sees, fit, True, uses) for sees in (CHOICES, QUESTION)]


SELECTION_PROBES = (
    *_trained("extra trees on word LSA", partial(_forest, space="words", extra=True)),
    *_trained("naive Bayes on words", _naive_bayes),
)
REPORT_PROBES = (
    *_trained("forest on character LSA", partial(_forest, space="characters"), "spelling and lengths"),
    *_trained("linear model of word pairs", _word_pairs, "words and pairs of words"),
    *_trained("network on embeddings", _network, "meanings of words"),
    JudgingProbe("longest choice", CHOICES, lambda judged, _: judged.forms.lengths[judged.rows.texts]),
    JudgingProbe("most frequent choice", CHOICES,
                 lambda judged, _: np.bincount(judged.rows.keys[judged.rows.valid])[judged.rows.keys]),
    JudgingProbe("spelled like the others", CHOICES,
                 lambda judged, _: judged.characters.centrality(judged.rows.texts)[0]),
    JudgingProbe("spelled like the question", QUESTION,
                 lambda judged, _: judged.characters.question_cosines(judged.rows.texts, judged.rows.questions)),
    JudgingProbe("most words of the question", QUESTION,
                 lambda judged, _: judged.rows.question_overlap),
)  # fmt: skip


def run_judging_probes(
    probes: Sequence[JudgingProbe], judged: JudgingInputs, progress: Progress = silent
) -> dict[str, Prediction]:
    """Run probes on rows: name (``... : choices alone``) to prediction."""
    found = {}
    for number, probe in enumerate(probes):
        progress("judging", number, len(probes))
        made = probe.make(judged, probe.sees.question)
        scores = cross_fitted(judged.rows, judged.folds, made, judged.seed) if callable(made) else made
        first = picked(scores.astype(np.float64), judged.rows)
        found[f"{probe.name}: {probe.sees.label}"] = Prediction(scores=first, folds=FOLDS if probe.trained else 0)
    progress("judging", len(probes), len(probes))
    return found
