"""Probes that take seconds: a logistic regression and a random forest on what can be measured at a choice."""

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.pair_models import MODELS, PairModel
from hf_vqa_mc.audits.parts import Part, divided
from hf_vqa_mc.audits.probe_features import ProbeFeatures
from hf_vqa_mc.audits.probed import NOTHING_TO_LEARN_FROM, NotRun, Probed, probed
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS, Knows

SHOWN: dict[Knows, str] = {
    "choices": "choices alone",
    "question": "question and choices",
    "image": "image and choices",
    "everything": "image, question and choices",
}
LEAST_OFFERED = 20
"""Without a training split a choice's text is counted if other rows offer it so often: see `CrossFitted.least`."""
Vectors = NDArray[np.float32]
Progress = Callable[[str, int, int], None]


def fast_probes(
    asked: Rows,
    folds: NDArray[np.integer],
    train: Rows | None,
    image_vectors: tuple[Vectors | None, Vectors | None] = (None, None),
    *,
    placed: bool,
    most_rows: int,
    deadline: float | None = None,
    seed: int = 0,
    train_folds: NDArray[np.integer] | None = None,
    progress: Progress = lambda step, done, total: None,
) -> Iterator[Probed | NotRun]:
    """Train each probe on what it may know, and ask it rows that it has not learnt from.

    Both models judge pairs of a target and a decoy of one row. What they learn from is cross-fitted: a number that is
    counted from labels never holds the row's own, and labels of the rows that are asked are looked at only once all
    is learnt.

    Args:
        asked: rows to answer.
        folds: (rows asked,): rows with the same image have the same fold; used where there is no training split.
        train: rows to learn from, numbered together with them.
        image_vectors: of both, float32 (rows, numbers); None without images.
        placed: whether the order of the choices is the benchmark's own.
        most_rows: so many rows are learnt from at most, chosen by the seed.
        deadline: of `time.monotonic`, looked at between trainings.
        seed: of every random choice.
        train_folds: (training rows,): as ``folds``; by default drawn row by row.
        progress: told (step, done, total).

    Yields:
        The probes, the ones that know least first; those for which there was no time as what was not run. Those that
        would look at images are left out where there are no vectors of them.
    """
    generator = np.random.default_rng(seed)
    dealt, parts = divided(asked, folds, train, train_folds, most_rows, generator)
    vectors = _joined(image_vectors, train is not None)
    known: tuple[Knows, ...] = ("choices", "question", "image", "everything")
    known = known if vectors is not None else known[:2]
    n_folds, done, total = (0 if train is not None else FOLDS), 0, len(known) * len(MODELS) * len(parts)
    features = ProbeFeatures(dealt, placed, vectors, seed, LEAST_OFFERED if train is None else 0)
    for knows in known:
        for model_name, model in MODELS.items():
            name = f"{model_name}: {SHOWN[knows]}"
            if not parts:
                yield NotRun(name, NOTHING_TO_LEARN_FROM)
                continue
            chances = np.zeros(dealt.texts.shape)
            for at, part in enumerate(parts):
                if deadline is not None and time.monotonic() > deadline:
                    yield NotRun(name, f"no time was left after {at} of its {len(parts)} trainings")
                    break
                progress("probes", done, total)
                chances[part.asked] = _answers(features, knows, model(seed), part)
                done += 1
            else:
                own = dealt.take(np.arange(len(asked)))
                first = own.target_first(chances[: len(asked)], asked.texts.shape)
                yield probed(name, knows, _picks(knows, model_name), first, asked, n_folds)
    progress("probes", total, total)


def _picks(knows: Knows, model: str) -> str:
    """As a sentence goes on after "One who ..."."""
    seen = {
        "choices": "sees the choices alone",
        "question": "sees question and choices but no image",
        "image": "sees image and choices but no question",
        "everything": "sees image, question and choices",
    }
    return f"{seen[knows]} and judges them by a {model}"


def _answers(features: ProbeFeatures, knows: Knows, model: PairModel, part: Part) -> NDArray[np.float64]:
    """P(target) of the choices of the rows asked, (rows, places)."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # such small products gain nothing from more, and lose much beside other programs
        learnt, asked = features.of(knows, part, sparse=model.takes_sparse)
        model.learn(learnt, features.dealt.take(part.learn))
        return model.chances(asked, features.dealt.take(part.asked))


def _joined(vectors: tuple[Vectors | None, Vectors | None], with_train: bool) -> Vectors | None:
    """Of all rows, as they are numbered here."""
    if not with_train or vectors[0] is None or vectors[1] is None:
        return None if with_train else vectors[0]
    return np.concatenate([vectors[0], vectors[1]])
