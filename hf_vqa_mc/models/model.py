"""The declaration of a model, used by training, prediction, transfer, the pipeline and cards."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMultipleChoice,
    AutoModelForVisualQuestionAnswering,
    AutoProcessor,
    PreTrainedConfig,
    PreTrainedModel,
)

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS, FeatureKind
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.processor import VqaProcessor
from hf_vqa_mc.models.question_texts import CHOICES, TEXT_INPUTS
from hf_vqa_mc.recipe import CHAO, Recipe

SIZES = (
    "image_size",
    "text_size",
    "vocabulary_size",
    "layout_words",
    "bag_size",
    "caption_size",
    "group_count",
    "stored_bags",
    "stored_images",
    "stored_questions",
    "candidates",
    "sees_regions",
)
"""Settings of all configs that are determined by image features, texts and training questions."""


MOST_STEPS = 100  # maximum of a recurrent model's ``steps``; the papers' models have 4 to 12
TASK, OPEN_ENDED_TASK, COUNTER_EXAMPLE_TASK = "multiple-choice-vqa", "open-ended-vqa", "vqa-counterexample"
"""Names of the pipelines."""


@dataclass(frozen=True)
class Model:
    """A model; ``MODELS.add(Model(...))`` adds your own.

    The ``forward`` of a multiple-choice model takes ``choice_vectors``, its ``inputs``, ``choice_mask``, ``labels``
    and ``choice_indices``, and returns ``logits`` (batch, choices) and ``loss``, as `MlpForMultipleChoiceVqa.forward`.
    That of an open-ended model takes its ``inputs`` and ``labels``, and returns ``logits`` (batch, answers) and
    ``loss``, as `AnswerMlpForOpenEndedVqa.forward`.
    """

    name: str  # value of ``--model``
    title: str  # name in cards
    description: str  # description in cards: a sentence without full stop
    source: str  # paper and section
    config_class: type[PreTrainedConfig]
    model_class: type[PreTrainedModel]
    inputs: frozenset[str]
    """inputs of `TEXT_INPUTS` (in addition to choices), and of `IMAGE_INPUTS`, any one of which it takes; with
    ``image_regions`` it gets ``region_mask`` and ``region_boxes``, see `image_tensors`"""
    preset: Mapping[str, Any] = field(default_factory=dict)  # config arguments that define this model
    settings: Mapping[str, Any] = field(default_factory=dict)  # defaults of settings that differ from the config's
    recipe: Recipe = CHAO  # how it is trained unless settings say otherwise
    open_ended: bool = False  # whether it answers from a vocabulary of answers (the labels of its config)

    @property
    def sees_image(self) -> bool:
        """Whether it takes image features."""
        return not self.inputs.isdisjoint(IMAGE_INPUTS)

    @property
    def sees_question(self) -> bool:
        """Whether it takes the question."""
        return any(TEXT_INPUTS.get(name) == "questions" for name in self.inputs)

    def inputs_with(self, kind: FeatureKind | None) -> frozenset[str]:
        """Its inputs, choices included, if the image features are of this kind."""
        image = self.inputs.intersection(IMAGE_INPUTS if kind is None else [kind.input_name])
        return self.inputs.difference(IMAGE_INPUTS) | image | ({CHOICES} if not self.open_ended else set())

    @property
    def explains(self) -> bool:
        """Whether it ranks candidate images as counter-examples to its answer."""
        return hasattr(self.config_class, "candidates")

    @property
    def task(self) -> str:
        """The name of its pipeline; `OPEN_ENDED_TASK` takes all open-ended models."""
        if self.explains:
            return COUNTER_EXAMPLE_TASK
        return OPEN_ENDED_TASK if self.open_ended else TASK

    def register(self) -> None:
        """Register its classes with transformers' Auto classes."""
        AutoConfig.register(self.config_class.model_type, self.config_class, exist_ok=True)
        for auto_class in (AutoModel, self.auto_class):
            auto_class.register(self.config_class, self.model_class, exist_ok=True)
        AutoProcessor.register(self.config_class, VqaProcessor, exist_ok=True)  # type: ignore[no-untyped-call]

    @property
    def auto_class(self) -> Any:  # noqa: ANN401  transformers' are not typed
        """The Auto class of transformers that loads it."""
        return AutoModelForVisualQuestionAnswering if self.open_ended else AutoModelForMultipleChoice

    def fits(self, config: PreTrainedConfig) -> bool:
        """Whether a config is this model's."""
        return isinstance(config, self.config_class) and all(
            _comparable(getattr(config, name)) == _comparable(value) for name, value in self.preset.items()
        )

    def defaults(self) -> dict[str, Any]:
        """The settings that users can change, with their defaults."""
        own = settings_of(self.config_class)
        own = {name: default for name, default in own.items() if name not in (*self.preset, *SIZES)}
        return {**own, **self.settings}

    def config(self, settings: Mapping[str, Any], **sizes: Any) -> PreTrainedConfig:  # noqa: ANN401
        """The configuration of a new model from the user's settings, the `SIZES` of its inputs, and its labels.

        Raises InputError if a setting is unknown, or its value is not valid.
        """
        for name in settings:
            if name in SIZES and name in settings_of(self.config_class):
                raise InputError(f"--model-settings {name}: the image features and questions decide it; remove it")
            if name not in self.defaults():
                raise unknown_name(f"setting of {self.name}", name, self.defaults())
        try:
            return self.config_class(**{**self.preset, **self.settings, **settings, **sizes})
        except InputError:
            raise
        except Exception as error:  # strict dataclasses of huggingface_hub raise various errors
            said = error.__cause__ or error  # huggingface_hub wraps the error of a validator
            raise InputError(f"--model-settings: {' '.join(str(said).split())}") from error

    def changed_settings(self, config: PreTrainedConfig) -> dict[str, Any]:
        """The settings of a config that differ from the defaults."""
        found = {name: getattr(config, name) for name in self.defaults()}
        return {name: value for name, value in found.items() if value != self.defaults()[name]}


