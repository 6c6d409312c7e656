"""``pipeline("vqa-counterexample", model=...)``: an answer, and similar images for which the model has another one."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.backbones import Backbone
from hf_vqa_mc.extraction.pictures import RawImage
from hf_vqa_mc.models.model import answers_of, model_of
from hf_vqa_mc.models.open_ended_processor import OpenEndedVqaProcessor
from hf_vqa_mc.models.pipeline import VqaPipeline


class CounterExampleVqaPipeline(VqaPipeline):
    """Answers questions about images, and ranks candidate images as counter-examples to the answer.

    Args:
        model: a model that explains, such as ``counter-example``.
        processor: of the same checkpoint.
        backbone: name or folder of the image backbone; by default that of the training features.
        kwargs: of transformers pipelines: ``device``, ``num_workers``.

    Raises:
        InputError: the checkpoint is damaged, its model ranks no images, or the backbone does not match it.
    """

    processor_class = OpenEndedVqaProcessor
    expected = '{"image": ..., "question": ..., "candidates": [...]}'

    processor: OpenEndedVqaProcessor

    def __init__(
        self,
        model: PreTrainedModel | Exception,
        processor: OpenEndedVqaProcessor,
        backbone: str | Backbone | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        if isinstance(model, PreTrainedModel) and not model_of(model.config).explains:
            name = model_of(model.config).name
            raise InputError(f"{name} ranks no images; expected the checkpoint of a counter-example model")
        super().__init__(model, processor, {"backbone": backbone}, **kwargs)

    def __call__(  # type: ignore[override]
        self,
        inputs: Any = None,  # noqa: ANN401
        *,
        image: RawImage | None = None,
        question: str | None = None,
        candidates: Sequence[RawImage] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Answer a question, or a list of questions, and rank their candidates.

        Args:
            inputs: ``{"image": ..., "question": ..., "candidates": [...]}``, or a list or generator of these.
            image: of a single question, instead of ``inputs``: a PIL image, a path, a URL, or bytes.
            question: its text.
            candidates: images, as many as in training (24 in Goyal et al. 2017) or more; those most similar to the
                image are ranked.
            kwargs: ``num_workers``.

        Returns:
            For each question ``answer``, ``score`` (its probability), and ``counterexamples``: of each ranked
            candidate ``index``, ``score`` (higher is a better counter-example) and ``same`` (the probability that its
            answer is the question's), the best first.

        Raises:
            InputError: a question is incomplete, has too few candidates, or an image cannot be read.
        """
        return self.answered(inputs, {"image": image, "question": question, "candidates": candidates}, kwargs)

    def preprocess(self, input_: Mapping[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        """The tensors of a question, and the indices of its nearest candidates."""
        for needed in ("image", "question", "candidates"):
            self._check(input_, needed)
        given, count = input_["candidates"], self.model.config.candidates
        if not isinstance(given, Sequence) or isinstance(given, str | bytes):
            raise InputError(f"candidates: expected a list of images, found {shown(given)}")
        candidates = list(given)
        if len(candidates) < count:
            raise InputError(f"candidates: expected {count} images or more, as in training, found {len(candidates)}")
        tensors = dict(self.processor([input_["question"]], [input_["image"]]))
        features = self.processor.image_tensors(candidates, len(candidates))["image_features"]
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
        scores, same = output.candidate_scores[0].tolist(), output.candidate_same[0].tolist()
        order = sorted(range(len(nearest)), key=lambda at: -scores[at])
        ranked = [{"index": nearest[at], "score": scores[at], "same": same[at]} for at in order]
        answer = answers_of(self.model)[int(best.indices)]
        return {"answer": answer, "score": float(best.values), "counterexamples": ranked}
