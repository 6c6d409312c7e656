"""``pipeline("open-ended-vqa", model=...)``: ranked answers to questions about raw images."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformers import PreTrainedModel

from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.extraction.backbones import Backbone
from hf_vqa_mc.extraction.pictures import RawImage
from hf_vqa_mc.models.model import answers_of, model_of
from hf_vqa_mc.models.open_ended_processor import OpenEndedVqaProcessor
from hf_vqa_mc.models.open_ended_texts import checked_texts
from hf_vqa_mc.models.pipeline import VqaPipeline

TOP_K = 5
"""Answers by default."""


class OpenEndedVqaPipeline(VqaPipeline):
    """Answers questions about images with the most probable answers of the model's vocabulary, or the best choice.

    Args:
        model: an open-ended model of this package.
        processor: of the same checkpoint.
        backbone: name or folder of the image backbone; by default that of the training features.
        kwargs: of transformers pipelines: ``device``, ``batch_size``, ``num_workers``.

    Raises:
        InputError: the checkpoint is damaged, or an option does not match it.
    """

    processor_class = OpenEndedVqaProcessor
    expected = '{"image": ..., "question": ...}, and optionally "choices": [...], "caption", "group"'

    processor: OpenEndedVqaProcessor

    def __init__(
        self,
        model: PreTrainedModel | Exception,
        processor: OpenEndedVqaProcessor,
        backbone: str | Backbone | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(model, processor, {"backbone": backbone}, **kwargs)

    def __call__(  # type: ignore[override]
        self,
        inputs: Any = None,  # noqa: ANN401
        *,
        image: RawImage | None = None,
        question: str | None = None,
        choices: Sequence[str] | None = None,
        caption: str | None = None,
        group: str | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Answer a question, or a list or generator of questions.

        Args:
            inputs: ``{"image": ..., "question": ...}``, or a list or generator of such dictionaries; with ``choices``
                the answer is one of them.
            image: of a single question, instead of ``inputs``: a PIL image, a path, a URL, or bytes; not needed for a
                model that does not see images.
            question: its text; not needed for a model that does not see it.
            choices: its choices.
            caption: of the image, for a model that reads one.
            group: question type or other group, for a prior; by default that of the dictionary's column that the model
                groups questions by, such as ``question_type``, else unknown.
            kwargs: ``top_k`` (number of answers, 5 by default), ``batch_size``, ``num_workers``.

        Returns:
            For each question a list of ``answer`` and ``score`` (its probability), the most probable first. With
            choices as Antol et al. 2015 pick among them (section 3): ``answer``, the most probable choice; ``label``,
            its index; ``scores``, the probability of each choice, 0 if it is not in the vocabulary.

        Raises:
            InputError: a question is incomplete, an image cannot be read, or no choice is in the vocabulary.
        """
        given = {"image": image, "question": question, "choices": choices, "caption": caption, "group": group}
        return self.answered(inputs, given, kwargs)

    def _sanitize_parameters(  # type: ignore[override]
        self, top_k: int = TOP_K
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"top_k is {shown(top_k)}; expected 1 or more")
        return {}, {}, {"top_k": top_k}

    def preprocess(self, input_: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """A batch of one question."""
        if not isinstance(input_, Mapping) or model_of(self.model.config).sees_question:
            self._check(input_, "question")
        question, choices = input_.get("question"), input_.get("choices")
        given = {**input_, "group": input_.get("group", self._group(input_))}
        images, captions, groups = (
            None if given.get(name) is None else [given[name]] for name in ("image", "caption", "group")
        )
        features = self.processor(["" if question is None else question], images, captions=captions, groups=groups)
        if choices is not None and not checked_texts(choices, "choices"):
            raise InputError("choices: expected one text or more, found none")
        return {**features, "choices": None if choices is None else list(choices)}

    def _group(self, question: Mapping[str, Any]) -> Any:  # noqa: ANN401  any value
        """The question's group in a row of a dataset: the column that the model groups questions by, or its field."""
        name, _, member = (getattr(self.model.config, "group", None) or "").partition(".")
        value = question.get(name)
        return value.get(member) if member and isinstance(value, Mapping) else value

    def postprocess(self, model_outputs: dict[str, Any], top_k: int = TOP_K) -> Any:  # type: ignore[override]  # noqa: ANN401
        """The answers to one question."""
        choices, answers = model_outputs["choices"], answers_of(self.model)
        probabilities = model_outputs["logits"][0].softmax(-1)
        if choices is None:
            best = probabilities.topk(min(top_k, len(probabilities)))
            pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
            return [{"score": score, "answer": answers[index]} for score, index in pairs]
        index_of = {text: index for index, text in enumerate(answers)}
        known = [index_of.get(choice) for choice in choices]
        if all(index is None for index in known):
            raise InputError(f"none of the choices is in the model's vocabulary: {listed(choices, TOP_K)}")
        scores = [0.0 if index is None else float(probabilities[index]) for index in known]
        label = max(range(len(choices)), key=scores.__getitem__)
        return {"answer": choices[label], "label": label, "scores": scores}
