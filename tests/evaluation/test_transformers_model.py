"""Models of transformers give the probabilities of a plain loop over single prompts, however they are batched."""

import dataclasses

import pytest
import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.language_model import Prompt
from hf_vqa_mc.evaluation.transformers_model import TransformersModel
from tests.evaluation import tiny_models
from tests.evaluation.worlds import picture

CHOICES = ("red", "two dogs", "a small green ring", "blue")
TEXTS = ["Question: what color is the shape ?", "what ?", "Question: is the small ring red or blue ?\nA. red\nB. blue"]
TEXT_PROMPTS = [Prompt(text, CHOICES[: 2 + at % 3]) for at, text in enumerate(TEXTS)]
SIZES = [(28, 28), (56, 30), (40, 70)]
IMAGE_PROMPTS = [
    dataclasses.replace(prompt, images=(picture((80 * at, 200, 10), size),))
    for at, (prompt, size) in enumerate(zip(TEXT_PROMPTS, SIZES, strict=True))
]


def plain_inputs(folder, prompt, chats=True):
    """The tensors of one prompt, made by hand."""
    if prompt.image is not None:
        from transformers import AutoProcessor

        processor = AutoProcessor.from_pretrained(folder)
        return processor(
            text=f"<s>user: <image>\n{prompt.text} assistant:",
            images=prompt.picture,
            add_special_tokens=False,
            return_tensors="pt",
        )
    text = f"<s>user: {prompt.text} assistant:" if chats else f"{prompt.text}\nAnswer:"
    return tiny_models.tokenizer()(text, add_special_tokens=False, return_tensors="pt")


