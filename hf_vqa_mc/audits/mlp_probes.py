"""The papers' MLPs as probes: trained on what the benchmark itself offers, by ``training.train``."""

import contextlib
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hf_vqa_mc.audits.probed import NOTHING_TO_LEARN_FROM, NotRun, Probed, probed
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS, Knows
from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.decoys.rng import text_hashes

MODELS: dict[str, tuple[Knows, str]] = {
    "mlp-a": ("choices", "sees the choices alone"),
    "mlp-qa": ("question", "sees question and choices but no image"),
    "mlp-ia": ("image", "sees image and choices but no question"),
    "mlp-iqa": ("everything", "sees image, question and choices"),
}
SHOWN: dict[Knows, str] = {
    "choices": "choices alone",
    "question": "question and choices",
    "image": "image and choices",
    "everything": "image, question and choices",
}
EPOCHS = 8.0
RECIPE: dict[str, Any] = {
    "optimizer": "adam",
    "learning_rate": 0.003,
    "model_settings": {"hidden_size": 512, "dropout": 0.2},
}
"""As ``vqa-mc quickstart`` has it."""
VALIDATED = 10
"""One of so many images is kept to choose the best epoch by."""
CONFIG = "default"
COLUMNS = ("question_id", "image_id", "question", "choices", "label", "question_type")

Vectors = NDArray[np.float32]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class _Side:
    """A split and the vectors of its images."""

    table: pa.Table
    """``COLUMNS``; rows without an image have an id of their own"""
    vectors: Vectors | None


def mlp_probes(
    asked: Split,
    rows: Rows,
    folds: NDArray[np.integer],
    train: Split | None,
    image_vectors: tuple[Vectors | None, Vectors | None] = (None, None),
    *,
    word_vectors: str,
    most_rows: int,
    epochs: float = EPOCHS,
    deadline: float | None = None,
    seed: int = 0,
    progress: Progress = lambda step, done, total: None,
) -> Iterator[Probed | NotRun]:
    """Train MLP-A and -QA, with image vectors also -IA and -IQA, and ask them rows that they have not learnt from.

    Args:
        asked: split to answer.
        rows: the same, numbered.
        folds: (rows,): rows with the same image have the same; used where there is no training split.
        train: split to learn from.
        image_vectors: of both, float32 (rows, numbers); None without images.
        word_vectors: as ``vqa-mc train`` takes it: a file, a gensim-data name, or ``corpus``.
        most_rows: so many rows are learnt from at most.
        epochs: passes over them.
        deadline: of `time.monotonic`, looked at between trainings.
        seed: of every random choice.
        progress: told (step, done, total).

    Yields:
        The probes, those that know least first; those for which there was no time as what was not run.

    Raises:
        InputError: the word vectors cannot be used.
    """
    sides = _Side(_table(asked), image_vectors[0]), None if train is None else _Side(_table(train), image_vectors[1])
    parts = _parts(asked, folds, train)
    seeing = image_vectors[0] is not None and (train is None or image_vectors[1] is not None)
    models = [name for name in MODELS if seeing or "i" not in name.removeprefix("mlp-")]
    done, total = 0, len(models) * len(parts)
    with tempfile.TemporaryDirectory(prefix="vqa-mc-audit-") as place, _cached_in(Path(place) / "cache"):
        folders = [Path(place) / f"part-{number}" for number in range(len(parts))]
        for folder, (learn, answer) in zip(folders, parts, strict=True):
            _write(folder, sides[0], sides[1] or sides[0], learn, answer, most_rows, seed)
        for name in models:
            knows, picks = MODELS[name]
            told = f"{name}: {SHOWN[knows]}"
            if not parts:
                yield NotRun(told, NOTHING_TO_LEARN_FROM)
                continue
            chances = np.zeros(rows.there.shape)
            for number, (folder, (_, answer)) in enumerate(zip(folders, parts, strict=True)):
                if deadline is not None and time.monotonic() > deadline:
                    yield NotRun(told, f"no time was left after {number} of its {len(parts)} trainings")
                    break
                progress("probes (MLPs)", done, total)
                given = {"word_vectors": word_vectors, "epochs": epochs, "seed": seed}
                by_place = _answers(folder, name, seeing and "i" in name.removeprefix("mlp-"), given)
                chances[answer] = _target_first(by_place, rows.take(answer))
                done += 1
            else:
                sentence = f"{picks} and judges them by an MLP"
                yield probed(told, knows, sentence, chances, rows, 0 if train is not None else FOLDS)
    progress("probes (MLPs)", total, total)


