"""Multimodal compact bilinear pooling: MCB, and MCB-A with attention (Fukui et al. 2016)."""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.attention import AttendingModel, average
from hf_vqa_mc.models.model import Model, QuestionImageConfig
from hf_vqa_mc.models.question_texts import PADDING, packed
from hf_vqa_mc.recipe import Recipe

LEAST = 1e-12  # added below the square root, whose gradient at 0 is infinite


class CompactBilinear(nn.Module):
    """The count sketch of the outer product of two vectors, by FFT (Pham and Pagh 2013; Gao et al. 2016).

    It is the circular convolution of the sketches of both vectors. Computed in float32 at least, as half precision
    loses the small products.
    """

    def __init__(self, sizes: tuple[int, int], output_size: int, seed: int) -> None:
        super().__init__()
        self.output_size = output_size
        rng = torch.Generator().manual_seed(seed)
        for name, size in zip(("first", "second"), sizes, strict=True):
            self.register_buffer(f"{name}_index", torch.randint(output_size, (size,), generator=rng))
            self.register_buffer(f"{name}_sign", torch.randint(0, 2, (size,), generator=rng).float() * 2 - 1)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """The sketch of first (..., size) and second (..., size), which broadcast: (..., output_size)."""
        with torch.autocast(first.device.type, enabled=False):
            product = self._spectrum(first, "first") * self._spectrum(second, "second")
            found: Tensor = torch.fft.irfft(product, n=self.output_size)
        return found.to(first.dtype)

    def _spectrum(self, given: Tensor, name: str) -> Tensor:
        index, sign = getattr(self, f"{name}_index"), getattr(self, f"{name}_sign")
        kind = torch.promote_types(given.dtype, torch.float32)
        sketch = torch.zeros(*given.shape[:-1], self.output_size, device=given.device, dtype=kind)
        found: Tensor = torch.fft.rfft(sketch.index_add(-1, index, given.to(kind) * sign.to(kind)))
        return found


def signed_root(given: Tensor) -> Tensor:
    """Signed square root and L2 norm 1 of the last dimension."""
    return functional.normalize(given.sign() * (given.abs() + LEAST).sqrt(), dim=-1)


@strict
class McbVqaConfig(QuestionImageConfig):  # type: ignore[no-untyped-call]
    """Sizes of MCB; the defaults are those of Fukui et al. 2016 (sections 3 and 4.2), the dropouts those of its code.

    The paper's models have 3,000 answers; here ``--answers`` is 1,000 by default.
    """

    model_type = "vqa_mcb"

    sees_grid: bool = False  #: whether a grid of the image is attended to (MCB-A)
    word_size: int = 300  #: dimensions of a learned word vector (tanh)
    fixed_word_size: int = 300  #: dimensions of given word vectors, not trained (the paper's are GloVe's); 0: none
    lstm_size: int = 1024  #: units of each layer of the LSTM
    lstm_layers: int = 2  #: layers whose last states are concatenated
    lstm_dropout: float | int = 0.3  #: of the outputs of each layer of the LSTM
    sketch_size: int = 16000  #: dimensions of compact bilinear pooling
    sketch_seed: int = 0  #: seed of the random hashes and signs
    attention_size: int = 512  #: units of the attention of MCB-A
    glimpses: int = 2  #: attention maps of MCB-A
    dropout: float | int = 0.1  #: after each pooling

    may_be_zero = ("fixed_word_size",)


class McbForOpenEndedVqa(AttendingModel):
    """Words -> LSTMs; question and image (with attention: a weighted sum of its cells) -> compact bilinear -> answers.

    Image features are L2-normalised. Each pooling is followed by signed square root, L2 norm and dropout.
    """

    config_class = McbVqaConfig
    base_model_prefix = "mcb"

    def __init__(self, config: McbVqaConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary_size, config.word_size, PADDING)
        self.fixed_words = nn.Embedding(config.vocabulary_size, config.fixed_word_size, PADDING)
        self.fixed_words.requires_grad_(False)
        word_size, layers = config.word_size + config.fixed_word_size, config.lstm_layers
        self.lstm = nn.LSTM(
            word_size, config.lstm_size, layers, batch_first=True, dropout=config.lstm_dropout if layers > 1 else 0.0
        )
        question = layers * config.lstm_size
        size, sketch = config.image_size, config.sketch_size
        if config.sees_grid:
            self.attending = CompactBilinear((question, size), sketch, config.sketch_seed + 1)
            self.attention = nn.Sequential(
                nn.Linear(sketch, config.attention_size), nn.ReLU(), nn.Linear(config.attention_size, config.glimpses)
            )
            size *= config.glimpses
        self.pooling = CompactBilinear((question, size), sketch, config.sketch_seed)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm_dropout = nn.Dropout(config.lstm_dropout)
        self.classifier = nn.Linear(sketch, config.num_labels or 0)
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self.fixed_words:  # words without a given vector
            nn.init.zeros_(self.fixed_words.weight)

    def _answer(
        self, question_indices: Tensor, cells: Tensor, mask: Tensor | None, labels: Tensor | None
    ) -> SequenceClassifierOutput:
        vectors = torch.cat([self.words(question_indices).tanh(), self.fixed_words(question_indices)], -1)
        _, (hidden, _) = self.lstm(packed(vectors, question_indices))
        question = self.lstm_dropout(torch.cat([*hidden], -1))  # the last states of all layers
        cells, attentions = functional.normalize(cells, dim=-1), None
        if self.config.sees_grid:
            joint = self.dropout(signed_root(self.attending(question[:, None], cells)))
            maps = [average(cells, scores, mask) for scores in self.attention(joint).unbind(-1)]
            image = torch.cat([attended for attended, _ in maps], -1)
            attentions = tuple(weights for _, weights in maps)
        else:
            image = cells.squeeze(1)
        scores = self.classifier(self.dropout(signed_root(self.pooling(question, image))))
        return answer_output(scores, labels, attentions)


def _declared(name: str, title: str, description: str, *images: str) -> Model:
    inputs, preset = frozenset(("question_indices", *images)), {"sees_grid": "image_grid" in images}
    of_paper = "Fukui et al. 2016", McbVqaConfig, McbForOpenEndedVqa
    recipe = Recipe("adam", 7e-4, 128, 20.0)
    return Model(name, title, description, *of_paper, inputs, preset, recipe=recipe, open_ended=True)


MCB = _declared("mcb", "MCB", "compact bilinear pooling of question and image", "image_features")
"""Adam and its rate are the paper's (section 4.2), which stops early; batch size and number of epochs are ours."""
_ATTENTION = "compact bilinear pooling, with attention over cells or regions of the image"
MCB_A = _declared("mcb-a", "MCB-A", _ATTENTION, "image_grid", "image_regions")
"""Trained as MCB."""