def plain_scores(folder, model, prompt, chats=True):
    """The log-probability of each choice, token by token."""
    found = []
    for choice in prompt.choices:
        inputs = dict(plain_inputs(folder, prompt, chats))
        total = 0.0
        for token in tiny_models.tokenizer()(choice, add_special_tokens=False)["input_ids"]:
            with torch.no_grad():
                total += float(model(**inputs).logits[0, -1].log_softmax(-1)[token])
            inputs["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([[token]])], 1)
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        found.append(total)
    return found


def test_texts_at_a_temperature_differ_between_samples_and_not_between_runs(language):
    prompts = [dataclasses.replace(TEXT_PROMPTS[0], sample=sample) for sample in range(4)]
    runs = [
        [model.generate([prompt])[0].text for prompt in prompts]
        for model in (TransformersModel(str(language), device="cpu", temperature=1.0, max_tokens=8) for _ in range(2))
    ]
    assert runs[0] == runs[1] and len(set(runs[0])) > 1


@pytest.fixture(params=["images", "texts of a vision model", "llama", "gpt2", "gpt2 without chats"])
def case(request, tmp_path, vision_language, language):
    """A folder, its prompts, and whether it has a chat template."""
    if request.param in ("images", "texts of a vision model"):
        return vision_language, IMAGE_PROMPTS if request.param == "images" else TEXT_PROMPTS, True
    if request.param == "llama":
        return language, TEXT_PROMPTS, True
    chats = request.param == "gpt2"
    return tiny_models.language(tmp_path / "gpt2", chats, "gpt2"), TEXT_PROMPTS, chats


def test_likelihoods_and_letters_are_those_of_single_prompts(case):
    folder, prompts, chats = case
    model = TransformersModel(str(folder), batch_size=5)
    plain = [plain_scores(folder, model._model, prompt, chats) for prompt in prompts]
    replies = model.likelihood(prompts) + model.likelihood(prompts)  # the first batch is read in two ways
    for reply, scores, prompt in zip(replies, plain * 2, prompts * 2, strict=True):
        assert reply.scores == pytest.approx(scores, abs=1e-5)
        assert reply.lengths == tuple(len(choice.split()) for choice in prompt.choices)
    for prompt, reply in zip(prompts, model.letter(prompts), strict=True):
        with torch.no_grad():
            logits = model._model(**plain_inputs(folder, prompt, chats)).logits[0, -1].log_softmax(-1)
        expected = [float(logits[tiny_models.WORDS.index("ABCD"[at])]) for at in range(len(prompt.choices))]
        assert reply.scores == pytest.approx(expected, abs=1e-5)


def test_texts_of_a_batch_are_those_of_single_prompts(case):
    folder, prompts, chats = case
    model = TransformersModel(str(folder), max_tokens=6)
    for prompt, reply in zip(prompts, model.generate(prompts), strict=True):
        inputs = plain_inputs(folder, prompt, chats)
        written = model._model.generate(**inputs, max_new_tokens=6, do_sample=False, pad_token_id=0)
        expected = tiny_models.tokenizer().decode(written[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        assert reply.text == expected
        assert reply.tokens[0] == inputs["input_ids"].shape[1]
        assert reply.cut_off == (2 not in written[0])  # the end of the text


def test_likelihoods_of_cross_attention_are_those_of_letters_and_of_single_prompts(tmp_path):
    model = TransformersModel(str(tiny_models.cross_attention(tmp_path / "model")))
    prompts = [dataclasses.replace(prompt, choices=("A", "B", "two dogs")) for prompt in IMAGE_PROMPTS]
    for prompt, reply, letters in zip(prompts, model.likelihood(prompts), model.letter(prompts), strict=True):
        assert reply.scores == pytest.approx(model.likelihood([prompt])[0].scores, abs=1e-5)
        assert reply.scores[:2] == pytest.approx(letters.scores[:2], abs=1e-5)
    blue = dataclasses.replace(prompts[0], images=(picture((0, 0, 250), SIZES[0]),))
    assert model.likelihood([blue])[0].scores != pytest.approx(model.likelihood(prompts[:1])[0].scores, abs=1e-4)


def test_prompts_with_and_without_images_may_be_mixed(vision_language):
    model = TransformersModel(str(vision_language))
    mixed = [IMAGE_PROMPTS[0], TEXT_PROMPTS[0], IMAGE_PROMPTS[1]]
    apart = [model.letter([prompt])[0].scores for prompt in mixed]
    assert [reply.scores for reply in model.letter(mixed)] == [pytest.approx(scores, abs=1e-5) for scores in apart]


def test_a_prompt_that_is_too_long_is_a_failure_and_the_others_are_answered(tmp_path):
    model = TransformersModel(str(tiny_models.language(tmp_path / "short", longest=32)))
    long = Prompt("red " * 40, CHOICES)
    replies = model.letter([TEXT_PROMPTS[0], long])
    assert replies[0].scores and not replies[0].failure
    assert replies[1].failure == "the prompt has 43 tokens, and the model reads 32"


def test_a_prompt_with_too_little_space_for_the_answer_is_a_failure(tmp_path):
    model = TransformersModel(str(tiny_models.language(tmp_path / "short", kind="gpt2", longest=32)), max_tokens=8)
    near = Prompt("red " * 24, ("red blue " * 5, "blue"))  # 27 tokens
    for ask, added in ((model.generate, 8), (model.likelihood, 10)):
        short, long = ask([TEXT_PROMPTS[1], near])
        assert not short.failure
        assert long.failure == f"the prompt has 27 tokens and up to {added} are added, and the model reads 32"
    assert not model.letter([near])[0].failure


def test_what_is_no_model_for_this_is_rejected(tmp_path, vision_language):
    without = tiny_models.vision_language(tmp_path / "base", chats=False)
    with pytest.raises(InputError, match="has no chat template, which places the image"):
        TransformersModel(str(without))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"cannot be loaded: .*; expected a folder of save_pretrained"):
        TransformersModel(str(tmp_path / "empty"))
    damaged = tiny_models.language(tmp_path / "damaged")
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    with pytest.raises(InputError, match="cannot be loaded"):
        TransformersModel(str(damaged))


def test_a_tokenizer_without_single_letters_is_rejected_with_a_remedy(language):
    model = TransformersModel(str(language))
    many = Prompt("what ?", tuple(f"choice {at}" for at in range(9)))  # it has letters A to H
    with pytest.raises(InputError, match="no single token for the letter I; use --method likelihood or generate"):
        model.letter([many])
