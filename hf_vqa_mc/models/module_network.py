"""Neural module networks (Andreas et al. 2016, NMN): a network assembled for each question from shared modules."""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.attention import average, image_positions, side_of
from hf_vqa_mc.models.layouts import ATTENDING, MODULES
from hf_vqa_mc.models.model import Model, QuestionImageConfig, VqaModel
from hf_vqa_mc.models.question_texts import PADDING, packed
from hf_vqa_mc.recipe import Recipe

EXCLUDED = -1e4  # score of padding, which is not attended to
EDGES = 4  # left, top, right and bottom edge of a cell or region
COMBINED = 4  # what combine weighs: both scores, their minimum and their maximum


@strict
class ModuleNetworkVqaConfig(QuestionImageConfig):  # type: ignore[no-untyped-call]
    """Sizes of NMN; the LSTM's is that of Andreas et al. 2016 (section 4.4), who report no others; these are ours.

    In the paper each module and word has weights of its own. Here the modules of a type share layers, and a word acts
    by its vector, as in their second paper ("Learning to compose neural networks"): words that are rare in training
    share what is learned, and the number of cells may differ. Attentions are scores; modules that look at what is
    attended take their softmax, and ``measure`` the largest score and the number of attended cells. ``compare``, of
    two answers, is not in the paper; GQA's programs need it.
    """

    model_type = "vqa_module_network"

    layout_words: int = 10000  #: number of word indices of layouts
    word_size: int = 300  #: dimensions of a word vector, of questions and of layouts
    size: int = 512  #: dimensions of the modules' layers and of what is added to the LSTM's output
    lstm_size: int = 1000  #: units of the LSTM that reads the question
    reads_question: bool = True  #: whether the LSTM's output is added to that of the root
    sees_positions: bool = True
    """whether the edges of a cell or region are added to its features, and to what transform sees, without which no
    module knows what is left"""
    dropout: float | int = 0.5  #: of the classifier and of the LSTM's output


