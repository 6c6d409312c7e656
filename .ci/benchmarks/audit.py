"""What the audit finds in datasets with planted shortcuts, and how long a million rows take: `.ci/bench audit`.

The planted datasets are those of the tests (tests/audits/planted.py): 100 seeds of each bias, strength and size.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hf_vqa_mc.audits.ambiguity import possibly_correct  # noqa: E402
from hf_vqa_mc.audits.auditing import audit  # noqa: E402
from hf_vqa_mc.audits.findings import findings  # noqa: E402
from hf_vqa_mc.audits.gains import ALARM_LEVEL, Estimate, estimate, holm  # noqa: E402
from hf_vqa_mc.audits.probes import PROBES, Context, run_probes  # noqa: E402
from hf_vqa_mc.audits.rows import number_rows  # noqa: E402
from hf_vqa_mc.audits.settings import ProbeSettings  # noqa: E402
from hf_vqa_mc.benchmarks.benchmark import ROWS, Benchmark, Split  # noqa: E402
from hf_vqa_mc.text.wordnet import load_wordnet  # noqa: E402
from tests.audits.planted import RULES, planted, split_of  # noqa: E402

T = TypeVar("T")
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

SEEDS = 100
PROBED_SEEDS = 40
STRENGTHS = (0.1, 0.3, 0.6)
SIZES = (300, 2000)
MILLION = 1_000_000
COUNTING = [probe for probe in PROBES.values() if not probe.trained]
KINDS = {"repeat": "answers repeat as in VQA", "differ": "all texts differ"}
VERBS = {("audit", "differ", MILLION // 10): "< 60", ("audit", "differ", MILLION): "< 300"}
VERBS |= {("audit", "repeat", MILLION): "< 300", ("remedy", "repeat", MILLION): "< 300"}
"""Verb, kind of rows and number of rows to the seconds that are required, all with default settings."""


def rows() -> Iterator[Row]:
    """The figures, as they come."""
    for (verb, kind, n_rows), required in VERBS.items():
        figures = in_process(verb, kind, str(n_rows))
        what = f"{verb} with default settings, {n_rows:,} rows of 4 choices, {KINDS[kind]}"
        yield what, figures["seconds"], "s", required
        yield f"{what}: CPU time", figures["cpu"], "s", ""
        yield f"{what}: peak memory", figures["gib"], "GiB", "< 5.59"  # 6 GB
    for kind, words in KINDS.items():
        figures = in_process(kind)
        what = f"audit without training, {MILLION:,} rows of 4 choices, {words}"
        yield what, figures["seconds"], "s", "< 60"
        for step, taken in figures["steps"].items():
            yield f"{what}: {step}", taken, "s", ""
        yield f"{what}: peak memory", figures["gib"], "GiB", "< 3.72"  # 4 GB
    yield from planted_rows()
    yield from probed()


def in_process(*arguments: str) -> dict[str, Any]:
    """The figures that this file prints with these arguments, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"audit: {' '.join(arguments)} failed\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def default_run(verb: str, kind: str, n_rows: int) -> dict[str, float]:
    """Wall and CPU seconds of a command with its default settings, from file to files, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path = root / "rows.parquet"
        parquet.write_table(million_rows(kind).slice(0, n_rows).drop_columns(["choice_kinds", "question_type"]), path)
        command = [sys.executable, "-m", "hf_vqa_mc", verb, str(path)]
        if verb == "remedy":
            command += ["--word-vectors", "corpus", "--report", str(root / "report")]
        output = root / ("remedied.parquet" if verb == "remedy" else "audit")
        start = time.perf_counter()
        subprocess.run([*command, "--output", str(output)], check=True, stdout=sys.stderr, cwd=ROOT)
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "gib": used.ru_maxrss / 2**20}


def planted_rows() -> Iterator[Row]:
    """How often the planted strength lies in the interval, and how often there is an alarm without any."""
    for size in SIZES:
        for bias, rule in RULES.items():
            if rule is None:
                continue
            for strength in STRENGTHS:
                inside = 0
                for seed in range(SEEDS):
                    results, truth = audited(bias, strength, size, seed)
                    inside += results[rule].low <= truth <= results[rule].high
                yield f"{bias} planted at {strength}, {size:,} rows: in the interval", inside, "of 100", ">= 90"
        for bias, counted in {"question cue": "question and answer prior", "length": "answer prior (eq. 2)"}.items():
            for strength in STRENGTHS:
                above = 0
                for seed in range(SEEDS):
                    results, truth = audited(bias, strength, size, seed)
                    above += results[counted].low > truth
                yield f"{bias} planted at {strength}, {size:,} rows: {counted} said too much", above, "of 100", "<= 5"
        alarms = 0
        for seed in range(SEEDS):
            results, _ = audited("none", 0.0, size, seed)
            alarms += min(holm([result.p for result in results.values()])) < ALARM_LEVEL
        yield f"nothing planted, {size:,} rows: an alarm", alarms, "of 100", "<= 5"


def probed() -> Iterator[Row]:
    """Whole audits with probes: what they say of nothing, and whether they say more than was planted."""
    for bias, strength in (("none", 0.0), ("question cue", 0.3), ("length", 0.3)):
        alarms = above = found = 0
        for seed in range(PROBED_SEEDS):
            table, _, truth = planted(bias, strength, SIZES[0], seed)
            benchmark = Benchmark("planted", None, "test", {"test": split_of(table)}, None, {})
            gains = audit(benchmark, ProbeSettings(seed=seed)).gains
            blind = [gain for gain in gains if gain.shortcut.trained]
            alarms += any(gain.alarm for gain in gains)
            above += sum(gain.estimate.low > truth for gain in blind)
            found += any(gain.alarm for gain in blind)
        of = f"of {PROBED_SEEDS}"
        if bias == "none":
            yield f"with probes, nothing planted, {SIZES[0]} rows: an alarm", alarms, of, f"<= {PROBED_SEEDS // 20}"
        else:
            yield f"{bias} planted at {strength}, {SIZES[0]} rows: found by a probe", found, of, ""
        each = f"of {4 * PROBED_SEEDS}"
        yield f"{bias} at {strength}: a probe's lower bound above the truth", above, each, f"<= {PROBED_SEEDS // 5}"


def audited(bias: str, strength: float, size: int, seed: int) -> tuple[dict[str, Estimate], float]:
    """What the checks say of a planted dataset, by rule, and the truth."""
    table, _, truth = planted(bias, strength, size, seed)
    split, asked = split_of(table), number_rows({"test": table})["test"]
    found, _ = run_probes(Context(split, asked), COUNTING)
    results = {one.name: estimate(one.scores, asked.chance, split.clusters, one.inflation) for one in found}
    return results, truth


def million(kind: str) -> dict[str, object]:
    """Seconds of each step, and of all but making the rows; the most memory that the process has held."""
    table = million_rows(kind)
    split = Split("test", "a million rows", table, table, None)
    steps: dict[str, float] = {}
    answers = table["answers"].combine_chunks()
    numbered, steps["numbering"] = timed(lambda: number_rows({"test": table}))
    asked = numbered["test"]
    context = Context(split, asked)
    _, steps["folds"] = timed(lambda: context.folds)
    (shortcuts, _), steps["shortcuts"] = timed(lambda: run_probes(context, COUNTING))
    clusters, steps["images"] = timed(lambda: split.clusters)
    _, steps["intervals"] = timed(lambda: [estimate(s.scores, asked.chance, clusters, s.inflation) for s in shortcuts])
    _, steps["findings"] = timed(lambda: findings({"test": split}, numbered, "test"))
    _, steps["possibly correct"] = timed(lambda: possibly_correct(asked, answers, None))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": sum(steps.values()), "steps": steps, "gib": peak}


def million_rows(kind: str) -> pa.Table:
    """Rows of 4 choices, three questions an image; questions and answers are made of WordNet's nouns.

    Answers repeat as VQA v1's do (3,000 of them, the n-th 1/n as often as the first), or no text comes twice: three
    nouns and a number.
    """
    chance = np.random.default_rng(0)
    nouns = np.array([lemma for lemma in load_wordnet().nouns.lemmas if "_" not in lemma], object)
    if kind == "repeat":
        frequency = 1 / np.arange(1, 3001)
        texts = nouns[chance.choice(3000, (MILLION, 4), p=frequency / frequency.sum()) * 19]
        openers = nouns[chance.integers(200, size=MILLION)] + " is the " + nouns[chance.integers(5000, size=MILLION)]
        questions = openers + " of the " + nouns[chance.integers(20, size=MILLION)] + "?"
    else:
        numbers = np.arange(4 * MILLION).reshape(MILLION, 4).astype(str).astype(object)
        words = [nouns[chance.integers(len(nouns), size=(MILLION, 4))] for _ in range(3)]
        texts = words[0] + " " + words[1] + " " + words[2] + " " + numbers
        questions = words[0][:, 0] + " is the " + words[2][:, 1] + " of the " + numbers[:, 0] + "?"
    labels = chance.integers(4, size=MILLION)
    targets = texts[np.arange(MILLION), labels]
    others = nouns[chance.integers(3000, size=(MILLION, 3)) * 19]
    columns = {
        "question_id": pa.array(np.arange(MILLION).astype(str)),
        "image_id": pa.array(np.arange(MILLION) // 3).cast(pa.string()),
        "question": pa.array(questions, pa.string()),
        "choices": lists(texts),
        "label": labels,
        "question_type": pa.array(np.full(MILLION, "", object), pa.string()),
        "answers": lists(np.concatenate([targets[:, None], others], axis=1)),
        "choice_kinds": lists(np.empty((MILLION, 0), object)),
    }
    return pa.table(columns, schema=ROWS)


def lists(texts: NDArray[np.object_]) -> pa.ListArray:
    """Rows of texts as Arrow has them."""
    offsets = np.arange(0, texts.size + 1, max(texts.shape[1], 1)) if texts.size else np.zeros(len(texts) + 1)
    return pa.ListArray.from_arrays(offsets.astype(np.int32), pa.array(texts.ravel(), pa.string()))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What work gives, and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in KINDS:
        print(json.dumps(million(sys.argv[1])))
    elif sys.argv[3:]:
        print(json.dumps(default_run(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    else:
        for row in rows():
            print(*row, sep="\t")
