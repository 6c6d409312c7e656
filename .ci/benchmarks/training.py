"""How long a step of training takes, and how long it waits for its input: `python .ci/benchmarks/training.py`.

MLP-IQA, BoW Q and LSTM Q in the papers' sizes, from a dataset on the disk, features of images in a memory-mapped store
and word vectors of 300 numbers, all made up; the trainer's own figures, the medians of several validations. Then steps
of BoW Q and LSTM Q and of plain formulations, which take turns; the medians of several turns count.
"""

import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind
from hf_vqa_mc.extraction.extraction import extract_features
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.question_words import PADDING, QuestionWords, sparse_bags
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.settings import TrainingSettings

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

IMAGES, QUESTIONS, WORDS = 2_000, 4_000, 3_000
VALIDATIONS, STEPS = 4, 8
BATCH = {"mlp-iqa": 100, "bow-q": 500, "lstm-q": 500}
ANSWERS, TURNS = 1_000, 12
ZIPF = (2.0, 1.8, 1.5, 1.2, 1.0)
"""Exponents of Zipf's law of first, second, ... words: 500 questions have about as many words (3,100), distinct
beginnings (1,900) and distinct words (650) as 500 of VQA v1."""


class MadeUp(Backbone):
    """2,048 numbers of an image, as ResNet has them, that mean nothing."""

    def __init__(self) -> None:
        super().__init__(FeatureKind("made-up", "1", None, 2048, "float32"))

    def prepare(self, image: Image.Image) -> np.ndarray:
        """The first pixels."""
        return np.resize(np.asarray(image, np.float32), 2048)

    def forward(self, prepared: np.ndarray) -> np.ndarray:
        """As they are."""
        return prepared


class Validations(logging.Handler):
    """Keeps the figures of each validation."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: list[dict[str, float]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Of a validation."""
        if hasattr(record, "validation"):
            self.figures.append(record.validation)


class PlainBow(nn.Module):
    """BoW Q with the sum of its words' vectors in place of the first layer."""

    def __init__(self, words: QuestionWords) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(words.bag_size, 1000, mode="sum")
        self.bias = nn.Parameter(torch.zeros(1000))
        hidden = [nn.Tanh(), nn.Dropout(), nn.Linear(1000, 1000)]
        self.layers = nn.Sequential(*hidden, nn.Tanh(), nn.Dropout(), nn.Linear(1000, ANSWERS))

    def forward(self, indices: Tensor, offsets: Tensor, counts: Tensor) -> Tensor:
        """Logits of the answers."""
        return self.layers(self.bag(indices, offsets, counts) + self.bias)


class PlainLstm(nn.Module):
    """LSTM Q as in PyTorch's documentation."""

    def __init__(self, words: QuestionWords) -> None:
        super().__init__()
        self.words, self.lstm = nn.Embedding(words.size, 300, PADDING), nn.LSTM(300, 512, batch_first=True)
        self.classifier = nn.Linear(1024, ANSWERS)

    def forward(self, indices: Tensor) -> Tensor:
        """Logits of the answers."""
        lengths = (indices != PADDING).sum(1)
        packed = pack_padded_sequence(self.words(indices).tanh(), lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, cell) = self.lstm(packed)
        return self.classifier(torch.cat([cell[-1], hidden[-1]], -1))


def rows() -> list[Row]:
    """The figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset, vectors, images = _made(folder)
        features = extract_features(
            str(dataset), "made", images=images, backbone=MadeUp(), output=folder / "features", batch_size=256
        ).folder
        given = {"mlp-iqa": {"features": features, "word_vectors": str(vectors)}}
        found = [row for model in BATCH for row in waiting_rows(dataset, model, folder, given.get(model, {}))]
    return [*found, *step_rows("bow-q", PlainBow, ">= 0.6"), *step_rows("lstm-q", PlainLstm, ">= 1.5")]


def waiting_rows(dataset: Path, model: str, folder: Path, given: dict[str, object]) -> list[Row]:
    """The trainer's own figures."""
    validations = Validations()
    logging.getLogger("hf_vqa_mc.training").addHandler(validations)
    logging.getLogger("hf_vqa_mc.training").setLevel(logging.INFO)
    settings = TrainingSettings(
        str(dataset),
        "made",
        output=folder / model,
        model=model,
        held_out=0.1,
        batch_size=BATCH[model],
        train_rows=STEPS * BATCH[model],  # an epoch, after which it is validated, has this many steps
        epochs=VALIDATIONS + 1,
        **given,
    )
    train(settings)
    logging.getLogger("hf_vqa_mc.training").removeHandler(validations)
    steady = validations.figures[1:]  # the first compiles
    return [
        (f"a step of vqa-mc train, {model}", 1000 * median(one["seconds_per_step"] for one in steady), "ms", ""),
        ("of which it waits for input", 100 * median(one["waited"] for one in steady), "%", "< 2"),
    ]


