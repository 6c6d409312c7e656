"""MAC: memory, attention and composition (Hudson and Manning 2018), the best model in GQA's paper."""

from functools import partial

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_packed_sequence
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.attention import AttendingModel, average, side_of
from hf_vqa_mc.models.model import Model, QuestionImageConfig
from hf_vqa_mc.models.question_texts import PADDING, packed
from hf_vqa_mc.recipe import Recipe


@strict
class MacVqaConfig(QuestionImageConfig):  # type: ignore[no-untyped-call]
    """Sizes of MAC; the defaults are those of Hudson and Manning 2018 (supplement A), with GQA's four cells.

    It is the plain MAC, without self-attention between steps and without a memory gate. Words are learned vectors,
    initialised from ``--word-vectors`` if they are given.
    """

    model_type = "vqa_mac"

    word_size: int = 300  #: dimensions of a word vector
    size: int = 512  #: dimensions of control, memory and all else; even
    steps: int = 4  #: MAC cells: 4 on GQA (Hudson and Manning 2019, section 4.2), 12 on CLEVR (2018)
    sees_regions: bool = False  #: whether images are regions: linear layers instead of 3x3 convolutions
    dropout: float | int = 0.15  #: of words, image, read, classifier, and of the memory, with one mask in all steps

    def validate_size(self) -> None:
        """Raise InputError unless the size is even."""
        if self.size % 2:
            raise InputError(f"size is {self.size}, expected an even number, half for each direction of the LSTM")


class MacForOpenEndedVqa(AttendingModel):
    """Bidirectional LSTM and two convolutions -> steps of control, read and write -> classifier.

    The grid is square, unless ``sees_regions``.
    """

    config_class = MacVqaConfig
    base_model_prefix = "mac"

    def __init__(self, config: MacVqaConfig) -> None:
        super().__init__(config)
        size, answers = config.size, config.num_labels or 0
        self.words = nn.Embedding(config.vocabulary_size, config.word_size, PADDING)
        self.lstm = nn.LSTM(config.word_size, size // 2, batch_first=True, bidirectional=True)
        layers = [nn.Linear if config.sees_regions else partial(nn.Conv2d, kernel_size=3, padding=1)] * 2
        self.image = nn.Sequential(
            layers[0](config.image_size, size),
            nn.ELU(),
            layers[1](size, size),
            nn.ELU(),
        )
        self.first_control, self.first_memory = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.zeros(size))
        self.question_of_step = nn.ModuleList(nn.Linear(size, size) for _ in range(config.steps))
        self.control, self.word_score = nn.Linear(2 * size, size), nn.Linear(size, 1)
        self.read_memory, self.read_image = nn.Linear(size, size), nn.Linear(size, size)
        self.read_both, self.cell_score = nn.Linear(2 * size, size), nn.Linear(size, 1)
        self.write = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Sequential(
            nn.Linear(2 * size, size), nn.ELU(), nn.Dropout(config.dropout), nn.Linear(size, answers)
        )
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self:
            for first in (self.first_control, self.first_memory):
                nn.init.normal_(first)

    def _answer(
        self, question_indices: Tensor, cells: Tensor, mask: Tensor | None, labels: Tensor | None
    ) -> SequenceClassifierOutput:
        vectors = self.dropout(self.words(question_indices))
        outputs, (hidden, _) = self.lstm(packed(vectors, question_indices))
        words, question = pad_packed_sequence(outputs, batch_first=True)[0], torch.cat([*hidden], -1)
        word_mask = (question_indices != PADDING)[:, : words.shape[1]]
        cells = self._cells(cells)
        control = self.first_control.expand(len(question), -1)
        memory = self.first_memory.expand(len(question), -1)
        kept = self.dropout(torch.ones_like(memory))  # the same in all steps (Gal and Ghahramani 2016)
        seen, attentions = self.read_image(self.dropout(cells)), []
        for of_step in self.question_of_step:
            wanted = self.control(torch.cat([control, of_step(question)], -1))
            control, _ = average(words, self.word_score(wanted[:, None] * words).squeeze(-1), word_mask)
            joint = self.read_memory(memory * kept)[:, None] * seen
            joint = functional.elu(self.read_both(torch.cat([joint, cells], -1)))
            scores = self.cell_score(self.dropout(functional.elu(control[:, None] * joint))).squeeze(-1)
            found, attention = average(cells, scores, mask)
            memory = self.write(torch.cat([found, memory], -1))
            attentions.append(attention)
        return answer_output(self.classifier(torch.cat([memory, question], -1)), labels, tuple(attentions))

    def _cells(self, image_grid: Tensor) -> Tensor:
        """The image's cells after two convolutions, or its regions after two layers, (batch, cells, size)."""
        if self.config.sees_regions:
            regions: Tensor = self.image(self.dropout(image_grid))
            return regions
        grid = self.dropout(image_grid).transpose(1, 2).unflatten(2, (side_of(image_grid), -1))
        cells: Tensor = self.image(grid).flatten(2).transpose(1, 2)
        return cells


MAC = Model(
    name="mac",
    title="MAC",
    description="steps of attention to words and to a grid of the image, with a memory",
    source="Hudson and Manning 2018",
    config_class=MacVqaConfig,
    model_class=MacForOpenEndedVqa,
    inputs=frozenset(("question_indices", "image_grid", "image_regions")),
    recipe=Recipe("adam", 3e-4, 128, 15.0, clip_norm=8.0, average_weights=0.999),
    open_ended=True,
)
"""Adam and 15 epochs are those of GQA's paper (Hudson and Manning 2019, appendix C), clipping and the moving average
of the weights those of MAC's code. GQA's paper reports neither the learning rate nor the batch size, and has a
classifier of sigmoids, as ``--targets soft`` trains; the default is the cross-entropy of the answer."""
