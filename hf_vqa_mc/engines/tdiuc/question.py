"""A question of TDIUC with its origin, the collection of generated questions, and the images with their splits."""

from collections import Counter
from sys import intern
from typing import Literal, NamedTuple, get_args

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.tdiuc_types import SENTIMENT, UTILITY
from hf_vqa_mc.sources.source import BY_HASH

Origin = Literal["annotated", "coco_generated", "genome_generated", "vqa_imported", "genome_imported"]
"""The columns of Kafle and Kanan 2017, Table 4; of equal questions about an image the first origin's is kept."""
ORIGINS: tuple[Origin, ...] = get_args(Origin)
HAND_ANNOTATED = (SENTIMENT, UTILITY)  # types without a template: section "Manual Annotation"
TRAIN_SHARE = 0.7  # of the images without a split of COCO's; Kafle and Kanan 2017, "Train and Test Split"
SPLITS = {"train2014": "train", "val2014": "test"}  # subset of COCO to split, ibid.

YES, NO = "yes", "no"
DOES_NOT_APPLY = "does not apply"


class Question(NamedTuple):
    """One question about one image."""

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

    def ask(self, image_id: int, question: str, answer: str, question_type: str, origin: Origin) -> None:
        """Add a question; equal texts are stored once."""
        self.questions.append(Question(image_id, intern(question), intern(answer), question_type, origin))

    def leave_out(self, question_type: str, reason: str, count: int = 1) -> None:
        """Count questions that were not made."""
        self.left_out[f"{question_type}: {reason}"] += count


class Images:
    """The known images by their output id: COCO's, or GENOME_OFFSET + Visual Genome's."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._subsets: dict[int, str] = {}
        self._clusters: dict[int, str] = {}

    def add(self, image_id: int, cluster: str, subset: str | None, location: str) -> None:
        """Add an image of a cluster: "coco", "genome" or "uploaded"; subset: as the file ``location`` gives it.

        Raises:
            InputError: another file puts it into the other subset.
        """
        if self._clusters.get(image_id) != "coco":
            self._clusters[image_id] = cluster
        if subset is not None and self._subsets.setdefault(image_id, subset) != subset:
            raise InputError(
                f"{location}: image {image_id} is in {subset}, but in {self._subsets[image_id]} in another file; "
                "use files of the same release"
            )

    def subset(self, image_id: int) -> str:
        """Train2014 or val2014: as a file gives it, else train2014 with probability TRAIN_SHARE, by seed and id."""
        if image_id in self._subsets:
            return self._subsets[image_id]
        rng = SeededRng(self._seed, "tdiuc", "split", str(image_id))
        return "train2014" if rng.happens(TRAIN_SHARE) else "val2014"

    def count(self, image_ids: set[int]) -> dict[str, int]:
        """Numbers of images by cluster, source of the subset, and subset: {"coco, by file, train2014": 3}."""
        counts = Counter(
            f"{self._clusters[one]}, {'by file' if one in self._subsets else BY_HASH}, {self.subset(one)}"
            for one in image_ids
        )
        return dict(sorted(counts.items()))


def subset_in(name: str) -> str | None:
    """The subset in a file's name, such as instances_val2014.json or COCO_train2014_000000000009.jpg."""
    found = [subset for subset in SPLITS if subset in name]
    return found[0] if len(found) == 1 else None
