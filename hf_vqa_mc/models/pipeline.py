"""``pipeline("multiple-choice-vqa", model=...)``: answers to questions about raw images."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers import Pipeline, PreTrainedModel

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.backbones import Backbone
from hf_vqa_mc.extraction.pictures import RawImage
from hf_vqa_mc.extraction.text_features import NewWords
from hf_vqa_mc.models.checkpoint import load_model
from hf_vqa_mc.models.processor import VqaMcProcessor
from hf_vqa_mc.models.vqa_processor import QUESTION_INPUTS, VqaProcessor


class CheckpointModel:
    """Loads models for ``pipeline``; errors are returned, since transformers would wrap them in a ValueError."""

    @classmethod
    def from_pretrained(
        cls,
        name: str,
        *,
        dtype: str | torch.dtype = "auto",
        trust_remote_code: bool | None = None,
        code_revision: str | None = None,
        _from_pipeline: str | None = None,
        **of_hub: Any,  # noqa: ANN401  as checkpoint_folder has them
    ) -> PreTrainedModel | Exception:
        """The model or an error; code on the Hub is never run."""
        try:
            return load_model(name, dtype=dtype, **of_hub)
        except (InputError, ConnectionError) as error:
            return error


class VqaPipeline(Pipeline):
    """What all pipelines share: a checkpoint's model and processor, and inputs as dictionaries or keywords."""

    _load_processor = True  # type: ignore[assignment]
    _load_tokenizer = False  # type: ignore[assignment]
    _load_image_processor = False  # type: ignore[assignment]
    _load_video_processor = False  # type: ignore[assignment]
    _load_feature_extractor = False  # type: ignore[assignment]

    processor_class: ClassVar[type[VqaProcessor]]
    processor: VqaProcessor
    expected: ClassVar[str]
    """the dictionary of a question, for messages"""

    def __init__(
        self,
        model: PreTrainedModel | Exception,
        processor: VqaProcessor,
        options: Mapping[str, Any],
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        if isinstance(model, Exception):
            raise model
        if not isinstance(processor, self.processor_class):
            name = self.processor_class.__name__
            found = type(processor).__name__
            raise InputError(
                f"the processor is {found}; expected the {name} of the model's checkpoint. Pipelines: "
                "multiple-choice-vqa for multiple-choice models, open-ended-vqa for open-ended models, "
                "vqa-counterexample for the counter-example model"
            )
        processor = processor.with_options(**options)
        model.eval()  # type: ignore[no-untyped-call]
        super().__init__(model=model, processor=processor, **kwargs)
        if processor.image_kind is not None:
            processor.image_backbone(str(self.device))
        # transformers batches only for pipelines with a feature extractor
        self.feature_extractor = processor  # type: ignore[assignment]

    def answered(self, inputs: Any, given: Mapping[str, Any], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The answers to ``inputs``, or to the question that is given by keywords; the body of ``__call__``."""
        if inputs is None:
            inputs = dict(given)
        elif any(value is not None for value in given.values()):
            raise InputError(f"expected either a dictionary or the keywords {', '.join(given)}, found both")
        if isinstance(inputs, (list, tuple)) and not inputs:
            return []
        return super().__call__(inputs, **kwargs)  # type: ignore[no-untyped-call]

    def _sanitize_parameters(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # type: ignore[override]
        return {}, {}, {}

    def _check(self, question: object, needed: str) -> None:
        """Raise InputError unless a question is a dictionary with the field."""
        if not isinstance(question, Mapping):
            raise InputError(f"question is {shown(question)}; expected {self.expected}")
        if question.get(needed) is None:
            raise InputError(f'the question has no "{needed}"; expected {self.expected}')

    def _output(self, tensors: Mapping[str, Tensor]) -> Any:  # noqa: ANN401  a ModelOutput
        of_model = {
            name: tensor.to(self.model.dtype) if tensor.is_floating_point() else tensor
            for name, tensor in tensors.items()
        }
        return self.model(**of_model)

    def _forward(self, input_tensors: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        choices = input_tensors.pop("choices")
        return {"logits": self._output(input_tensors).logits.float(), "choices": choices}

    def save_pretrained(self, save_directory: str | Path, **kwargs: Any) -> None:  # type: ignore[override]  # noqa: ANN401
        """Write model and processor: a checkpoint."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.processor.save_pretrained(save_directory)


class MultipleChoiceVqaPipeline(VqaPipeline):
    """Answers multiple-choice questions about images.

    Args:
        model: a model of this package.
        processor: of the same checkpoint.
        word_vectors: the file of the model's word vectors, for words outside its vocabulary.
        new_words: without the file, "warn" (skip such words with a warning, raise InputError if a question or choice
            has no other words with vectors), "skip", or "refuse" (raise InputError).
        backbone: name or folder of the image backbone; by default that of the training features.
        kwargs: of transformers pipelines: ``device``, ``batch_size``, ``num_workers``.

    Raises:
        InputError: the checkpoint is damaged, or an option does not match it.
    """

    processor_class = VqaMcProcessor
    expected = '{"image": ..., "question": ..., "choices": [...]}'

    processor: VqaMcProcessor

    def __init__(
        self,
        model: PreTrainedModel | Exception,
        processor: VqaMcProcessor,
        word_vectors: str | Path | None = None,
        new_words: NewWords = "warn",
        backbone: str | Backbone | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        options = {"word_vectors": word_vectors, "new_words": new_words, "backbone": backbone}
        super().__init__(model, processor, options, **kwargs)

    def __call__(  # type: ignore[override]
        self,
        inputs: Any = None,  # noqa: ANN401
        *,
        image: RawImage | None = None,
        question: str | None = None,
        choices: Sequence[str] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Answer a question, or a list or generator of questions.

        Args:
            inputs: ``{"image": ..., "question": ..., "choices": [...]}``, or a list or generator of such dictionaries.
            image: of a single question, instead of ``inputs``: a PIL image, a path, a URL, or bytes; not needed for a
                model that does not see images.
            question: its text; not needed for a model that does not see it.
            choices: its choices.
            kwargs: ``batch_size``, ``num_workers``.

        Returns:
            For each question: ``answer``, the choice with the highest score; ``label``, its index; ``scores``, the
            independent probability of each choice (they do not sum to 1); ``logits``.

        Raises:
            InputError: a question is incomplete, an image cannot be read, or a word is unknown.
        """
        return self.answered(inputs, {"image": image, "question": question, "choices": choices}, kwargs)

    def preprocess(self, input_: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """A batch of one question, with the same keys for all questions."""
        self._check(input_, "choices")
        if input_.get("question") is None and self.processor.inputs & set(QUESTION_INPUTS):
            raise InputError(
                f'the model sees the question; expected "question" in addition to choices {shown(input_["choices"])}'
            )
        question, choices = input_.get("question"), input_["choices"]
        images = None if input_.get("image") is None else [input_["image"]]
        features = self.processor(["" if question is None else question], [choices], images)
        features.setdefault("choice_mask", torch.ones(1, len(choices), dtype=torch.bool))
        return {**features, "choices": list(choices)}

    def postprocess(self, model_outputs: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """The answer to one question."""
        choices = model_outputs["choices"]
        logits = model_outputs["logits"][0, : len(choices)]
        label = int(logits.argmax())
        scores = logits.sigmoid().tolist()
        return {"answer": choices[label], "label": label, "scores": scores, "logits": logits.tolist()}
