"""Larger probes, which are trained or loaded on demand: the papers' MLPs, and a text-only language model."""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.folds import Part
from hf_vqa_mc.audits.probes.probe import Context, Probe, Skipped, trained_probe
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs
from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.text.question_encoder import load_text_model

EPOCHS = 8.0
RECIPE: dict[str, Any] = {"optimizer": "adam", "learning_rate": 0.003,
                          "model_settings": {"hidden_size": 512, "dropout": 0.2}}  # fmt: skip
"""As in ``vqa-mc quickstart``."""
VALIDATED = 10  # one of this many images is held out to choose the best epoch
COLUMNS = ("question_id", "image_id", "question", "choices", "label", "question_type")
MLP_COST, MODEL_COST = 20, 30
BATCH_SIZE = 32
READ = 2000  # maximum number of characters read of a text
LONGEST = 512  # maximum number of tokens; longer prompts are truncated from the left


def _log_odds(model: str, with_image: bool, context: Context, part: Part) -> NDArray[np.float64]:
    """Train a model on a part's rows; return the scores of its test rows in the shuffled order, (rows, choices)."""
    first = 0 if context.train is None else len(context.rows)
    train = _table(context.train or context.split, "train").take(part.train - first)
    test = _table(context.split, "test").take(part.test)
    held_out = text_hashes(train["image_id"].to_pylist()) % np.uint64(VALIDATED) == 0
    if held_out.all() or not held_out.any():
        held_out = np.arange(len(train)) % VALIDATED == 0
    splits = {"train": train.filter(pa.array(~held_out)), "validation": train.filter(pa.array(held_out)), "test": test}
    with tempfile.TemporaryDirectory(prefix="vqa-mc-audit-") as root:
        folder, features = Path(root), None
        if with_image and context.images[0] is not None:
            names = pa.concat_tables([train, test])["image_id"].to_pylist()
            of_rows = np.searchsorted(context.used, np.concatenate([part.train, part.test]))
            features = _write_features(folder / "features", dict(zip(names, context.images[0][of_rows], strict=True)))
        logits = _trained_logits(folder, model, splits, features, context)
    rows = context.shuffled.take(part.test)
    return np.where(rows.valid, np.take_along_axis(logits, np.maximum(rows.positions, 0), axis=1), -np.inf)


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


def _trained_logits(
    folder: Path, model: str, splits: Mapping[str, pa.Table], features: Path | None, context: Context
) -> NDArray[np.float64]:
    """Scores of the test rows' choices, (rows, choices), in the published order."""
    import torch

    from hf_vqa_mc.training.loop import train
    from hf_vqa_mc.training.predicting import predict
    from hf_vqa_mc.training.settings import TrainingSettings

    vectors, data, config = context.settings.word_vectors, "audited rows", "default"
    settings = TrainingSettings(dataset=data, config=config, output=folder / "run", model=model, features=features,
                                word_vectors=vectors, epochs=EPOCHS, seed=context.settings.seed, **RECIPE)  # fmt: skip
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more threads are no faster for such small models
    try:
        trained = train(settings, rows=splits)
    finally:
        torch.set_num_threads(threads)
    vectors = None if vectors == "corpus" else vectors
    done = predict(
        trained.model_folder, data, config, split="test", features=features, word_vectors=vectors, rows=splits
    )
    assert done.found.logits is not None  # noqa: S101  these are multiple-choice models
    return done.found.logits.astype(np.float64)


MLPS = tuple(
    trained_probe(
        model, sees, "judges them by an MLP", partial(_log_odds, model, sees.image), cost=MLP_COST, setting="mlps"
    )
    for model, sees in zip(("mlp-a", "mlp-qa", "mlp-ia", "mlp-iqa"), ProbeInputs, strict=True)
)