def step_rows(name: str, plain_class: type[PlainBow | PlainLstm], required: str) -> list[Row]:
    """A step of Adam on 500 questions."""
    torch.manual_seed(0)
    chance = np.random.default_rng(0)
    batches = [_questions(500, chance) for _ in range(TURNS)]
    words = QuestionWords.of([text for batch in batches for text in batch])
    sizes = {"bow-q": {"bag_size": words.bag_size}, "lstm-q": {"vocabulary_size": words.size}}[name]
    ours = MODELS[name].model_class(MODELS[name].config({}, **sizes, num_labels=ANSWERS)).train()
    plain = plain_class(words).train()
    optimizers = {one: torch.optim.Adam(one.parameters(), fused=True) for one in (ours, plain)}

    def timed(model: nn.Module, loss: Callable[[], Tensor]) -> float:
        start = time.perf_counter()
        loss().backward()
        optimizers[model].step()
        optimizers[model].zero_grad(set_to_none=True)
        return 1000 * (time.perf_counter() - start)

    took: list[tuple[float, float]] = []
    for batch in batches:
        labels = torch.from_numpy(chance.integers(ANSWERS, size=500))
        if name == "bow-q":
            bags = sparse_bags(words, batch)
            inputs = {"question_bags": torch.from_numpy(bags.toarray())}
            same = [torch.from_numpy(one) for one in (bags.indices, bags.indptr[:-1], bags.data)]
        else:
            inputs = {"question_indices": torch.from_numpy(words.indices(batch))}
            same = [*inputs.values()]
        first = timed(ours, lambda inputs=inputs, labels=labels: ours(**inputs, labels=labels).loss)
        second = timed(plain, lambda same=same, labels=labels: functional.cross_entropy(plain(*same), labels))
        took.append((first, second))
    first, second = (median(one) for one in zip(*took[2:], strict=True))
    return [
        (f"training step of {name}, 500 questions, plain", second, "ms", ""),
        (f"training step of {name}, 500 questions, ours", first, "ms", ""),
        (f"training step of {name}, ours to plain", second / first, "x", required),
    ]


def _questions(count: int, chance: np.random.Generator) -> list[str]:
    """Texts of 3 words and more, 6.2 on average."""
    lengths = 3 + chance.poisson(3.2, count)
    columns = []
    for position in range(lengths.max()):
        shares = 1 / np.arange(1, WORDS + 1) ** ZIPF[min(position, len(ZIPF) - 1)]
        columns.append(chance.choice(WORDS, count, p=shares / shares.sum()))
    return [
        " ".join(f"word{word}" for word in row[:length])
        for row, length in zip(np.stack(columns, 1), lengths, strict=True)
    ]


def _made(folder: Path) -> tuple[Path, Path, Path]:
    """A dataset, a file of word vectors and a folder of images."""
    chance = np.random.default_rng(0)
    words = [f"word{number}" for number in range(WORDS)]
    vectors, dataset, images = folder / "vectors.txt", folder / "made", folder / "images"
    numbers = chance.standard_normal((WORDS, 300)).round(3).tolist()
    vectors.write_text(
        "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, numbers, strict=True))
    )
    images.mkdir()
    for number in range(IMAGES):
        Image.fromarray(chance.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(images / f"{number}.png")
    picked = chance.integers(WORDS, size=(QUESTIONS, 7))
    table = {
        "question_id": [str(number) for number in range(QUESTIONS)],
        "image_id": [str(number) for number in chance.integers(IMAGES, size=QUESTIONS)],
        "question": _questions(QUESTIONS, chance),
        "choices": [[words[index] for index in row] for row in picked],
        "label": [0] * QUESTIONS,
    }
    (dataset / "made").mkdir(parents=True)
    pq.write_table(pa.table(table), dataset / "made" / "train-0.parquet")
    head = "---\nconfigs:\n- config_name: made\n  data_files:\n  - split: train\n    path: made/train-*.parquet\n---\n"
    (dataset / "README.md").write_text(head)
    return dataset, vectors, images


if __name__ == "__main__":
    for what, value, unit, required in rows():
        print(f"{what:60} {value:16,.3f} {unit:8} {required}")