def _table(split: Split) -> pa.Table:
    """Ids are numbers of the rows; images keep theirs, and rows without one get one."""
    table = split.rows.select(COLUMNS)
    images = pa.array([f"image-{number}" for number in split.clusters.tolist()], pa.string())
    ids = pa.array([str(number) for number in range(len(table))], pa.string())
    return table.set_column(0, "question_id", ids).set_column(1, "image_id", images)


def _parts(
    asked: Split, folds: NDArray[np.integer], train: Split | None
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to learn from, of the training split where there is one, and rows to answer."""
    everyone = np.arange(len(asked.rows))
    if train is not None:
        return [(np.arange(len(train.rows)), everyone)]
    different = np.unique(folds)
    if len(different) < 2:
        return []
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in different]


def _write(
    folder: Path,
    asked: _Side,
    learnt: _Side,
    learn: NDArray[np.int64],
    answer: NDArray[np.int64],
    most: int,
    seed: int,
) -> None:
    """A dataset of three splits, and the features of its images."""
    folder.mkdir(parents=True)
    if len(learn) > most:
        learn = np.sort(np.random.default_rng(seed).choice(learn, most, replace=False))
    images = learnt.table["image_id"].take(learn).to_pylist()
    last = text_hashes(images) % np.uint64(VALIDATED) == 0
    if last.all() or not last.any():
        last = np.arange(len(learn)) % VALIDATED == 0
    told = {"train": learnt.table.take(learn[~last]), "validation": learnt.table.take(learn[last])}
    told = {split: _renamed(table, "learnt") for split, table in told.items()}
    told["test"] = _renamed(asked.table.take(answer), "asked")
    for split, table in told.items():
        pq.write_table(table, folder / f"{split}.parquet")
    if asked.vectors is None or learnt.vectors is None:
        return
    of_image = {
        f"{side}-{image}": vectors[row]
        for side, table, rows, vectors in (
            ("learnt", learnt.table, learn, learnt.vectors),
            ("asked", asked.table, answer, asked.vectors),
        )
        for row, image in zip(rows.tolist(), table["image_id"].take(rows).to_pylist(), strict=True)
    }
    _write_features(folder.with_name(f"{folder.name}-features"), of_image)


def _renamed(table: pa.Table, side: str) -> pa.Table:
    """Images are numbered in each split; no number may mean two images."""
    images = pc.binary_join_element_wise(pa.scalar(side), table["image_id"], "-")
    return table.set_column(1, "image_id", images)


def _write_features(store: Path, of_image: dict[str, Vectors]) -> None:
    from hf_vqa_mc.extraction.backbones import FeatureKind
    from hf_vqa_mc.extraction.image_features import write_index
    from hf_vqa_mc.extraction.store import FeatureStore

    kind = FeatureKind("audit", "1", None, len(next(iter(of_image.values()))), "float32")
    made = FeatureStore(store, kind)
    hashes = {image: hashlib.sha256(image.encode()).digest() for image in of_image}
    for image, vector in of_image.items():
        made.add(hashes[image], vector)
    made.commit()
    write_index(store / "images", kind, hashes, {"missing": [], "broken": {}})


def _answers(folder: Path, model: str, seeing: bool, given: dict[str, Any]) -> NDArray[np.float64]:
    """Scores of the test rows' choices, (rows, places), in the order that they stand in."""
    import torch

    from hf_vqa_mc.training import TrainingSettings, predict, train

    features = folder.with_name(f"{folder.name}-features") / "images" if seeing else None
    run = folder.with_name(f"{folder.name}-{model}")
    settings = TrainingSettings(
        dataset=str(folder), config=CONFIG, output=run, model=model, features=features, **given, **RECIPE
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # such small models gain nothing from more, and lose much beside other programs
    try:
        trained = train(settings)
    finally:
        torch.set_num_threads(threads)
    vectors = None if given["word_vectors"] == "corpus" else given["word_vectors"]
    found = predict(trained.folder, str(folder), CONFIG, split="test", features=features, word_vectors=vectors).found
    return found.logits.astype(np.float64)


def _target_first(logits: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """P(target) of each choice, the target first: its odds, given that one of the row's choices is right."""
    scores = np.full(rows.there.shape, -np.inf)
    row, column = rows.there.nonzero()
    scores[row, column] = logits[row, rows.places[row, column]]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
    return chances


@contextlib.contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """What ``datasets`` keeps of the temporary datasets goes with them."""
    from datasets import config

    kept = config.HF_DATASETS_CACHE
    config.HF_DATASETS_CACHE = folder
    try:
        yield
    finally:
        config.HF_DATASETS_CACHE = kept