def predict(
    context: Context, with_question: bool, device: str | None = None, batch_size: int = BATCH_SIZE
) -> Prediction:
    """Pick the choice with the highest log-likelihood per character under a causal language model.

    The prompt is ``Question: ... Answer:``, or ``Answer:`` alone. lm-eval's ``acc_norm`` is the same per byte.
    """
    import torch

    rows, name = context.rows.take(context.tested), context.settings.language_model or ""
    context.progress(f"loading {name}", 0, 1)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype, kind = torch.bfloat16 if device.startswith("cuda") else torch.float32, "causal language model"
    tokenizer, model = load_text_model(name, "AutoModelForCausalLM", "--language-model", kind, dtype=dtype)
    model = model.to(device)
    context.progress(f"loading {name}", 1, 1)
    questions = np.where(with_question, rows.questions, -1)
    row = rows.valid.nonzero()[0]
    pairs = np.stack([questions[row], rows.texts[rows.valid]], axis=1)
    distinct, number = np.unique(pairs, axis=0, return_inverse=True)
    choices, encoded = [rows.vocabulary.choices[one] for one in distinct[:, 1]], []
    for question, choice in zip(distinct[:, 0].tolist(), choices, strict=True):
        asked = f"Question: {rows.vocabulary.questions[question][:READ].strip()}\n" if question >= 0 else ""
        encoded.append(_tokens(tokenizer, model, f"{asked}Answer:", choice))
    order = sorted(range(len(encoded)), key=lambda index: -len(encoded[index][0]))  # longest first: little padding
    found = np.empty(len(encoded))
    for first in range(0, len(order), batch_size):
        if context.time_is_over:
            raise Skipped("the time limit was reached before all rows were scored")
        block = order[first : first + batch_size]
        found[block] = _log_likelihoods(model, [encoded[index] for index in block])
        context.progress("language model", min(first + batch_size, len(order)), len(order))
    values = np.full(rows.valid.shape, -np.inf)
    values[rows.valid] = (found / np.array([max(len(choice), 1) for choice in choices]))[number.ravel()]
    return context.on_tested(values)


def _tokens(tokenizer: Any, model: Any, prompt: str, choice: str) -> tuple[list[int], int]:  # noqa: ANN401
    """All tokens, and the number of the choice's tokens."""
    longest = min(getattr(model.config, "max_position_embeddings", None) or LONGEST, LONGEST)
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    own = tokenizer(" " + choice[:READ].strip(), add_special_tokens=False)["input_ids"][: longest // 2]
    return [*start, *before, *own][-longest:], len(own)


def _log_likelihoods(model: Any, encoded: Sequence[tuple[list[int], int]]) -> list[float]:  # noqa: ANN401
    """Log-likelihood of each choice after its prompt; padding on the right is causal-masked."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tokens = pad_sequence([torch.tensor(of_one) for of_one, _ in encoded], batch_first=True)
    lengths = torch.tensor([len(of_one) for of_one, _ in encoded])
    mask = (torch.arange(tokens.shape[1]) < lengths[:, None]).long()
    with torch.inference_mode():
        given = model(input_ids=tokens.to(model.device), attention_mask=mask.to(model.device))
        log_probabilities = given.logits.float().log_softmax(-1)
    sums = []
    for index, (of_one, count) in enumerate(encoded):
        own = torch.tensor(of_one[len(of_one) - count :], dtype=torch.int64, device=log_probabilities.device)
        before = log_probabilities[index, len(of_one) - count - 1 : len(of_one) - 1]
        sums.append(float(before.gather(1, own[:, None]).double().sum()) if count else -np.inf)  # 0: an empty choice
    return sums


LANGUAGE_MODELS = tuple(
    Probe(f"language model {{language_model}}: {sees.label}", sees,
          f"asks a language model for the likeliest answer{given}", partial(predict, with_question=sees.question),
          trained=True, cost=MODEL_COST, setting="language_model")
    for sees, given in ((ProbeInputs.CHOICES, ""), (ProbeInputs.QUESTION, ", given the question"))
)  # fmt: skip
