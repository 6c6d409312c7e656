"""The pipelines: ``pipeline("multiple-choice-vqa" | "open-ended-vqa" | "vqa-counterexample", model=...)``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import Pipeline, PreTrainedModel

from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.models.checkpoint import load_model
from hf_vqa_mc.models.model import COUNTER_EXAMPLE_TASK, OPEN_ENDED_TASK, TASK, answers_of, model_of
from hf_vqa_mc.models.processor import VqaProcessor
from hf_vqa_mc.models.question_texts import checked_texts

TOP_K = 5  # answers of an open-ended model by default
FIELDS = {
    TASK: ("image", "question", "choices"),
    OPEN_ENDED_TASK: ("image", "question", "choices", "caption", "group"),
    COUNTER_EXAMPLE_TASK: ("image", "question", "candidates"),
}
"""The fields of a question by task."""


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

    - ``multiple-choice-vqa``: of ``{"image": ..., "question": ..., "choices": [...]}`` it returns ``answer``, the
      choice with the highest score; ``label``, its index; ``scores``, the independent probability of each choice (they
      do not sum to 1); ``logits``. Words without vectors are skipped with a warning (``new_words="warn"``); a question
      or choice without other words is an error.
    - ``open-ended-vqa``: of ``{"image": ..., "question": ...}`` a list of ``answer`` and ``score`` (its probability),
      the ``top_k`` most probable first (5 by default). With ``choices`` it picks among them as Antol et al. 2015
      (section 3) and returns ``answer``, the most probable choice; ``label``, its index; ``scores``, the probability
      of each choice, 0 if it is not in the vocabulary. Further fields: ``caption`` of the image, for a model that
      reads one; ``group``, for a prior, by default that of the column that the model groups questions by, such as
      ``question_type``, else unknown.
    - ``vqa-counterexample``: of ``{"image": ..., "question": ..., "candidates": [...]}``, with as many candidate
      images as in training (24 in Goyal et al. 2017) or more, of which those most similar to the image are ranked as
      counter-examples to the answer, ``answer``, ``score`` (its probability), and ``counterexamples``: of each ranked
      candidate ``index``, ``score`` (higher is a better counter-example) and ``same`` (the probability that its answer
      is the question's), the best first.

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

    processor: Any

    def __init__(
        self,
        model: PreTrainedModel | Exception,
        processor: VqaProcessor,
        task: str = "",
        **kwargs: Any,  # noqa: ANN401  as pipelines have them
    ) -> None:
        if isinstance(model, Exception):
            raise model
        declared = model_of(model.config)
        self.task = task or declared.task
        if self.task not in (declared.task, OPEN_ENDED_TASK if declared.open_ended else TASK):
            raise InputError(f"{declared.name} is not a model of this pipeline; use pipeline({declared.task!r}, ...)")
        defaults = {"backbone": None, "word_vectors": None, "new_words": "warn" if self.task == TASK else None}
        options = {name: kwargs.pop(name, default) for name, default in defaults.items()}
        processor = processor.with_options(**options)
        model.eval()  # type: ignore[no-untyped-call]
        super().__init__(model=model, processor=processor, task=self.task, **kwargs)
        if processor.image_kind is not None:
            processor.image_backbone(str(self.device))
        # transformers batches only for pipelines with a feature extractor
        self.feature_extractor = processor  # type: ignore[assignment]

    def __call__(self, inputs: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Answer a question, or a list or generator of questions, see the class."""
        fields = FIELDS[self.task]
        given = {name: kwargs.pop(name) for name in fields if name in kwargs}
        if inputs is not None and given:
            raise InputError(f"expected either a dictionary or the keywords {', '.join(fields)}, found both")
        if isinstance(inputs, (list, tuple)) and not inputs:
            return []
        return super().__call__(given if inputs is None else inputs, **kwargs)  # type: ignore[no-untyped-call]

    def _sanitize_parameters(
        self,
        **options: Any,  # noqa: ANN401
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if self.task == OPEN_ENDED_TASK and "top_k" in options:
            top_k = options["top_k"]
            if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
                raise InputError(f"top_k is {shown(top_k)}; expected 1 or more")
            return {}, {}, {"top_k": options.pop("top_k")}
        if options:
            raise TypeError(f"pipeline({self.task!r}) has no option {', '.join(options)}")
        return {}, {}, {}

    def _check(self, question: object, *needed: str) -> None:
        """Raise InputError unless a question is a dictionary with the fields."""
        expected = f"expected a dictionary with {', '.join(FIELDS[self.task])}"
        if not isinstance(question, Mapping):
            raise InputError(f"question is {shown(question)}; {expected}")
        for name in needed:
            if question.get(name) is None:
                raise InputError(f'the question has no "{name}"; {expected}')

    def preprocess(self, input_: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """A batch of one question, with the same keys for all questions of a task."""
        if self.task == COUNTER_EXAMPLE_TASK:
            return self._with_candidates(input_)
        sees_question = model_of(self.model.config).sees_question
        self._check(input_, *(["choices"] if self.task == TASK else []), *(["question"] if sees_question else []))
        given, config = {name: input_.get(name) for name in FIELDS[OPEN_ENDED_TASK]}, self.model.config
        column, _, member = (getattr(config, "group", None) or "").partition(".")
        group = input_.get(column) if given["group"] is None else given["group"]
        given["group"] = group.get(member) if member and isinstance(group, Mapping) else group
        of_batch = {name: None if value is None else [value] for name, value in given.items()}
        texts = of_batch.pop("question") or [""]
        names = {"image": "images", "caption": "captions", "group": "groups", "choices": "choices"}
        features = self.processor(text=texts, **{names[name]: value for name, value in of_batch.items()})
        choices = given["choices"]
        if choices is not None and not checked_texts(choices, "choices"):
            raise InputError("choices: expected one text or more, found none")
        if self.task == TASK:
            features.setdefault("choice_mask", torch.ones(1, len(input_["choices"]), dtype=torch.bool))
        return {**features, "kept": None if choices is None else list(choices)}

    def _with_candidates(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors of a question, and the indices of its nearest candidates."""
        self._check(question, "image", "question", "candidates")
        given, count = question["candidates"], self.model.config.candidates
        if not isinstance(given, Sequence) or isinstance(given, str | bytes):
            raise InputError(f"candidates: expected a list of images, found {shown(given)}")
        if len(given) < count:
            raise InputError(f"candidates: expected {count} images or more, as in training, found {len(given)}")
        tensors = dict(self.processor([question["image"]], [question["question"]]))
        features = self.processor.image_tensors(given, len(given))["image_features"]
        distances = torch.linalg.vector_norm(features - tensors["image_features"], dim=1)
        nearest = distances.argsort(stable=True)[:count]
        return {**tensors, "candidate_features": features[nearest][None], "kept": nearest}

    def _forward(self, input_tensors: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        kept, kind = input_tensors.pop("kept"), self.model.dtype
        given = {name: of.to(kind) if of.is_floating_point() else of for name, of in input_tensors.items()}
        output = self.model(**given)
        names = ("logits", "candidate_scores", "candidate_same")
        return {"kept": kept, **{name: output[name].float() for name in names if name in output}}

    def postprocess(self, model_outputs: dict[str, Any], top_k: int = TOP_K) -> Any:  # type: ignore[override]  # noqa: ANN401
        """The answer to one question, or its answers, see the class."""
        logits, kept = model_outputs["logits"][0], model_outputs["kept"]
        if self.task == TASK:
            logits = logits[: len(kept)]
            label, scores = int(logits.argmax()), logits.sigmoid().tolist()
            return {"answer": kept[label], "label": label, "scores": scores, "logits": logits.tolist()}
        answers, probabilities = answers_of(self.model), logits.softmax(-1)
        if self.task == COUNTER_EXAMPLE_TASK:
            best = probabilities.max(0)
            of_candidates = (model_outputs[name][0].tolist() for name in ("candidate_scores", "candidate_same"))
            rows = zip(kept.tolist(), *of_candidates, strict=True)
            ranked = [{"index": index, "score": score, "same": same} for index, score, same in rows]
            ranked.sort(key=lambda one: -one["score"])
            return {"answer": answers[int(best.indices)], "score": float(best.values), "counterexamples": ranked}
        if kept is None:
            top = probabilities.topk(min(top_k, len(probabilities)))
            pairs = zip(top.values.tolist(), top.indices.tolist(), strict=True)
            return [{"score": score, "answer": answers[index]} for score, index in pairs]
        index_of = {text: index for index, text in enumerate(answers)}
        if index_of.keys().isdisjoint(kept):
            raise InputError(f"none of the choices is in the model's vocabulary: {listed(kept, TOP_K)}")
        scores = [float(probabilities[index_of[text]]) if text in index_of else 0.0 for text in kept]
        label = max(range(len(kept)), key=scores.__getitem__)
        return {"answer": kept[label], "label": label, "scores": scores}

    def save_pretrained(self, save_directory: str | Path, **kwargs: Any) -> None:  # type: ignore[override]  # noqa: ANN401
        """Write model and processor: a checkpoint."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.processor.save_pretrained(save_directory)
