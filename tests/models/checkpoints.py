"""Small checkpoints of every model, with word vectors and images made up."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoConfig, AutoModelForMultipleChoice

from hf_vqa_mc.extraction.backbones import FeatureKind, Pixels
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.models import (
    HieCoAttentionForMultipleChoiceVqa,
    HieCoAttentionVqaConfig,
    MlpForMultipleChoiceVqa,
    MlpVqaConfig,
    SpatialAttentionForMultipleChoiceVqa,
    SpatialAttentionVqaConfig,
    VqaProcessor,
)
from hf_vqa_mc.models.model import model_of as declared_model
from hf_vqa_mc.models.question_texts import CHOICES, QuestionTexts
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors
from tests.configs import write_vectors

DIM = 5
WORDS = ("what", "colour", "is", "the", "cat", "red", "green", "blue", "dog", "on", "mat", "two")
TRAINING_TEXTS = ("What colour is the cat?", "red", "green", "a blue dog")
"""``a`` has no vector; ``on``, ``mat`` and ``two`` are new to who was trained on these."""
KINDS = ("mlp-a", "mlp-ia", "mlp-qa", "mlp-iqa", "spatial", "hie-co")

REGISTRATION = "import hf_vqa_mc.models"
AUTO_CLASS = "from transformers import AutoModelForMultipleChoice"
LOADED = """
import sys, torch
given, folder = torch.load(sys.argv[1]), sys.argv[2]
model = AutoModelForMultipleChoice.from_pretrained(folder).eval()
print(type(model).__name__, *model(**given).logits.flatten().tolist())
"""

_LETTERS = {"i": "image", "q": "question", "a": "answer"}


def vectors_file(folder: Path, seed: int = 0) -> Path:
    """A file of word vectors."""
    return write_vectors(folder / f"vectors{seed}.txt", WORDS, DIM, seed)


def word_vectors(folder: Path, seed: int = 0) -> WordVectors:
    return load_word_vectors(str(vectors_file(folder, seed)))


def model_of(kind: str, seed: int = 0) -> torch.nn.Module:
    """A model in evaluation mode, with random weights and batch statistics as after some training."""
    torch.manual_seed(seed)
    if kind.startswith("mlp-"):
        inputs = [_LETTERS[letter] for letter in kind.removeprefix("mlp-")]
        config = MlpVqaConfig(inputs=inputs, image_size=Pixels().kind.dim, text_size=DIM, hidden_size=8)
        model = MlpForMultipleChoiceVqa(config)
        head = model.head
    else:
        sizes = {"image_size": Pixels(2).kind.dim, "text_size": DIM, "hidden_size": 8}
        if kind == "spatial":
            model = SpatialAttentionForMultipleChoiceVqa(SpatialAttentionVqaConfig(attention_size=6, **sizes))
        else:
            config = HieCoAttentionVqaConfig(level_size=6, joint_size=7, lstm_layers=1, **sizes)
            model = HieCoAttentionForMultipleChoiceVqa(config)
        head = model.mlp.head
    head.norm.running_mean.uniform_(-0.2, 0.2)
    head.norm.running_var.uniform_(0.02, 0.2)
    return model.eval()


def processor_of(model: torch.nn.Module, vectors: WordVectors) -> VqaProcessor:
    inputs = declared_model(model.config).inputs
    grid = 2 if "image_grid" in inputs else None
    kind = Pixels(grid).kind if any(name.startswith("image") for name in inputs) else None
    return processor_with(TextFeatures.of(vectors, TRAINING_TEXTS), kind, *inputs)


def processor_with(text: TextFeatures, kind: FeatureKind | None, *inputs: str, **options: str) -> VqaProcessor:
    """A processor of choices with these word vectors."""
    return VqaProcessor(QuestionTexts(vectors=text), kind, {CHOICES, *inputs}).with_options(**options)


def checkpoint(folder: Path, kind: str, seed: int = 0) -> Path:
    """A folder as save_pretrained of model and processor leave it."""
    folder.mkdir(parents=True, exist_ok=True)
    model = model_of(kind, seed)
    model.save_pretrained(folder)
    processor_of(model, word_vectors(folder.parent)).save_pretrained(folder)
    return folder


def picture(seed: int, size: tuple[int, int] = (40, 30)) -> Image.Image:
    """Coloured noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    return Image.fromarray(pixels)


def assert_loaded_in_a_new_process(python, model, given, folder, *imports):
    """The saved model is loaded by the Auto classes of a process with these imports, with the same logits."""
    model.save_pretrained(folder / "m")
    torch.save(given, folder / "given.pt")
    program = "\n".join([*(imports or (REGISTRATION, AUTO_CLASS)), LOADED])
    command = [python, "-c", program, folder / "given.pt", folder / "m"]
    name, *logits = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert name == type(model).__name__
    assert list(map(float, logits)) == pytest.approx(model(**given).logits.flatten().tolist(), abs=1e-6)
    assert type(AutoConfig.from_pretrained(folder / "m")) is type(model.config)
    assert type(AutoModelForMultipleChoice.from_config(model.config)) is type(model)
