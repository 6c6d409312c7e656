"""How fast WUPS is beside NLTK, and TDIUC's means on a whole set: `python .ci/benchmarks/scoring_wups.py`.

COCO-QA and NLTK's corpus (from $NLTK_DATA, too) come from the real data; without them there are no figures of WUPS.
"""

import os
import runpy
import tempfile
import time
import zipfile
from collections.abc import Callable
from math import prod
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt
from hf_vqa_mc.scoring.wu_palmer_sets import wups

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

T = TypeVar("T")
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""
Answers = list[str]

ROOT = Path(__file__).resolve().parents[2]
REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
RUNS = 5
N_NLTK = 60  # questions a run; plain NLTK does about 50 a second
THRESHOLDS = (0.9, 0.0, -1)
TDIUC_QUESTIONS, TDIUC_ANSWERS, TDIUC_IMAGES, TDIUC_TYPES = 1_654_167, 1_618, 167_437, 12  # as TDIUC itself


def rows() -> list[Row]:
    """The figures."""
    return [*wups_rows(), *tdiuc_rows()]


def wups_rows() -> list[Row]:
    """NLTK and ours on COCO-QA's answers, taking turns; ours scores all of them, NLTK some of the same."""
    archive = next(REAL_DATA.glob("cocoqa/*.zip"), None)
    with tempfile.TemporaryDirectory() as scratch:
        reader = runpy.run_path(str(Path(__file__).with_name("wordnet.py")))["nltk_reader"](Path(scratch))
        if archive is None or reader is None:
            print(f"scoring_wups: skipped, no COCO-QA or no WordNet 3.0 in {REAL_DATA}")
            return []
        with zipfile.ZipFile(archive) as opened:
            files = sorted(name for name in opened.namelist() if name.endswith("answers.txt"))
            references = [answer for name in files for answer in opened.read(name).decode().splitlines()]
        return beside_nltk(reader, references)


def beside_nltk(reader: "WordNetCorpusReader", references: Answers) -> list[Row]:
    """The rates of both, and in how many scores they differ."""
    predictions = Random(0).sample(references, len(references))  # answers as frequent as in the dataset
    first, _ = timed(lambda: wups(predictions[:1], references[:1]))
    nltk_rates, our_rates, differ = [], [], 0
    for run in range(RUNS):
        part = slice(run * N_NLTK, (run + 1) * N_NLTK)
        for answer in {*predictions[part], *references[part]}:
            reader.synsets(answer, pos="n")  # NLTK reads a synset from its files once; that is not what we measure
        seconds, expected = timed(lambda part=part: nltk_wups(reader, predictions[part], references[part]))
        nltk_rates.append(N_NLTK / seconds)
        seconds, result = timed(lambda: wups(predictions, references, per_question=True))
        our_rates.append(len(references) / seconds)
        found = result["per_question"]
        for name, scores in zip(("wups@0.9", "wups@0.0", "accuracy"), expected, strict=True):
            differ += sum(ours != theirs for ours, theirs in zip(found[name][part], scores, strict=True))
    nltk, ours = median(nltk_rates), median(our_rates)
    return [
        ("WUPS@0.9, WUPS@0.0 and accuracy of COCO-QA's answers, NLTK", nltk, "questions/s", ""),
        (f"the same, ours ({len(references):,} questions)", ours, "questions/s", ""),
        ("the same, ours to NLTK", ours / nltk, "x", ">= 1,000"),
        (f"of {3 * RUNS * N_NLTK} scores of questions differ from NLTK", float(differ), "scores", "<= 0"),
        ("WUPS of one question, first of a process", first, "s", ""),
    ]


def nltk_wups(reader: "WordNetCorpusReader", predictions: Answers, references: Answers) -> list[list[float]]:
    """Each question's score under each threshold, literally."""

    def m(x: str, y: str, threshold: float) -> float:
        if x == y:
            return 1.0
        if threshold == -1:
            return 0.0
        pairs = [(s, o) for s in reader.synsets(x, pos="n") for o in reader.synsets(y, pos="n")]
        largest = max((s.wup_similarity(o) for s, o in pairs), default=0.0)
        return largest * 0.1 if largest < threshold else largest

    def side(items: Answers, others: Answers, threshold: float) -> float:
        return prod(max(m(item, other, threshold) for other in others) for item in items)

    def score(prediction: str, reference: str, threshold: float) -> float:
        a, t = ([item.strip() for item in text.split(",")] for text in (prediction, reference))
        return min(side(a, t, threshold), side(t, a, threshold))

    asked = list(zip(predictions, references, strict=True))
    return [[score(*pair, threshold) for pair in asked] for threshold in THRESHOLDS]


def tdiuc_rows() -> list[Row]:
    """All of TDIUC's figures on a made-up set of its size."""
    draw = Random(0)
    answers = [f"answer {number}" for number in range(TDIUC_ANSWERS)]
    references = draw.choices(answers, [1 / (rank + 1) for rank in range(TDIUC_ANSWERS)], k=TDIUC_QUESTIONS)
    vocabulary = answers[:-100]
    known = frozenset(vocabulary)
    predictions = [gold if gold in known and draw.random() < 0.6 else draw.choice(vocabulary) for gold in references]
    types = draw.choices([f"type {number}" for number in range(TDIUC_TYPES)], k=TDIUC_QUESTIONS)
    images = draw.choices(range(TDIUC_IMAGES), k=TDIUC_QUESTIONS)

    def score() -> object:
        return tdiuc_mpt(predictions, references, types, answer_vocabulary=vocabulary, image_ids=images)

    seconds = median(timed(score)[0] for _ in range(RUNS))
    what = f"TDIUC's means of {TDIUC_QUESTIONS:,} made-up answers, standard error by image"
    return [(what, seconds, "s", "< 10")]


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds taken, and what came out."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    for what, value, unit, required in rows():
        print(f"{what:60} {value:16,.3f} {unit:8} {required}")