def answers_of(model: PreTrainedModel) -> list[str]:
    """The answer vocabulary of an open-ended model, the labels of its config."""
    return [str(text) for _, text in sorted((model.config.id2label or {}).items())]


def model_of(config: PreTrainedConfig) -> Model:
    """The declared model of a config; raises InputError if there is none."""
    model: Model
    for model in MODELS.values():
        if model.fits(config):
            return model
    known = ", ".join(dict.fromkeys(model.config_class.model_type for model in MODELS.values()))
    raise InputError(f"model_type {config.model_type!r} is not a model of this package; expected {known}")


def settings_of(config_class: type[PreTrainedConfig]) -> dict[str, Any]:
    """The defaults of a config's own fields, without those of all configs of transformers."""
    inherited = {one.name for one in fields(PreTrainedConfig)}
    return {one.name: one.default for one in fields(config_class) if one.name not in inherited}


class VqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """The settings of a model: sizes of 1 or more, dropouts in [0, 1), other numbers of 0 or more."""

    may_be_zero: ClassVar[tuple[str, ...]] = ()  #: names of whole numbers that may be 0

    def validate_numbers(self) -> None:
        """Raise InputError unless all numbers are in range."""
        for name in settings_of(type(self)):
            value = getattr(self, name)
            if name == "hidden_sizes" and any(size < 1 for size in value):
                raise InputError(f"{name} is {list(value)}, expected sizes of 1 or more")
            if isinstance(value, bool) or not isinstance(value, int | float) or name.endswith("seed"):
                continue
            if name.endswith("dropout"):
                is_valid, expected = 0 <= value < 1, "0 or more, and less than 1"
            elif name == "steps":
                is_valid, expected = 1 <= value <= MOST_STEPS, f"1 to {MOST_STEPS}"
            elif isinstance(value, int) and name not in self.may_be_zero:
                is_valid, expected = value >= 1, "1 or more"
            else:
                is_valid, expected = 0 <= value < float("inf"), "a number of 0 or more"
            if not is_valid:
                raise InputError(f"{name} is {value}, expected {expected}")


@strict
class QuestionImageConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """The sizes of what a model learns word vectors of, and sees."""

    image_size: int = 2048  #: dimensions of image features, of a cell or region
    vocabulary_size: int = 10000  #: number of word indices


class VqaModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """A model whose layers are initialised as torch does."""

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.RNNBase | nn.RNNCellBase | nn.Embedding | nn.Conv1d | nn.Conv2d):
            module.reset_parameters()


class FittedModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """An open-ended model whose weights are counts of the training questions, taken in one pass over them."""

    @abstractmethod
    def fit(self, labels: Tensor, **inputs: Tensor) -> None:
        """Fit the model; arguments are those of ``forward``, of all training questions."""


def stored(tensor: Tensor) -> nn.Parameter:
    """A tensor as a weight that is not trained; transformers cannot load a model that has only buffers."""
    return nn.Parameter(tensor, requires_grad=False)


def _comparable(setting: object) -> object:
    """A setting; lists as sets, since their order does not matter."""
    return set(setting) if isinstance(setting, list | tuple) else setting
