"""Questions of TDIUC with their origins, the images with their splits, and what is done to questions of all origins.

Kafle and Kanan 2017, "Post Processing" and "Generating Questions": a question is reused as absurd for another image
only if it names nothing but objects that COCO's annotation proves absent: no yes/no question, no counting, no question
with a word for something that COCO does not annotate, and none with a synonym, hypernym or hyponym of an object in the
image.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from sys import intern
from typing import Literal, NamedTuple, TypeAlias, get_args

import pandas as pd

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.tdiuc.words import objects_asked_of, related
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.scoring.tdiuc_types import ABSURD, COUNTING, PRESENCE, SENTIMENT, UTILITY

Origin = Literal["annotated", "coco_generated", "genome_generated", "vqa_imported", "genome_imported"]
"""The columns of Kafle and Kanan 2017, Table 4; of equal questions about an image the first origin's is kept."""
ORIGINS: tuple[Origin, ...] = get_args(Origin)
HAND_ANNOTATED = (SENTIMENT, UTILITY)  # types without a template: section "Manual Annotation"
MIN_ANSWERS = 2  # minimum number of questions per answer; rarer answers are dropped ("Post Processing")
TRAIN_SHARE = 0.7  # of the images without a split of COCO's; Kafle and Kanan 2017, "Train and Test Split"
SPLITS = {"train2014": "train", "val2014": "test"}  # subset of COCO to split, ibid.

YES, NO = "yes", "no"
DOES_NOT_APPLY = "doesnotapply"  # as in the publisher's answer key


class Question(NamedTuple):
    """One question about one image."""

    image_id: int
    question: str
    answer: str
    question_type: str
    origin: Origin


Outcome: TypeAlias = tuple[str, str] | str  # A question and its answer, or the reason why none is asked.


class QuestionCollection:
    """Questions, numbers of those left out, and images by output id: COCO's, or GENOME_OFFSET + Visual Genome's."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.questions: list[Question] = []
        self.left_out: Counter[str] = Counter()
        self.given: dict[int, str] = {}  # subsets as files give them
        self.clusters: dict[int, str] = {}

    def add(self, image_id: int, question_type: str, origin: Origin, outcomes: Iterable[Outcome]) -> None:
        """Add questions of one type about an image, equal texts stored once, or count why there is none."""
        for outcome in outcomes:
            if isinstance(outcome, str):
                self.leave_out([question_type], outcome)
            else:
                question, answer = map(intern, outcome)
                self.questions.append(Question(image_id, question, answer, question_type, origin))

    def leave_out(self, question_types: Iterable[str], reason: str) -> None:
        """Count questions of these types that are left out."""
        self.left_out.update(f"{kind}: {reason}" for kind in question_types)

    def add_image(self, image_id: int, cluster: str, subset: str | None, location: str) -> None:
        """Add an image of a cluster ("coco", "genome" or "uploaded"), of a subset as ``location`` gives it."""
        if self.clusters.get(image_id) != "coco":
            self.clusters[image_id] = cluster
        if subset is not None and self.given.setdefault(image_id, subset) != subset:
            differ = f"is in {subset}, but in {self.given[image_id]} in another file"
            raise InputError(f"{location}: image {image_id} {differ}; use files of the same release")

    def subset(self, image_id: int) -> str:
        """Train2014 or val2014: as a file gives it, else train2014 with probability TRAIN_SHARE, by seed and id."""
        if image_id in self.given:
            return self.given[image_id]
        rng = SeededRng(self.seed, "tdiuc", "split", str(image_id))
        return "train2014" if rng.happens(TRAIN_SHARE) else "val2014"


def subset_in(name: str) -> str | None:
    """The subset in a file's name, such as instances_val2014.json or COCO_train2014_000000000009.jpg."""
    found = [subset for subset in SPLITS if subset in name]
    return found[0] if len(found) == 1 else None


def without_duplicates(made: QuestionCollection) -> pd.DataFrame:
    """Keep one of equal questions about an image, by ORIGINS; drop what one origin asks twice with other answers."""
    questions = pd.DataFrame(made.questions, columns=Question._fields, dtype=object)
    questions["origin"] = pd.Categorical(questions["origin"], ORIGINS)
    questions = questions.sort_values(["image_id", "origin"], ignore_index=True)
    same = questions.groupby(["image_id", questions["question"].map(str.lower)], sort=False).ngroup()
    is_first = ~same.duplicated()
    first = questions[is_first].iloc[same].set_axis(questions.index)
    has_its_answer = questions["answer"] == first["answer"]
    unsettled = same.isin(same[~has_its_answer & (questions["origin"] == first["origin"])])
    kinds = questions["question_type"]
    made.leave_out(kinds[~is_first & has_its_answer], "duplicate question on the image")
    made.leave_out(kinds[~is_first & ~has_its_answer], "duplicate question with another answer")
    made.leave_out(kinds[is_first & unsettled], "asked twice of the image, with different answers")
    return questions[is_first & ~unsettled]


