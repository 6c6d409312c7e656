"""How fast VQA accuracy is, beside the official program's way of counting: `python .ci/benchmarks/scoring_vqa.py`.

As many questions as VQA v2's validation split has, with the answers of real ones where the real data is present (they
repeat until there are enough) and made ones elsewhere. The official way is a loop of our own that does literally what
that program does (each mark of each answer searched for, each record compared with each other); it takes turns with
ours on a part of the same questions, and its rate is taken for that of all.
"""

import gzip
import json
import lzma
import os
import re
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, TypeVar

from hf_vqa_mc.scoring.balanced_pairs import vqa_pair_accuracy
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.metric_folders import load_metric
from hf_vqa_mc.scoring.vqa_normalisation import ARTICLES, CONTRACTIONS, NUMBERS, PUNCTUATION

T = TypeVar("T")
Record = dict[str, Any]
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

ROOT = Path(__file__).resolve().parents[2]
REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
QUESTIONS = 214_354  # of VQA v2's validation split (balanced real images)
SAMPLE = 4_000  # a run of the official way
RUNS = 3

COMMA_IN_NUMBER = re.compile(r"(\d)(\,)(\d)")
PERIOD = re.compile(r"(\.)(?!\d)")


def rows() -> list[Row]:
    """The figures."""
    texts = [[fresh(text) for text in answers] for answers in islice(cycle(known_answers()), QUESTIONS)]
    records = [
        [{"answer": text, "answer_confidence": "yes", "answer_id": n} for n, text in enumerate(answers, 1)]
        for answers in texts
    ]
    without_ids = [[{"answer": text, "answer_confidence": "yes"} for text in answers] for answers in texts]
    draw = Random(0)
    predictions = [draw.choice([draw.choice(answers), "yes", "The red one."]) for answers in texts]
    ids = list(range(QUESTIONS))
    pairs = list(zip(ids[::2], ids[1::2], strict=True))
    metric = load_metric("vqa_accuracy")
    kinds: dict[str, Callable[[], object]] = {
        "records": lambda: vqa_accuracy(predictions, records),
        "records, protocol 2017": lambda: vqa_accuracy(predictions, records, protocol="2017"),
        "records without answer_id": lambda: vqa_accuracy(predictions, without_ids),
        "text": lambda: vqa_accuracy(predictions, texts),
        "text, load_metric": lambda: metric.compute(predictions=predictions, references=texts),
        "records, load_metric": lambda: metric.compute(predictions=predictions, references=records),
        "balanced pairs, records": lambda: vqa_pair_accuracy(predictions, records, question_ids=ids, pairs=pairs),
    }
    seconds: dict[str, list[float]] = {kind: [] for kind in ("literal", *kinds)}
    differing = 0
    for run in range(RUNS):
        part = slice(run * SAMPLE, (run + 1) * SAMPLE)
        copies = [[dict(record) for record in answers] for answers in records[part]]
        taken, expected = timed(lambda copies=copies, part=part: literal_scores(predictions[part], copies))
        seconds["literal"].append(taken)
        for kind, work in kinds.items():
            seconds[kind].append(timed(work)[0])
        found = vqa_accuracy(predictions[part], records[part], per_question=True)["per_question"] or []
        differing += sum(abs(a - b) > 1e-9 for a, b in zip(found, expected, strict=True))
    literal = median(seconds["literal"]) / SAMPLE * QUESTIONS
    spent = {kind: median(seconds[kind]) for kind in kinds}
    return [
        (f"VQA accuracy of {QUESTIONS:,} questions x 10 answers, the official way", literal, "s", ""),
        *((f"VQA accuracy of the same, ours: {kind}", taken, "s", "") for kind, taken in spent.items()),
        ("VQA accuracy, records, ours to the official way", literal / spent["records"], "x", ">= 20"),
        ("VQA accuracy, text, ours to the official way", literal / spent["text"], "x", ">= 20"),
        (
            "VQA accuracy, text, load_metric to the plain function",
            spent["text, load_metric"] / spent["text"],
            "x",
            "< 3",
        ),
        (
            "VQA accuracy, records, load_metric to the plain function",
            spent["records, load_metric"] / spent["records"],
            "x",
            "< 3",
        ),
        (f"of {RUNS * SAMPLE:,} questions score otherwise", float(differing), "questions", "<= 0"),
    ]


def known_answers() -> list[list[str]]:
    """Ten answers a question."""
    found = [*real_answers()]
    if found:
        return found
    print(f"scoring_vqa: no VQA v1 or v2 in {REAL_DATA}: answers are made")
    draw = Random(0)
    words = [f"word{n}" for n in range(20_000)]
    common = [" ".join(draw.choices(words, k=draw.choice((1, 1, 1, 2, 3)))) for _ in range(60_000)]
    return [draw.choices(draw.sample(common, 3), k=10) for _ in range(QUESTIONS)]


def real_answers() -> Iterator[list[str]]:
    """Those of the real data: VQA v1's in one file, VQA v2's in three."""
    for file in sorted(REAL_DATA.glob("vqa_v1/vqacp_v1_test_question_new.json.xz")):
        with lzma.open(file) as opened:
            yield from (row["answer"] for row in json.load(opened))
    for file in sorted(REAL_DATA.glob("vqa_v2/vqa_annotatons_*.gzip")):
        with gzip.open(file) as opened:
            for row in json.load(opened)["annotations"]:
                yield [record["answer"] for record in row["answers"]]


def fresh(text: str) -> str:
    """The same text as an object of its own, as a JSON file gives it."""
    return text.encode().decode()


def literal_scores(predictions: list[str], references: list[list[Record]]) -> list[float]:
    """Question after question, answer after answer; the records are normalised in place."""
    scores = []
    for prediction, records in zip(predictions, references, strict=True):
        for record in records:
            record["answer"] = record["answer"].replace("\n", " ").replace("\t", " ").strip()
        answer = prediction.replace("\n", " ").replace("\t", " ").strip()
        if len({record["answer"] for record in records}) > 1:
            for record in records:
                record["answer"] = literal_words(literal_marks(record["answer"]))
            answer = literal_words(literal_marks(answer))
        credits = []
        for record in records:
            others = [other for other in records if other != record]
            matching = [other for other in others if other["answer"] == answer]
            credits.append(min(1, len(matching) / 3))
        scores.append(sum(credits) / len(credits))
    return scores


def literal_marks(text: str) -> str:
    """Punctuation and periods, one mark after another."""
    result = text
    for mark in PUNCTUATION:
        if mark + " " in text or " " + mark in text or re.search(COMMA_IN_NUMBER, text) is not None:
            result = result.replace(mark, "")
        else:
            result = result.replace(mark, " ")
    return PERIOD.sub("", result, count=32)


def literal_words(text: str) -> str:
    """Numbers, articles and contractions, one word after another."""
    kept = []
    for word in text.lower().split():
        number = NUMBERS.get(word, word)
        if number not in ARTICLES:
            kept.append(number)
    for place, word in enumerate(kept):
        if word in CONTRACTIONS:
            kept[place] = CONTRACTIONS[word]
    return " ".join(kept)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds taken, and what came out."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    for what, value, unit, required in rows():
        print(f"{what:75} {value:12,.3f} {unit:9} {required}")
