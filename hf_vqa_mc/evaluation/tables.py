"""The figures of an evaluation as text."""

from collections.abc import Iterator

from hf_vqa_mc.evaluation.figures import Figures, Share
from hf_vqa_mc.evaluation.inputs import FULL, INPUTS, Shown
from hf_vqa_mc.evaluation.methods import RULES
from hf_vqa_mc.scoring.table import points, with_interval
from hf_vqa_mc.text.counted import counted

NO_INTERVAL = "n/a: the differences are all equal, or of one image, so that their variance cannot be estimated."


def input_columns(figures: Figures) -> dict[str, list[str]]:
    """The cells of each column, in percent and points, a line per input; without columns that are empty."""
    columns: dict[str, list[str]] = {}
    for name in figures.picks:
        counts, sets = figures.counts(name), figures.sets(name)
        is_other = FULL.name in figures.picks and name != FULL.name
        line = {
            "input": name,
            "accuracy": percent_interval(figures.accuracy(name)),
            "full minus this": points_interval(figures.gain(name)) if is_other else "",
            "all rotations": percent_interval(figures.circular(name)) if figures.rotations > 1 else "",
            **{rule: f"{100 * figures.accuracy(name, rule).mean:.1f}" for rule in figures.rules[1:]},
            "whole sets": "" if sets is None else percent_interval(sets),
            "unparsed": f"{counts['unparsed']:,}" if counts["unparsed"] else "",
            "cut off": f"{counts['cut_off']:,}" if counts["cut_off"] else "",
            "failed": f"{counts['failed']:,}" if counts["failed"] else "",
        }
        for heading, cell in line.items():
            columns.setdefault(heading, []).append(cell)
    columns["input"].append("chance")
    columns["accuracy"].append(f"{100 * figures.chance:.1f}")
    for heading in list(columns)[2:]:
        columns[heading].append("")
    return {heading: cells for heading, cells in columns.items() if any(cells)}


def questions_of(figures: Figures) -> str:
    """The number of questions, and whether they are a sample."""
    asked, of_split = len(figures.rows), counted(len(figures.questions), "question")
    return of_split if asked == len(figures.questions) else f"{asked:,} of {of_split} (random sample)"


def notes(figures: Figures) -> Iterator[str]:
    """Sentences below the table."""
    yield "Percent and 95% intervals, clustered by image."
    without = int((figures.questions.images[figures.rows] < 0).sum())
    if without and any(INPUTS[name].image is not Shown.NONE for name in figures.picks):
        yield f"{counted(without, 'question')} without an image, asked without one with all inputs."
    if cut := sum(figures.counts(name)["cut_off"] for name in figures.picks):
        yield f"Cut off at the maximum number of tokens: {counted(cut, 'text')}; raise --max-tokens."
    others = figures.rules[1:]
    if others:
        yield f"Other rules: {'; '.join(f'{rule}: {RULES[rule]}' for rule in others)}."
    if FULL.name in figures.picks and any(
        figures.gain(name).low is None for name in figures.picks if name != FULL.name
    ):
        yield NO_INTERVAL
    for name in figures.picks:
        if figures.failures[name]:
            yield f"{name}, {len(figures.failures[name]):,} without a reply, such as: {figures.failures[name][0]}"


def percent_interval(found: Share) -> str:
    """A share in percent with its interval."""
    return with_interval(found.mean, None if found.low is None or found.high is None else (found.low, found.high))


def points_interval(found: Share) -> str:
    """A difference in percentage points with its interval; "n/a" without one, see `NO_INTERVAL`."""
    if found.low is None or found.high is None:
        return f"{points(found.mean)} (n/a)"
    return f"{points(found.mean)} ({points(found.low)} to {points(found.high)})"
