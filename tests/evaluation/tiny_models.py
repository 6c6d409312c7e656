"""Tiny models with random weights in transformers' formats, and real tokenizers of a few words."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    GPT2Config,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    MllamaConfig,
    MllamaForConditionalGeneration,
    MllamaImageProcessorPil,
    MllamaProcessor,
    PreTrainedTokenizerFast,
)

WORDS = (
    "<pad> <s> </s> <image> <unk> user: assistant: Question : ? . what color is the shape red green blue two dogs a "
    "small ring Answer with letter of correct choice only word or short phrase A B C D E F G H"
).split()
CHAT = (
    "<s>{% for message in messages %}user: {% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endif %}{% endfor %}{% if add_generation_prompt %} assistant:{% endif %}"
)


def tokenizer(chats=True, longest=512):
    """Words and signs; others are <unk>."""
    made = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(".", "isolated"),
            pre_tokenizers.Split("?", "isolated"),
        ]
    )
    found = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>",
        model_max_length=longest,
    )  # fmt: skip
    found.add_special_tokens({"additional_special_tokens": ["<image>"]})
    if chats:
        found.chat_template = CHAT
    return found


def text_config(longest=512):
    return LlamaConfig(
        vocab_size=len(WORDS), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=longest, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        initializer_range=0.4,
    )  # fmt: skip


def vision_config():
    return CLIPVisionConfig(
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=28, patch_size=14,
        projection_dim=16, initializer_range=0.4,
    )  # fmt: skip


def vision_language(folder, chats=True, longest=512, vision=None, text=None):
    """LLaVA: images of 28 x 28 pixels as 4 patches, or as the configs say."""
    torch.manual_seed(0)
    vision = vision or vision_config()
    config = LlavaConfig(
        vision_config=vision, text_config=text or text_config(longest), image_token_id=WORDS.index("<image>")
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    side = vision.image_size
    pictures = CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size={"height": side, "width": side})
    LlavaProcessor(
        image_processor=pictures, tokenizer=tokenizer(chats, longest), chat_template=CHAT if chats else None,
        patch_size=14, vision_feature_select_strategy="default", num_additional_image_tokens=1,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def cross_attention(folder):
    """Mllama: images of 1 to 4 tiles of 56 x 56 pixels, which the text attends to."""
    torch.manual_seed(0)
    words = tokenizer()
    words.add_special_tokens({"additional_special_tokens": ["<|image|>"]})
    vision = {
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_global_layers": 1,
        "attention_heads": 2, "image_size": 56, "patch_size": 14, "max_num_tiles": 4, "vision_output_dim": 64,
        "intermediate_layers_indices": [0],
        "supported_aspect_ratios": [[wide, high] for wide in range(1, 5) for high in range(1, 5) if wide * high <= 4],
    }  # fmt: skip
    text = {
        "vocab_size": len(words), "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 2, "cross_attention_layers": [1], "pad_token_id": 0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}, "initializer_range": 0.4,
    }  # fmt: skip
    image_token = words.convert_tokens_to_ids("<|image|>")
    config = MllamaConfig(vision_config=vision, text_config=text, image_token_index=image_token)
    made = MllamaForConditionalGeneration(config)
    for name, weights in made.named_parameters():
        if name.endswith(("gate", "attn_gate", "mlp_gate")):
            weights.data.fill_(1.0)  # zero before training: images would have no effect
    made.save_pretrained(folder)
    pictures = MllamaImageProcessorPil(size={"height": 56, "width": 56}, max_image_tiles=4)
    chat = CHAT.replace("<image>", "<|image|>")
    MllamaProcessor(image_processor=pictures, tokenizer=words, chat_template=chat).save_pretrained(folder)
    return folder


def language(folder, chats=True, kind="llama", longest=512):
    """A causal language model: Llama, or GPT-2 with its learned positions."""
    torch.manual_seed(0)
    config = text_config(longest)
    if kind == "gpt2":
        config = GPT2Config(
            vocab_size=len(WORDS), n_embd=32, n_layer=2, n_head=2, n_positions=longest, initializer_range=0.4,
            bos_token_id=1, eos_token_id=2,
        )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer(chats, longest).save_pretrained(folder)
    return folder
