"""A rule is the strongest shortcut where its mechanism is planted in 70% of the rows; random labels raise no alarm."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from hf_vqa_mc.audits.rows import LEAST_ROWS
from hf_vqa_mc.audits.shortcut import gains
from tests.audits.planted import HEURISTICS, context_of, planted, ran, split_of, with_columns

ROWS, SHARE, CHOICES = 3000, 0.7, 5
CYRILLIC = str.maketrans("aeiou", "аеіоу")  # noqa: RUF001  they look alike


class Pictures:
    """Images of given widths and heights."""

    def __init__(self, sizes):
        self.sizes, self.files = sizes, {}

    def read(self, row):
        size = self.sizes[row]
        if size not in self.files:
            Image.new("L", size).save(file := io.BytesIO(), "PNG")
            self.files[size] = file.getvalue()
        return (self.files[size],)


def numbers(choices, labels, is_planted, rng):
    drawn = np.sort(rng.random((len(choices), 100)).argsort(axis=1)[:, :CHOICES], axis=1)
    order = rng.permuted(np.tile(np.arange(CHOICES), (len(choices), 1)), axis=1)
    labels = np.where(is_planted, (order == CHOICES // 2).argmax(axis=1), labels)
    return np.take_along_axis(drawn, order, axis=1).astype(str).tolist(), labels


def where_highest(value):
    """The target is the choice with the highest value; ties are broken at random."""

    def plant(choices, labels, is_planted, rng):
        best = [int(np.argmax([value(text, row) + 0.1 * rng.random() for text in row])) for row in choices]
        return choices, np.where(is_planted, best, labels)

    return plant


def changed(change, of_targets=True):
    """A change of the target's text, or of the decoys' texts."""

    def plant(choices, labels, is_planted, rng):
        found = [
            [change(text) if one and (index == label) == of_targets else text for index, text in enumerate(row)]
            for row, label, one in zip(choices, labels, is_planted, strict=True)
        ]
        return found, labels

    return plant


def mean_length(row):
    return np.mean([len(text) for text in row])


def before(text, row):
    return sum(text < other for other in row)


def repeated(choices, labels, is_planted, rng):
    labels = labels.copy()
    for row in range(1, len(labels)):
        labels[row] = labels[row - 1] if is_planted[row] else labels[row]
    return choices, labels


def in_blocks(choices, labels, is_planted, rng):
    of_blocks = rng.integers(CHOICES, size=ROWS // LEAST_ROWS + 1)
    return choices, np.where(is_planted, of_blocks[np.arange(ROWS) // (ROWS // 100)], labels)


MECHANISMS = {
    "punctuation at the end": changed(lambda text: text + "."),
    "no punctuation at the end": changed(lambda text: text + "!", of_targets=False),
    "other script": changed(lambda text: text.translate(CYRILLIC)),
    "alphabetically first": where_highest(before),
    "alphabetically last": where_highest(lambda text, row: -before(text, row)),
    "median number": numbers,
    "closest to the mean length": where_highest(lambda text, row: -abs(len(text) - mean_length(row))),
    "even length": where_highest(lambda text, row: len(text) % 2 == 0),
    "odd length": where_highest(lambda text, row: len(text) % 2),
    "label of the previous row": repeated,
    "block of rows": in_blocks,
    "name of the image": None,
    "image width or height": None,
}


def benchmark(mechanism, seed=0):
    """The context of rows whose labels are random, except where a mechanism is planted."""
    rng, table = np.random.default_rng(seed), planted("none", 0.0, ROWS, seed, CHOICES)[0]
    labels, is_planted = rng.integers(CHOICES, size=ROWS), rng.random(ROWS) < SHARE
    choices, plant = table["choices"].to_pylist(), MECHANISMS.get(mechanism)
    if plant is not None:
        choices, labels = plant(choices, labels, is_planted, rng)
    given = np.where(is_planted, labels, rng.integers(CHOICES, size=ROWS))
    names, widths = (
        given if one == mechanism else rng.integers(CHOICES, size=ROWS)
        for one in ("name of the image", "image width or height")
    )
    ids = [f"images/{one:06}_small.jpeg" for one in (CHOICES * rng.permutation(ROWS) + names).tolist()]
    table = with_columns(table, choices=choices, label=labels, image_id=ids)
    context = context_of(table)
    sizes = zip((40 + widths).tolist(), rng.integers(40, 60, ROWS).tolist(), strict=True)
    context.split = replace(split_of(table), images=Pictures(list(sizes)))
    return context


def alarms(context):
    found, not_run = ran(context, HEURISTICS)
    assert not not_run
    chance, clusters = context.rows.chance, context.split.clusters
    return [one.name for one in gains(list(found.values()), chance, clusters) if one.alarm]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_planted_mechanism_is_found_and_named(mechanism):
    assert alarms(benchmark(mechanism))[0] == mechanism


@pytest.mark.parametrize(
    "times", [pytest.param(20, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.exhaustive)]
)
def test_shuffled_labels_raise_no_more_alarms_than_the_level_allows(times):
    assert sum(bool(alarms(benchmark("none", seed))) for seed in range(times)) <= times * 0.05
