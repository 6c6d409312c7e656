"""What a model takes of questions: texts as average word vectors, images as their features."""

from collections.abc import Collection

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.extraction.image_features import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.training.questions import NONE, Questions


class Inputs:
    """Questions to tensors.

    Args:
        texts: all texts, as the questions number them.
        used: int64: the numbers of those that occur in the questions.
        text: what makes vectors of them.
        needed: what the model takes beside choices, as `models.inputs.needed` tells it.
        images: features of the questions' images, if the model sees them.
    """

    def __init__(
        self,
        texts: list[str],
        used: NDArray[np.int64],
        text: TextFeatures,
        needed: Collection[str],
        images: ImageFeatures | None,
    ) -> None:
        self.needed = frozenset(needed)
        self.images = images
        self.vectors = np.zeros((len(texts), text.dim), np.float32)
        """(texts, dim); 0 for those that do not occur"""
        self.vectors[used] = text.encode([texts[number] for number in used])
        self._texts, self._text = texts, text

    def tensors(self, questions: Questions, rows: NDArray[np.int64], choices: NDArray[np.int64]) -> dict[str, Tensor]:
        """What the model takes of some questions.

        Args:
            questions: all.
            rows: (batch,): which.
            choices: (batch, choices): the texts that they are offered, NONE where there are fewer.
        """
        offered = choices != NONE
        different, places = np.unique(np.where(offered, choices, choices[:, :1]), return_inverse=True)
        found = {
            "choice_vectors": torch.from_numpy(self.vectors[different]),
            "choice_places": torch.from_numpy(places.reshape(choices.shape)),
        }
        if not offered.all():
            found["choice_mask"] = torch.from_numpy(offered)
        asked = questions.asked[rows]
        if "question_vectors" in self.needed:
            found["question_vectors"] = torch.from_numpy(self.vectors[asked])
        if "question_tokens" in self.needed:
            tokens, mask = self._text.encode_words([self._texts[text] for text in asked])
            found |= {"question_tokens": torch.from_numpy(tokens), "question_mask": torch.from_numpy(mask)}
        for name in self.needed & {"image_features", "image_grid"}:
            found[name] = torch.from_numpy(self.image_features([questions.image_ids[row] for row in rows]))
        return found

    def image_features(self, image_ids: list[str]) -> NDArray[np.float32]:
        """Features of images, in this order."""
        assert self.images is not None  # noqa: S101  the run was checked for it
        return self.images.take(image_ids)
