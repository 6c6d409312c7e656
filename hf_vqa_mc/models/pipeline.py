"""The pipelines: ``pipeline("multiple-choice-vqa" | "open-ended-vqa" | "vqa-counterexample", model=...)``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor
from transformers import Pipeline, PreTrainedModel

from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.models.checkpoint import load_model
from hf_vqa_mc.models.model import COUNTER_EXAMPLE_TASK, OPEN_ENDED_TASK, TASK, answers_of, model_of
from hf_vqa_mc.models.open_ended_texts import checked_texts
from hf_vqa_mc.models.processor import QUESTION_INPUTS, VqaProcessor

TOP_K = 5  # answers of an open-ended model by default


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
    """Answers questions about images with a checkpoint's model and processor.

    A call takes a question as a dictionary or as keywords, or a list or generator of dictionaries. An ``image`` is a
    PIL image, a path, a URL, or bytes; it and the ``question`` are not needed for a model that does not see them.

    Args:
        model: a model of this package.
        processor: of the same checkpoint.
        kwargs: options of the processor, see its ``with_options``: ``backbone``, of multiple-choice models also
            ``word_vectors`` and ``new_words``; and of transformers pipelines: ``device``, ``batch_size``,
            ``num_workers``.

    Raises:
        InputError: the checkpoint is damaged, an option does not match it, a question is incomplete, an image cannot
            be read, or a word is unknown.
    """

    _load_processor = True  # type: ignore[assignment]
    _load_tokenizer = False  # type: ignore[assignment]
    _load_image_processor = False  # type: ignore[assignment]
    _load_video_processor = False  # type: ignore[assignment]
    _load_feature_extractor = False  # type: ignore[assignment]

    task_name: ClassVar[str] = OPEN_ENDED_TASK
    options: ClassVar[Mapping[str, Any]] = {"backbone": None}  # options of the processor, and their defaults
    fields: ClassVar[tuple[str, ...]]  # of a question
    expected: ClassVar[str]  # the dictionary of a question, for messages

    processor: Any

    def __init__(self, model: PreTrainedModel | Exception, processor: VqaProcessor, **kwargs: Any) -> None:  # noqa: ANN401
        if isinstance(model, Exception):
            raise model
        declared = model_of(model.config)
        if self.task_name not in (declared.task, OPEN_ENDED_TASK if declared.open_ended else TASK):
            raise InputError(f"{declared.name} is not a model of this pipeline; use pipeline({declared.task!r}, ...)")
        processor = processor.with_options(**{name: kwargs.pop(name, of) for name, of in self.options.items()})
        model.eval()  # type: ignore[no-untyped-call]
        super().__init__(model=model, processor=processor, **kwargs)
        if processor.image_kind is not None:
            processor.image_backbone(str(self.device))
        # transformers batches only for pipelines with a feature extractor
        self.feature_extractor = processor  # type: ignore[assignment]

    def __call__(self, inputs: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Answer a question, or a list or generator of questions, see the class."""
        given = {name: kwargs.pop(name) for name in self.fields if name in kwargs}
        if inputs is not None and given:
            raise InputError(f"expected either a dictionary or the keywords {', '.join(self.fields)}, found both")
        if isinstance(inputs, (list, tuple)) and not inputs:
            return []
        return super().__call__(given if inputs is None else inputs, **kwargs)  # type: ignore[no-untyped-call]

    def _sanitize_parameters(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:  # type: ignore[override]
        return {}, {}, {}

    def _check(self, question: object, *needed: str) -> None:
        """Raise InputError unless a question is a dictionary with the fields."""
        if not isinstance(question, Mapping):
            raise InputError(f"question is {shown(question)}; expected {self.expected}")
        for name in needed:
            if question.get(name) is None:
                raise InputError(f'the question has no "{name}"; expected {self.expected}')

    def _output(self, tensors: Mapping[str, Tensor]) -> Any:  # noqa: ANN401  a ModelOutput
        kind = self.model.dtype
        return self.model(**{name: of.to(kind) if of.is_floating_point() else of for name, of in tensors.items()})

    def _forward(self, input_tensors: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        choices = input_tensors.pop("choices")
        return {"logits": self._output(input_tensors).logits.float(), "choices": choices}

    def save_pretrained(self, save_directory: str | Path, **kwargs: Any) -> None:  # type: ignore[override]  # noqa: ANN401
        """Write model and processor: a checkpoint."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.processor.save_pretrained(save_directory)


class MultipleChoiceVqaPipeline(VqaPipeline):
    """Answers multiple-choice questions: ``{"image": ..., "question": ..., "choices": [...]}``, see `VqaPipeline`.

    Of each question it returns ``answer``, the choice with the highest score; ``label``, its index; ``scores``, the
    independent probability of each choice (they do not sum to 1); ``logits``. Words without vectors are skipped with a
    warning (``new_words="warn"``); a question or choice without other words is an error.
    """

    task_name = TASK
    options = {"word_vectors": None, "new_words": "warn", "backbone": None}  # noqa: RUF012
    fields = ("image", "question", "choices")
    expected = '{"image": ..., "question": ..., "choices": [...]}'

    def preprocess(self, input_: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """A batch of one question, with the same keys for all questions."""
        self._check(input_, "choices")
        question, choices = input_.get("question"), input_["choices"]
        if question is None and self.processor.inputs & set(QUESTION_INPUTS):
            raise InputError(
                f'the model sees the question; expected "question" in addition to choices {shown(choices)}'
            )
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


class OpenEndedVqaPipeline(VqaPipeline):
    """Answers questions, ``{"image": ..., "question": ...}``, from the model's vocabulary, see `VqaPipeline`.

    Of each question it returns a list of ``answer`` and ``score`` (its probability), the ``top_k`` most probable first
    (5 by default). With ``choices`` it picks among them as Antol et al. 2015 (section 3) and returns ``answer``, the
    most probable choice; ``label``, its index; ``scores``, the probability of each choice, 0 if it is not in the
    vocabulary. Further fields: ``caption`` of the image, for a model that reads one; ``group``, for a prior, by
    default that of the column that the model groups questions by, such as ``question_type``, else unknown.
    """

    fields = ("image", "question", "choices", "caption", "group")
    expected = '{"image": ..., "question": ...}, and optionally "choices": [...], "caption", "group"'

    def _sanitize_parameters(  # type: ignore[override]
        self, top_k: int = TOP_K
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"top_k is {shown(top_k)}; expected 1 or more")
        return {}, {}, {"top_k": top_k}

    def preprocess(self, input_: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """A batch of one question."""
        self._check(input_, *(["question"] if model_of(self.model.config).sees_question else []))
        question, choices = input_.get("question"), input_.get("choices")
        column, _, member = (getattr(self.model.config, "group", None) or "").partition(".")
        group = input_.get(column)
        group = group.get(member) if member and isinstance(group, Mapping) else group
        given = {**input_, "group": input_.get("group", group)}
        images, captions, groups = (
            None if given.get(name) is None else [given[name]] for name in ("image", "caption", "group")
        )
        features = self.processor(["" if question is None else question], images, captions=captions, groups=groups)
        if choices is not None and not checked_texts(choices, "choices"):
            raise InputError("choices: expected one text or more, found none")
        return {**features, "choices": None if choices is None else list(choices)}

    def postprocess(self, model_outputs: dict[str, Any], top_k: int = TOP_K) -> Any:  # type: ignore[override]  # noqa: ANN401
        """The answers to one question."""
        choices, answers = model_outputs["choices"], answers_of(self.model)
        probabilities = model_outputs["logits"][0].softmax(-1)
        if choices is None:
            best = probabilities.topk(min(top_k, len(probabilities)))
            pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
            return [{"score": score, "answer": answers[index]} for score, index in pairs]
        index_of = {text: index for index, text in enumerate(answers)}
        if index_of.keys().isdisjoint(choices):
            raise InputError(f"none of the choices is in the model's vocabulary: {listed(choices, TOP_K)}")
        scores = [float(probabilities[index_of[text]]) if text in index_of else 0.0 for text in choices]
        label = max(range(len(choices)), key=scores.__getitem__)
        return {"answer": choices[label], "label": label, "scores": scores}


class CounterExampleVqaPipeline(VqaPipeline):
    """Answers ``{"image": ..., "question": ..., "candidates": [...]}`` and ranks the candidates, see `VqaPipeline`.

    ``candidates`` are as many images as in training (24 in Goyal et al. 2017) or more; those most similar to the image
    are ranked as counter-examples to the answer. Of each question it returns ``answer``, ``score`` (its probability),
    and ``counterexamples``: of each ranked candidate ``index``, ``score`` (higher is a better counter-example) and
    ``same`` (the probability that its answer is the question's), the best first.
    """

    task_name = COUNTER_EXAMPLE_TASK
    fields = ("image", "question", "candidates")
    expected = '{"image": ..., "question": ..., "candidates": [...]}'

    def preprocess(self, input_: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """The tensors of a question, and the indices of its nearest candidates."""
        self._check(input_, "image", "question", "candidates")
        given, count = input_["candidates"], self.model.config.candidates
        if not isinstance(given, Sequence) or isinstance(given, str | bytes):
            raise InputError(f"candidates: expected a list of images, found {shown(given)}")
        if len(given) < count:
            raise InputError(f"candidates: expected {count} images or more, as in training, found {len(given)}")
        tensors = dict(self.processor([input_["question"]], [input_["image"]]))
        features = self.processor.image_tensors(given, len(given))["image_features"]
        distances = torch.linalg.vector_norm(features - tensors["image_features"], dim=1)
        nearest = distances.argsort(stable=True)[:count]
        return {**tensors, "candidate_features": features[nearest][None], "nearest": nearest}

    def _forward(self, input_tensors: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        nearest = input_tensors.pop("nearest")
        return {"output": self._output(input_tensors), "nearest": nearest}

    def postprocess(self, model_outputs: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """The answer to one question, and its ranked candidates."""
        output, nearest = model_outputs["output"], model_outputs["nearest"].tolist()
        best = output.logits[0].float().softmax(-1).max(0)
        rows = zip(nearest, output.candidate_scores[0].tolist(), output.candidate_same[0].tolist(), strict=True)
        ranked = [{"index": index, "score": score, "same": same} for index, score, same in rows]
        ranked.sort(key=lambda one: -one["score"])
        answer = answers_of(self.model)[int(best.indices)]
        return {"answer": answer, "score": float(best.values), "counterexamples": ranked}