class ModuleNetworkForOpenEndedVqa(VqaModel):
    """Modules as the question's layout says; their root, plus an LSTM of the question -> ReLU -> classifier."""

    config_class = ModuleNetworkVqaConfig
    base_model_prefix = "module_network"

    def __init__(self, config: ModuleNetworkVqaConfig) -> None:
        super().__init__(config)
        size, answers = config.size, config.num_labels or 0
        self.layout_words = nn.Embedding(config.layout_words, config.word_size, PADDING)
        outputs = {name: COMBINED if name == "combine" else size for name in MODULES}
        self.weights = nn.ModuleDict({name: nn.Linear(config.word_size, of) for name, of in outputs.items()})
        """of a module, from the vector of its word"""
        self.combining = nn.Parameter(torch.zeros(COMBINED))
        self.cells = nn.Linear(config.image_size + EDGES * config.sees_positions, size)
        placed = size + EDGES * config.sees_positions
        self.near, self.attended = nn.Linear(placed, size), nn.Linear(placed, size)
        self.seen, self.counted = nn.Linear(size, size), nn.Linear(2, size)
        self.first_answer, self.second_answer = nn.Linear(size, size), nn.Linear(size, size)
        self.result = nn.ModuleDict({name: nn.Linear(size, size) for name in MODULES if name not in ATTENDING})
        if config.reads_question:
            self.words = nn.Embedding(config.vocabulary_size, config.word_size, PADDING)
            self.lstm = nn.LSTM(config.word_size, config.lstm_size, batch_first=True)
            self.question = nn.Linear(config.lstm_size, size)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(size, answers)
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self:  # before training, the result of combine is near to the minimum
            with torch.no_grad():
                self.combining.zero_()[2] = 1

    def forward(
        self,
        question_indices: Tensor,
        question_layouts: Tensor,
        image_grid: Tensor | None = None,
        labels: Tensor | None = None,
        *,
        image_regions: Tensor | None = None,
        region_mask: Tensor | None = None,
        region_boxes: Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """As `AttendingModel.forward`, with question_layouts: int64 (batch, nodes, 5), see `layout_tensor`.

        A model that sees positions takes a square image_grid, or regions with region_boxes: float32 (batch, regions,
        4), see `image_tensors`. ``attentions`` has one, that of the last module that attends.
        """
        given = image_positions(self.config.image_size, image_grid, image_regions, region_mask)
        if self.config.sees_positions:
            given = self._with_edges(given, region_boxes)
        cells = self.cells(given).relu()
        placed = torch.cat([cells, given[..., -EDGES:]], -1) if self.config.sees_positions else cells
        joint, attention = self._run(question_layouts, cells, placed, region_mask)
        if self.training:  # modules that no question of the batch has get gradients of 0, as optimizers and DDP expect
            of_modules = ("weights", "result", "near", "attended", "seen", "counted", "first_answer", "second_answer")
            unused = [weight for name in of_modules for weight in self.get_submodule(name).parameters()]
            joint = joint + 0 * torch.stack([weight.sum() for weight in (*unused, self.combining)]).sum()
        if self.config.reads_question:
            hidden = self.lstm(packed(self.words(question_indices), question_indices))[1][0][0]
            joint = joint + self.question(self.dropout(hidden))
        return answer_output(self.classifier(self.dropout(joint.relu())), labels, (attention,))

    def _with_edges(self, positions: Tensor, region_boxes: Tensor | None) -> Tensor:
        """The cells or regions with their edges in [-1, 1]: (batch, positions, size + `EDGES`)."""
        if region_boxes is None:
            side = side_of(positions)
            line = torch.arange(side, device=positions.device) / side
            first = torch.stack(torch.meshgrid(line, line, indexing="xy"), -1).flatten(0, 1)
            region_boxes = torch.cat([first, first + 1 / side], -1).expand(len(positions), -1, -1)
        return torch.cat([positions, 2 * region_boxes.to(positions.dtype) - 1], -1)

    def _run(self, layouts: Tensor, cells: Tensor, placed: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The result of each layout's root (batch, size), and its last attention (batch, cells)."""
        batch, nodes = layouts.shape[:2]
        module, words, first, second, depth = layouts.flatten(0, 1).unbind(1)
        question = torch.arange(batch, device=cells.device).repeat_interleave(nodes)
        first, second = first + question * nodes, second + question * nodes
        vectors, near = self.layout_words(words), self.near(placed)
        scores, results = cells.new_zeros(len(words), cells.shape[1]), cells.new_zeros(len(words), self.config.size)
        steps = torch.where(module > 0, depth * (len(MODULES) + 1) + module, 0)
        for step in torch.unique(steps).tolist():  # ascending by depth
            if not step:  # padding
                continue
            name = MODULES[step % (len(MODULES) + 1) - 1]
            at = (steps == step).nonzero()[:, 0]
            weights, mine = self.weights[name](vectors[at]), question[at]
            if name in ATTENDING:
                given = scores[first[at]], scores[second[at]]
                found = self._attend(name, weights, given, cells[mine], placed[mine], near[mine])
                if mask is not None:
                    found = found.masked_fill(~mask[mine], EXCLUDED)
                scores = scores.index_copy(0, at, found.to(scores.dtype))
            else:
                answers = results[first[at]], results[second[at]]
                hidden = self._hidden(name, scores[first[at]], answers, cells[mine])
                found = self.result[name](hidden.relu() * weights)
                results = results.index_copy(0, at, found.to(results.dtype))
        order = torch.arange(1, nodes + 1, device=cells.device)
        rows = torch.arange(batch, device=cells.device) * nodes
        module = module.view(batch, nodes)
        last = rows + ((module > 0) * order).argmax(1)
        attending = rows + (((module > 0) & (module <= len(ATTENDING))) * order).argmax(1)
        return results[last], scores[attending].softmax(-1)

    def _attend(
        self, name: str, weights: Tensor, given: tuple[Tensor, Tensor], cells: Tensor, placed: Tensor, near: Tensor
    ) -> Tensor:
        """Scores (nodes, cells) of a module that attends."""
        if name == "find":
            return (cells @ weights[:, :, None]).squeeze(-1)
        if name == "transform":
            seen, _ = average(placed, given[0], None)
            found: Tensor = ((near + self.attended(seen)[:, None]).relu() @ weights[:, :, None]).squeeze(-1)
            return found
        both = torch.stack([*given, torch.minimum(*given), torch.maximum(*given)], -1)
        return (both @ (weights + self.combining)[:, :, None]).squeeze(-1)

    def _hidden(self, name: str, given: Tensor, answers: tuple[Tensor, Tensor], cells: Tensor) -> Tensor:
        """Hidden units (nodes, size) of a module that answers, before its word acts."""
        if name == "describe":
            found: Tensor = self.seen(average(cells, given, None)[0])
        elif name == "measure":
            found = self.counted(torch.stack([given.amax(-1), given.sigmoid().sum(-1).log1p()], -1))
        else:
            found = self.first_answer(answers[0]) + self.second_answer(answers[1])
        return found


NMN = Model(
    name="nmn",
    title="NMN",
    description="a network assembled for each question from modules that find, transform, combine, describe, measure",
    source="Andreas et al. 2016",
    config_class=ModuleNetworkVqaConfig,
    model_class=ModuleNetworkForOpenEndedVqa,
    inputs=frozenset(("question_indices", "question_layouts", "image_grid", "image_regions")),
    recipe=Recipe("adadelta", 1.0, 100, 10.0),
    open_ended=True,
)
"""AdaDelta as in the paper (section 4.4), which reports neither batch size nor epochs; these are ours."""
