"""The papers' MLPs as probes: trained on the benchmark's own rows by ``training.train``."""

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hf_vqa_mc.audits.folds import Part
from hf_vqa_mc.audits.probes.probe import Context, trained_probe
from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.decoys.rng import text_hashes

EPOCHS = 8.0
RECIPE: dict[str, Any] = {"optimizer": "adam", "learning_rate": 0.003,
                          "model_settings": {"hidden_size": 512, "dropout": 0.2}}  # fmt: skip
"""As in ``vqa-mc quickstart``."""
VALIDATED = 10
"""One of this many images is held out to choose the best epoch."""
COLUMNS = ("question_id", "image_id", "question", "choices", "label", "question_type")
COST = 20


def _log_odds(model: str, with_image: bool, context: Context, part: Part) -> NDArray[np.float64]:
    """Train a model on a part's rows; return the scores of its test rows in the shuffled order, (rows, choices)."""
    first = 0 if context.train is None else len(context.rows)
    train = _table(context.train or context.split, "train").take(part.train - first)
    test = _table(context.split, "test").take(part.test)
    held_out = text_hashes(train["image_id"].to_pylist()) % np.uint64(VALIDATED) == 0
    if held_out.all() or not held_out.any():
        held_out = np.arange(len(train)) % VALIDATED == 0
    splits = {"train": train.filter(pa.array(~held_out)), "validation": train.filter(pa.array(held_out)), "test": test}
    with tempfile.TemporaryDirectory(prefix="vqa-mc-audit-") as root, _datasets_cache_in(Path(root) / "cache"):
        folder, features = Path(root), None
        (folder / "data").mkdir()
        for name, table in splits.items():
            pq.write_table(table, folder / "data" / f"{name}.parquet")
        if with_image and context.images[0] is not None:
            names = pa.concat_tables([train, test])["image_id"].to_pylist()
            of_rows = np.searchsorted(context.used, np.concatenate([part.train, part.test]))
            features = _write_features(folder / "features", dict(zip(names, context.images[0][of_rows], strict=True)))
        logits = _trained_logits(folder, model, features, context)
    rows = context.shuffled.take(part.test)
    odds = np.full(rows.valid.shape, -np.inf)
    row, column = rows.valid.nonzero()
    odds[row, column] = logits[row, rows.positions[row, column]]
    return odds


def _table(split: Split, side: str) -> pa.Table:
    """Rows with unique ids; image ids are the side and the cluster number."""
    table = split.rows.select(COLUMNS)
    images = pa.array([f"{side}-{number}" for number in split.clusters.tolist()], pa.string())
    ids = pa.array([str(number) for number in range(len(table))], pa.string())
    return table.set_column(0, "question_id", ids).set_column(1, "image_id", images)


def _write_features(store: Path, vectors: dict[str, NDArray[np.float32]]) -> Path:
    """Write image vectors in the format of ``vqa-mc features``."""
    from hf_vqa_mc.extraction.backbones import FeatureKind
    from hf_vqa_mc.extraction.store import FeatureStore, write_index

    kind = FeatureKind("audit", "1", None, len(next(iter(vectors.values()))), "float32")
    made = FeatureStore(store, kind)
    hashes = {image: hashlib.sha256(image.encode()).digest() for image in vectors}
    for image, vector in vectors.items():
        made.add(hashes[image], vector)
    made.commit()
    write_index(store / "images", kind, hashes, {"missing": [], "broken": {}})
    return store / "images"


def _trained_logits(folder: Path, model: str, features: Path | None, context: Context) -> NDArray[np.float64]:
    """Scores of the test rows' choices, (rows, choices), in the published order."""
    import torch

    from hf_vqa_mc.training.answered import Picked
    from hf_vqa_mc.training.evaluation import predict
    from hf_vqa_mc.training.loop import train
    from hf_vqa_mc.training.settings import TrainingSettings

    vectors, data = context.settings.word_vectors, str(folder / "data")
    settings = TrainingSettings(dataset=data, config="default", output=folder / "run", model=model, features=features,
                                word_vectors=vectors, epochs=EPOCHS, seed=context.settings.seed, **RECIPE)  # fmt: skip
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more threads are no faster for such small models
    try:
        trained = train(settings)
    finally:
        torch.set_num_threads(threads)
    named = None if vectors == "corpus" else vectors
    found = predict(trained.model_folder, data, "default", split="test", features=features, word_vectors=named).found
    assert isinstance(found, Picked)  # noqa: S101  these are multiple-choice models
    return found.logits.astype(np.float64)


@contextlib.contextmanager
def _datasets_cache_in(folder: Path) -> Iterator[None]:
    """Move the cache of ``datasets`` to a temporary folder."""
    from datasets import config

    kept = config.HF_DATASETS_CACHE
    config.HF_DATASETS_CACHE = folder
    try:
        yield
    finally:
        config.HF_DATASETS_CACHE = kept


MLPS = tuple(
    trained_probe(model, sees, "judges them by an MLP", COST, partial(_log_odds, model, sees.image), setting="mlps")
    for model, sees in zip(("mlp-a", "mlp-qa", "mlp-ia", "mlp-iqa"), ProbeInputs, strict=True)
)
