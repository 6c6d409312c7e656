"""An audit from top to bottom: findings, possibly correct decoys, probes, and the verdict."""

from collections.abc import Iterator

from hf_vqa_mc.audits.ambiguity import possibly_correct
from hf_vqa_mc.audits.audited import Audit
from hf_vqa_mc.audits.findings import findings
from hf_vqa_mc.audits.gains import gains
from hf_vqa_mc.audits.probes import PROBES, Context, run_probes
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.telling import telling_texts
from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import load_word_vectors


def audit(benchmark: Benchmark, settings: ProbeSettings | None = None, progress: Progress = silent) -> Audit:
    """Find the shortcuts of the audited split.

    Probes are fitted on the training split where there is one, else on the other four of five folds of the audited
    rows, which share no image with the fold that is evaluated.

    Args:
        benchmark: as `benchmarks.read_benchmark` gives it.
        settings: what is trained and measured.
        progress: called with (step, done, total).

    Raises:
        InputError: the word vectors, features or language model cannot be used.
    """
    settings = settings or ProbeSettings()
    split = benchmark.test
    vectors = None
    if settings.word_vectors is not None:
        vectors = load_word_vectors(settings.word_vectors, lambda: _sentences(split), settings.seed)
    progress("counting", 0, 3)
    numbered = number_rows({name: one.rows for name, one in benchmark.splits.items()})
    rows, train = numbered[split.name], benchmark.train
    progress("counting", 1, 3)
    found = findings(benchmark.splits, numbered, split.name)
    progress("counting", 2, 3)
    ambiguous = possibly_correct(rows, split.rows["answers"].combine_chunks(), vectors)
    progress("counting", 3, 3)
    context = Context(split, rows, train, numbered[train.name] if train else None, settings, progress)
    shortcuts, not_run = run_probes(context, PROBES.values())
    return Audit(
        benchmark=benchmark,
        rows=rows,
        gains=gains(shortcuts, rows.chance, split.clusters),
        findings=found,
        ambiguous=ambiguous,
        telling=telling_texts(rows, clusters=split.clusters),
        not_run=not_run,
    )


def _sentences(split: Split) -> Iterator[list[str]]:
    """The benchmark's own text: each question with its choices."""
    texts = zip(split.rows["question"].to_pylist(), split.rows["choices"].to_pylist(), strict=True)
    return ([*words(question), *(word for choice in choices for word in words(choice))] for question, choices in texts)
