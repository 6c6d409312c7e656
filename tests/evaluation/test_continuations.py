"""Continuations score as in a loop over single tokens, also with positions and states of other kinds."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    AutoModelForCausalLM,
    MambaConfig,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
)

from hf_vqa_mc.evaluation.transformers_model import Continuations
from tests.evaluation import tiny_models

WORDS, IMAGE, PAD = len(tiny_models.WORDS), tiny_models.WORDS.index("<image>"), 0
LENGTHS = (9, 4, 14)
GRIDS = ((4, 6), (2, 2), (8, 4))
"""Rows and columns of patches of each prompt's image."""


def qwen2_vl():
    """Counts the positions of an image by its sides, not by its patches."""
    text = tiny_models.text_config().to_dict() | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}
    text["rope_parameters"]["mrope_section"] = [2, 3, 3]
    vision = {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "patch_size": 2, "mlp_ratio": 2}
    config = Qwen2VLConfig(text_config=text, vision_config=vision, image_token_id=IMAGE)
    return Qwen2VLForConditionalGeneration(config)


def recurrent():
    sizes = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "initializer_range": 0.4, "state_size": 4}
    return AutoModelForCausalLM.from_config(MambaConfig(**sizes))


MODELS = {
    "qwen2-vl": qwen2_vl,
    "recurrent": recurrent,
}


def prompts_of(name):
    """The tensors of each prompt alone."""
    draw = torch.Generator().manual_seed(1)
    found = []
    for length, (high, wide) in zip(LENGTHS, GRIDS, strict=True):
        words = torch.randint(5, WORDS, (length,), generator=draw)
        one = {}
        if name == "qwen2-vl":
            one["pixel_values"] = torch.randn(high * wide, 24, generator=draw, dtype=torch.float64)
            one["image_grid_thw"] = torch.tensor([[1, high, wide]])
            words = torch.cat([words[:2], torch.full((high * wide // 4,), IMAGE), words[2:]])
            one["mm_token_type_ids"] = (words == IMAGE).long()[None]
        found.append({"input_ids": words[None], "attention_mask": torch.ones_like(words)[None], **one})
    return found


def batched(ones):
    """The tensors of prompts, padded on the left."""
    most = max(one["input_ids"].shape[1] for one in ones)
    return {
        name: torch.cat(
            [
                torch.nn.functional.pad(one[name], (most - one["input_ids"].shape[1], 0))
                if one[name].shape == one["input_ids"].shape
                else one[name]
                for one in ones
            ]
        )
        for name in ones[0]
    }


def plain_score(model, prompt, tokens):
    """The log-probability of tokens after a prompt, one at a time."""
    total, inputs = 0.0, dict(prompt)
    for token in tokens:
        with torch.no_grad():
            total += float(model(**inputs, use_cache=False).logits[0, -1].log_softmax(-1)[token])
        for name, value in (("input_ids", token), ("attention_mask", 1), ("mm_token_type_ids", 0)):
            if name in inputs:
                inputs[name] = torch.cat([inputs[name], torch.tensor([[value]])], 1)
    return total


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """A model, its prompts, and their continuations' scores."""
    torch.manual_seed(0)
    model = MODELS[request.param]().double().eval().requires_grad_(False)  # so that rounding hides nothing
    found = Continuations(model, sees_images=request.param == "qwen2-vl", pad=PAD, batch_size=4)
    prompts = prompts_of(request.param)

    def scores(rows):
        return found.scores(batched(prompts), rows, lambda which: batched([prompts[one] for one in which]))

    return model, prompts, scores


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data())
def test_scores_are_those_of_a_loop_over_tokens(case, data):
    model, prompts, scores = case
    tokens = st.lists(st.integers(5, WORDS - 1), min_size=1, max_size=5)
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), tokens), min_size=1, max_size=9))
    plain = [plain_score(model, prompts[prompt], of_row) for prompt, of_row in rows]
    assert scores(rows) == pytest.approx(plain, abs=1e-5, rel=1e-6)
