"""A model from outside the package trains, predicts, transfers, is pushed, and answers in the pipeline."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedConfig, PreTrainedModel, pipeline
from transformers.modeling_outputs import MultipleChoiceModelOutput

import hf_vqa_mc as vm
from hf_vqa_mc.models import MODELS, Model
from tests.training import toy_dataset, transfer_world


class BilinearConfig(PreTrainedConfig):
    model_type = "toy_bilinear"
    text_size: int = 300
    image_size: int = 2048
    rank: int = 16


class Bilinear(PreTrainedModel):
    """Question and choice through a linear layer each, then their product."""

    config_class = BilinearConfig

    def __init__(self, config):
        super().__init__(config)
        self.question = nn.Linear(config.text_size, config.rank)
        self.choice = nn.Linear(config.text_size, config.rank)
        self.post_init()

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            module.reset_parameters()

    def forward(self, choice_vectors, question_vectors, choice_mask=None, labels=None, choice_indices=None):
        choices = choice_vectors if choice_indices is None else choice_vectors[choice_indices]
        logits = torch.einsum("bcr,br->bc", self.choice(choices), self.question(question_vectors))
        if choice_mask is not None:
            logits = logits.masked_fill(~choice_mask, torch.finfo(logits.dtype).min)
        loss = None if labels is None else functional.cross_entropy(logits, labels)
        return MultipleChoiceModelOutput(loss=loss, logits=logits)


BILINEAR = Model(
    name="bilinear",
    title="Bilinear",
    description="the product of what it makes of question and candidate answer",
    source="nowhere",
    config_class=BilinearConfig,
    model_class=Bilinear,
    inputs=frozenset(("question_vectors",)),
)


@pytest.fixture
def bilinear():
    MODELS.add(BILINEAR)
    yield
    del MODELS["bilinear"]


@pytest.mark.slow
def test_a_model_from_outside_goes_through_all_verbs(bilinear, tmp_path, monkeypatch):
    import datasets
    from typer.testing import CliRunner

    from hf_vqa_mc.cli import app

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    data = transfer_world.make(Path("vqa_mc"))
    vectors = toy_dataset.vectors_file(tmp_path)
    recipe = {"batch_size": 20, "held_out": 0.2, "optimizer": "adam", "learning_rate": 0.03}
    trained = vm.train(
        str(data), "visual7w_orig", output=Path("run"), model="bilinear", word_vectors=str(vectors), epochs=3,
        model_settings={"rank": 8}, **recipe,
    )  # fmt: skip
    assert (losses := trained.to_pandas()["loss"]).iloc[-1] < losses.iloc[0]
    assert "bilinear on visual7w_orig, test" in repr(trained)

    predicted = vm.predict(trained.model_folder, data, "visual7w_orig", word_vectors=str(vectors))
    frame = predicted.to_pandas()
    accuracy = trained.to_dict()["results"]["test"]["accuracy"]
    assert (frame["label"] == frame["target"]).mean() == predicted.to_dict()["results"]["accuracy"] == accuracy

    moved = vm.transfer(
        data, output=Path("moved"), targets=["vqa_orig"], init_from=str(trained.model_folder),
        word_vectors=str(vectors), fine_tuning_recipe={**recipe, "epochs": 1},
    )  # fmt: skip
    (row,) = moved.to_pandas().to_dict("records")
    assert (moved.figures["model"], row["config"]) == ("bilinear", "vqa_orig")
    assert 0 <= row["as_is"] <= 1 and 0 <= row["fine_tuned"] <= 1

    words = ["push", "model", "ada/bilinear", "--folder", str(trained.model_folder), "--dry-run", "--json"]
    pushed = CliRunner().invoke(app, words)
    assert pushed.exit_code == 0, pushed.output
    assert "model.safetensors" in pushed.stdout

    from hf_vqa_mc.hub.model_card import model_card, read_record

    card = model_card(read_record(trained.model_folder), "ada/bilinear")
    assert "Bilinear: the product of what it makes of question and candidate answer." in card
    assert "It cannot see the image." in card

    answer = pipeline("multiple-choice-vqa", model=str(trained.model_folder), new_words="skip")
    question = {"question": "What colour is it?", "choices": ["red", "shape", "kind"]}
    assert answer(question)["answer"] in question["choices"]
    assert "--model bilinear" in json.loads((trained.model_folder / "training.json").read_text())["command"]