def settled(made: QuestionCollection) -> pd.DataFrame:
    """Drop duplicates, then questions until every answer occurs often enough and half of presence is yes in a split.

    One step may undo the other, so both are repeated until neither changes anything. Counting's most frequent answer
    is also reduced to the second's frequency: appendix "Answer Distribution".
    """
    questions = without_duplicates(made)
    made.questions.clear()
    questions = _without_mode(questions, made)
    questions = questions.assign(subset=questions["image_id"].map(made.subset))
    while True:
        rare = questions.groupby("answer")["answer"].transform("size") < MIN_ANSWERS
        made.leave_out(questions["question_type"][rare], f"its answer occurs fewer than {MIN_ANSWERS} times")
        balanced = _balanced(questions[~rare], made)
        if len(balanced) == len(questions):
            return balanced
        questions = balanced


def _without_mode(questions: pd.DataFrame, made: QuestionCollection) -> pd.DataFrame:
    """Drop random generated counting questions until the most frequent answer is no more frequent than the second."""
    counting = questions[questions["question_type"] == COUNTING]
    counts = Counter(counting["answer"]).most_common(2)
    if len(counts) < 2:
        return questions
    (mode, most), (_, second) = counts
    rows = counting.index[(counting["answer"] == mode) & (counting["origin"] == "coco_generated")]
    dropped = SeededRng(made.seed, "tdiuc", "mode", COUNTING).shuffled(rows)[: most - second]
    made.left_out[f"{COUNTING}: {mode!r} would be more frequent than any other answer"] += len(dropped)
    return questions.drop(dropped)


def _balanced(questions: pd.DataFrame, made: QuestionCollection) -> pd.DataFrame:
    """Drop presence questions until both answers are equally frequent in each split."""
    presence = questions[questions["question_type"] == PRESENCE]
    for subset, mine in presence.groupby("subset"):
        smaller, larger = sorted((mine[mine["answer"] == answer] for answer in (NO, YES)), key=len)
        if excess := len(larger) - len(smaller):
            generated = {*larger.index[larger["origin"] == "coco_generated"]}
            order = SeededRng(made.seed, "tdiuc", "balance", str(subset)).shuffled(larger.index)
            questions = questions.drop(sorted(order, key=generated.__contains__)[:excess])
            made.left_out[f"{PRESENCE}: more {larger['answer'].iloc[0]} than the other in {subset}"] += excess
    return questions


_TRIES = 32  # draws from all questions before those that fit an image are listed


def with_absurd(
    questions: pd.DataFrame,
    absent: Mapping[int, frozenset[str]],
    number: int,
    made: QuestionCollection,
    progress: Progress,
) -> pd.DataFrame:
    """Add a number of random questions of others to each image that provably lacks the objects that they name."""
    groups: dict[frozenset[str], list[str]] = {}  # by the objects that must be absent
    reusable = questions["question"][~questions["question_type"].isin((ABSURD, COUNTING))]
    for text in sorted({*reusable} - {*questions["question"][questions["answer"].isin((YES, NO))]}):
        named = objects_asked_of(text)
        if named is not None:
            groups.setdefault(named.union(*map(related, named)), []).append(text)
    pool = [(objects, text) for objects in sorted(groups, key=sorted) for text in groups[objects]]
    asked = questions["question"].map(str.lower).groupby(questions["image_id"]).agg(set).to_dict()
    absurd = []
    for done, (image_id, lacking) in enumerate(absent.items() if number else (), 1):
        rng = SeededRng(made.seed, "tdiuc", ABSURD, str(image_id))
        chosen = _sample(pool, lacking, asked.get(image_id, set()), number, rng)
        absurd += [Question(image_id, text, DOES_NOT_APPLY, ABSURD, "coco_generated") for text in chosen]
        made.left_out[f"{ABSURD}: no other question is provably absurd"] += number - len(chosen)
        if done % 1000 == 0 or done == len(absent):
            progress("absurd questions", done, len(absent))
    if len(absurd) < MIN_ANSWERS:
        made.leave_out([ABSURD] * len(absurd), f"its answer occurs fewer than {MIN_ANSWERS} times")
        absurd = []
    parts = [questions, pd.DataFrame(absurd, dtype=object)] if absurd else [questions]
    return pd.concat(parts).sort_values("image_id", kind="stable", ignore_index=True)


def _sample(
    pool: list[tuple[frozenset[str], str]], lacking: frozenset[str], asked: Set[str], size: int, rng: SeededRng
) -> list[str]:
    """A uniform random sample of the questions whose objects an image lacks and that are not asked of it."""
    chosen: list[str] = []
    for _ in range(_TRIES if pool else 0):
        if len(chosen) == size:
            break
        objects, text = pool[rng.below(len(pool))]
        if objects <= lacking and text not in chosen and text.lower() not in asked:
            chosen.append(text)
    if len(chosen) < size:
        fitting = (text for objects, text in pool if objects <= lacking and text.lower() not in asked)
        chosen += rng.shuffled(text for text in fitting if text not in chosen)[: size - len(chosen)]
    return chosen
