"""A question of TDIUC with its origin, the collection of generated questions, and the images with their splits."""

from collections import Counter
from typing import Literal, NamedTuple

from hf_vqa_mc.engines.rng import SeededRng
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.tdiuc_types import SENTIMENT, UTILITY
from hf_vqa_mc.sources.generated import BY_HASH

Origin = Literal["coco_generated", "genome_generated", "vqa_imported", "genome_imported", "annotated"]
"""Where a question is from: the columns of Kafle and Kanan 2017, Table 4."""
ORIGINS: tuple[Origin, ...] = ("annotated", "coco_generated", "genome_generated", "vqa_imported", "genome_imported")
"""Of equal questions on an image the first origin's is kept."""
HAND_ANNOTATED = (SENTIMENT, UTILITY)  # What no template can make: section "Manual Annotation".

YES, NO = "yes", "no"
DOES_NOT_APPLY = "does not apply"


class Question(NamedTuple):
    """One question on one image."""

    image_id: int
    question: str
    answer: str
    question_type: str
    origin: Origin


class Made:
    """Questions, and the number of those left out by reason."""

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.left_out: Counter[str] = Counter()
        self._texts: dict[str, str] = {}

    def ask(self, image_id: int, question: str, answer: str, question_type: str, origin: Origin) -> None:
        """Add a question; equal texts are stored once, as templates make few."""
        question = self._texts.setdefault(question, question)
        answer = self._texts.setdefault(answer, answer)
        self.questions.append(Question(image_id, question, answer, question_type, origin))

    def leave_out(self, question_type: str, reason: str, count: int = 1) -> None:
        """Count questions that were not made."""
        self.left_out[f"{question_type}: {reason}"] += count


TRAIN_SHARE = 0.7  # of the images without a split of COCO's; Kafle and Kanan 2017, "Train and Test Split".
SPLITS = {"train2014": "train", "val2014": "test"}  # Subset of COCO to split, by the same.


class Images:
    """The known images, by the id that is written: COCO's, or GENOME_OFFSET + Visual Genome's."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._told: dict[int, str] = {}
        self._clusters: dict[int, str] = {}

    def add(self, image_id: int, cluster: str, subset: str | None, location: str) -> None:
        """Add an image of a cluster: "coco", "genome" or "uploaded"; subset: as the file ``location`` gives it.

        Raises:
            InputError: another file puts it into the other subset.
        """
        if self._clusters.get(image_id) != "coco":
            self._clusters[image_id] = cluster
        if subset is not None and self._told.setdefault(image_id, subset) != subset:
            raise InputError(
                f"{location}: image {image_id} is of {subset} here and of {self._told[image_id]} in another file; "
                "give files that agree"
            )

    def subset(self, image_id: int) -> str:
        """Train2014 or val2014: as a file told, else 70 in 100 to train, by the seed and the image's id."""
        told = self._told.get(image_id)
        if told is None:
            rng = SeededRng(self._seed, "tdiuc", "split", str(image_id))
            return "train2014" if rng.happens(TRAIN_SHARE) else "val2014"
        return told

    def how(self, image_ids: set[int]) -> dict[str, int]:
        """How many images went where and why, such as {"coco, told, train2014": 3}."""
        counts = Counter(
            f"{self._clusters[one]}, {'told' if one in self._told else BY_HASH}, {self.subset(one)}"
            for one in image_ids
        )
        return dict(sorted(counts.items()))


def subset_in(name: str) -> str | None:
    """The subset that a file's name tells, such as instances_val2014.json or COCO_train2014_000000000009.jpg."""
    told = [subset for subset in SPLITS if subset in name]
    return told[0] if len(told) == 1 else None
