"""A small checkpoint, as ``vqa-mc train`` leaves it in RUN/best."""

import json
from pathlib import Path
from typing import Any

import numpy as np

VECTORS = {"name": "glove.6B.100d.txt", "sha256": "ab" * 32, "dim": 4}
RECORD: dict[str, Any] = {
    "written_by": "hf_vqa_mc",
    "version": "0.1.0",
    "versions": {"python": "3.12.1", "torch": "2.9.0", "transformers": "5.2.0"},
    "dataset": "vqa_mc",
    "config": "cocoqa_iou_qou",
    "source": {
        "title": "COCO-QA",
        "description": "Questions about images.",
        "homepage": "https://example.org/cocoqa/",
        "licence": "not stated by the publisher",
        "citation": "@misc{nobody2000cocoqa,\n  title={COCO-QA},\n  year={2000}\n}",
    },
    "made_with": {
        "version": "0.1.0",
        "decoys": "generated",
        "triplets": 117684,
        "settings": {"decoys_per_set": 3, "seed": 7},
        "word_vectors": {"name": "glove.txt", "sha256": "cd" * 32, "dim": 100},
        "embedded_images": False,
    },
    "model": "mlp-qa",
    "settings": {
        "model": "mlp-qa", "output": "runs/qa", "epochs": 20.0, "drop_at": [0.7, 0.9], "seed": 3,
    },
    "command": "vqa-mc train vqa_mc cocoqa_iou_qou --output runs/qa --model mlp-qa --epochs 20.0",
    "init_from": None,
    "rows": {"train": 74800, "held_out": 3936, "test": 38948},
    "skipped": 0,
    "word_vectors": VECTORS,
    "image_features": None,
    "processes": 1,
    "device": "cpu",
    "seconds": 812.3,
    "steps": 14960,
    "best_step": 14212,
    "results": {
        "held_out": {"accuracy": 0.53125, "stderr": 0.008, "chance": 1 / 7, "questions": 3936,
                     "chosen_kinds": None, "offered_kinds": None, "per_question_type": None},
        "test": {
            "accuracy": 0.5187, "stderr": 0.0025, "chance": 1 / 7, "questions": 38948,
            "chosen_kinds": {"target": 0.5187, "iou": 0.0963, "qou": 0.385},
            "offered_kinds": {"target": 1 / 7, "iou": 3 / 7, "qou": 3 / 7},
            "per_question_type": {"object": 0.5, "color": 0.6},
        },
    },
    "curve": [{"step": 748, "epoch": 1.0, "loss": 0.41, "learning_rate": 0.1, "accuracy": 0.44}],
}  # fmt: skip
FILES = ["config.json", "model.safetensors", "processor_config.json", "words.safetensors", "training.json"]


def write_record(folder: Path, **changes: Any) -> Path:
    """A folder with nothing but ``training.json``, so and so changed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "training.json").write_text(json.dumps({**RECORD, **changes}), "utf-8")
    return folder


def write_checkpoint(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """A checkpoint of an MLP-QA with 8 hidden units and random weights."""
    import torch

    from hf_vqa_mc.extraction.text_features import TextFeatures
    from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
    from hf_vqa_mc.models.processor import VqaProcessor
    from hf_vqa_mc.models.question_texts import CHOICES, QuestionTexts

    torch.manual_seed(seed)
    model = MlpForMultipleChoiceVqa(MlpVqaConfig(inputs=["question", "answer"], text_size=4, hidden_size=8)).eval()
    model.save_pretrained(folder)
    words = ("cat", "cup", "is", "table", "the", "what")
    vectors = np.random.default_rng(seed).normal(size=(len(words), 4)).astype(np.float32)
    text = TextFeatures(VECTORS["name"], VECTORS["sha256"], 4, words, vectors, frozenset({"on"}))
    VqaProcessor(QuestionTexts(vectors=text), None, {CHOICES, "question_vectors"}).save_pretrained(folder)
    return write_record(folder, **changes)


def answers(name: str) -> list[Any]:
    """The logits of a model, and what the pipeline makes of a question."""
    import torch
    from transformers import AutoModelForMultipleChoice, pipeline

    import hf_vqa_mc.models  # noqa: F401  registers them

    given = torch.linspace(-1, 1, 24).reshape(2, 3, 4)
    model = AutoModelForMultipleChoice.from_pretrained(name)
    logits = model(choice_vectors=given, question_vectors=given[:, 0]).logits
    answering = pipeline("multiple-choice-vqa", model=name)
    return [logits.tolist(), answering({"question": "What is on the table?", "choices": ["the cat", "the cup"]})]
