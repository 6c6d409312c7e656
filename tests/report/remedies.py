"""The page of a remedy with made-up figures, for the pages' tests."""

from dataclasses import replace

import datasets

from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.remedies.judgement import Change, Comparison
from hf_vqa_mc.remedies.remedied import Remedied
from hf_vqa_mc.report.remedy import RemedyResult
from hf_vqa_mc.verbs.remedy import RemedySettings

LEAK_CURVE = {
    "points": [
        {"coverage": step / 40 * 0.98, "rows": 98 * step, "gain": 0.2 * (step / 40) ** 2} for step in range(1, 41)
    ],
    "kept": {"coverage": 0.9, "gain": 0.169},
}
PROBES = ("forest on character LSA: choices alone", "most words of the question: question and choices")
COMPARISON = Comparison(
    tuple(
        Change(name, 0.40, 0.30 + shift, 0.25, 0.25, shift - 0.1, shift - 0.13, shift - 0.07, 0.02, 0.02)
        for name, shift in zip(PROBES, (0.0, 0.2), strict=True)
    ),
    Change("mean over the probes", 0.40, 0.30, 0.25, 0.25, -0.1, -0.12, -0.08, 0.02, 0.02),
    judged=400,
    judged_after=400,
    rows=400,
    groups=200,
)


def contents(texts=("a cat",), n_changes=3, compared=COMPARISON, closed=False, dataset=None):
    """The files of a report on changes whose texts are these in turn."""
    rows = [{"question": f"what {row}", "choices": ["a", "b"], "label": 0} for row in range(4)]
    benchmark = read_benchmark(datasets.Dataset.from_list(rows))
    if dataset is not None:
        benchmark = replace(benchmark, dataset=dataset)
    names = ("question_id", "question", "target", "old", "new", "reason")
    changes = [
        {name: texts[(row + at) % len(texts)] + str(row) for at, name in enumerate(names)} for row in range(n_changes)
    ]
    split = {"rows": 4, "decoys": 4, "changed": n_changes, "stopped": texts[-1]}
    statistics = {"strategy": "repair", "changed": n_changes, "decoys": 4, "splits": {"test": split}}
    if closed:
        statistics["closed_sets"] = {benchmark.evaluated: {"leak_curve": LEAK_CURVE}}
    settings = RemedySettings("published", output="new.csv", force=True)
    made = Remedied(benchmark, {**statistics, "changes": changes})
    return RemedyResult(settings, benchmark, made, compared)._files()


def page(texts=("a cat",), **options):
    """The page alone."""
    return contents(texts, **options)["report.html"].decode()
