"""Datasets with one known shortcut, or with none: what an audit finds in them can be compared with the truth."""

from functools import lru_cache

import numpy as np
import pyarrow as pa

from hf_vqa_mc.audits.probes import PROBES, Context, run_probes
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.data import Split
from hf_vqa_mc.data.benchmark import ROWS

RULES = {
    "position": "choice A",
    "length": "longest choice",
    "frequency": "most frequent choice",
    "question overlap": "most words of the question",
    "image cue": None,
    "question cue": None,
    "none": None,
}
"""Each bias and the rule without training that looks for it; the two cues are for probes."""

LENGTHS = range(3, 15)
"""of the words, in letters; no two choices of a row are equally long"""
OF_A_LENGTH = 150
KEPT = 10
"""of the words of each length that are choices only where a bias wants them"""
CUES = 8
"""kinds of image, or first words of a question, each of which has a text of its own"""
CUE_WORDS = ("what", "who", "where", "why", "how", "which", "when", "whose")
FILLERS = ("blue", "near", "left", "under", "behind", "small", "old", "round")
TYPES = ("things", "places", "people")
ROWS_PER_IMAGE = 3
ALIKE = 2.0
"""a + b of the beta distribution that an image's own strength is from: its rows are right or wrong together"""


@lru_cache(maxsize=1)
def words():
    """(lengths, OF_A_LENGTH) different words, always the same."""
    rng = np.random.default_rng(20180601)
    consonants, vowels = list("bcdfghjklmnprstvz"), list("aeiou")
    found = []
    for length in LENGTHS:
        made = {}
        while len(made) < OF_A_LENGTH:
            letters = [rng.choice(vowels if index % 2 else consonants) for index in range(length)]
            made["".join(letters)] = None
        found.append(list(made))
    return np.array(found, object)


def planted(bias, strength, rows, seed, choices=4):
    """A dataset whose only shortcut is ``bias``, a key of RULES, in the share ``strength`` of the rows.

    In planted rows the rule that looks for the bias is right, in others any choice is as likely to be right. The
    images' own shares spread about ``strength``. Words and cues mean the same for all seeds: a train split is another
    seed. Returns a table (``ROWS``), the vectors of the rows' images (None but for ``image cue``), and the true gain
    over chance of the best rule that looks for the bias.
    """
    rng = np.random.default_rng([seed, sorted(RULES).index(bias), rows])
    images = np.sort(rng.integers(max(rows // ROWS_PER_IMAGE, 1), size=rows))
    rng.shuffle(images)
    share = np.full(images.max() + 1, float(strength))
    if 0 < strength < 1:
        share = rng.beta(ALIKE * strength, ALIKE * (1 - strength), size=len(share))
    is_planted = rng.random(rows) < share[images]
    cues = rng.integers(CUES, size=len(share) if bias == "image cue" else rows)
    if bias == "image cue":
        cues = cues[images]

    texts, special = _texts(bias, cues, choices, rng)
    right = np.where(is_planted, special, rng.integers(choices, size=rows))
    order = rng.permuted(np.tile(np.arange(choices), (rows, 1)), axis=1)  # the choice at each position
    if bias == "position":
        _put_first(order, right, np.flatnonzero(is_planted))
    labels = np.argmax(order == right[:, None], axis=1)
    placed = np.take_along_axis(texts, order, axis=1)

    # The word that overlaps is one choice's, always: the target's in planted rows, else any choice's.
    named = np.where(is_planted, right, rng.integers(choices, size=rows))
    middle = texts[np.arange(rows), named] if bias == "question overlap" else rng.choice(FILLERS, size=rows)
    openers = cues if bias == "question cue" else rng.integers(CUES, size=rows)
    words_of = zip(openers, middle, rng.integers(50, size=rows), strict=True)
    table = pa.table(
        {
            "question_id": [f"q{row}" for row in range(rows)],
            "image_id": [f"image-{seed}-{image}" for image in images],
            "question": [f"{CUE_WORDS[opener]} is the {word} one of {number}?" for opener, word, number in words_of],
            "choices": placed.tolist(),
            "label": labels,
            "question_type": rng.choice(TYPES, size=rows).tolist(),
            "answers": [[text] for text in texts[np.arange(rows), right]],
            "choice_kinds": [[] for _ in range(rows)],
        },
        schema=ROWS,
    )
    vectors = None
    if bias == "image cue":
        looks = 4.0 * np.eye(CUES, 2 * CUES)[cues] + rng.normal(size=(images.max() + 1, 2 * CUES))[images]
        vectors = looks.astype(np.float32)
    return table, vectors, 0.0 if bias == "none" else strength * (1 - 1 / choices)


def _put_first(order, right, rows):
    """Swap the right choice of these rows with the first."""
    first = np.argmax(order == right[:, None], axis=1)
    order[rows, first[rows]] = order[rows, 0]
    order[rows, 0] = right[rows]


def _texts(bias, cues, choices, rng):
    """The texts of each row (rows, choices) and which of them is right in a planted row (rows,)."""
    rows = len(cues)
    lengths = rng.permuted(np.tile(np.arange(len(LENGTHS)), (rows, 1)), axis=1)[:, :choices]
    texts = words()[lengths, rng.integers(KEPT, OF_A_LENGTH, size=lengths.shape)]
    if bias == "length":
        return texts, lengths.argmax(axis=1)
    special = np.zeros(rows, np.int64)
    if bias == "frequency":
        # Every row has one of a few texts, of all lengths; its others are rare.
        texts[:, 0] = words()[lengths[:, 0], 0]
    if bias in ("image cue", "question cue"):
        others = (cues[:, None] + rng.permuted(np.tile(np.arange(1, CUES), (rows, 1)), axis=1)) % CUES
        numbers = np.concatenate([cues[:, None], others[:, : choices - 1]], axis=1)
        texts = words()[np.arange(CUES), 0][numbers]
    if bias in ("position", "question overlap"):
        special = rng.integers(choices, size=rows)
    return texts, special


def table_of(rows):
    """Rows of (image, question, choices, label) as a table (``ROWS``)."""
    ids, empty = [f"q{row}" for row in range(len(rows))], [[] for _ in rows]
    columns = [ids, *map(list, zip(*rows, strict=True)), [""] * len(rows), empty, empty]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, ROWS, strict=True)], schema=ROWS)


def with_columns(table, **columns):
    """The table with other values in some columns."""
    for name, values in columns.items():
        index = table.column_names.index(name)
        table = table.set_column(index, table.schema.field(name), pa.array(values, table.schema.field(name).type))
    return table


def split_of(table, name="test", images=None, *, placed=True):
    """The table as a split of a benchmark."""
    return Split(name, f"planted, {name}", table, table, images, placed)


HEURISTICS = [probe for probe in PROBES.values() if not probe.trained]
MODELS = [probe for probe in PROBES.values() if probe.trained]


def context_of(table, train=None, *, placed=True, folds=None, vectors=None, rows=None, **settings):
    """What probes may look at; folds and image vectors (audited rows, then training rows) may be given."""
    numbered = number_rows({"test": table} | ({} if train is None else {"train": train}))
    train_split = None if train is None else split_of(train, "train")
    split = split_of(table, placed=placed)
    context = Context(split, rows or numbered["test"], train_split, numbered.get("train"), ProbeSettings(**settings))
    if folds is not None:
        context.folds = folds
    context.images = vectors, []
    return context


def ran(context, probes):
    """The shortcuts by name, and what was not run."""
    found, not_run = run_probes(context, probes)
    return {one.name: one for one in found}, not_run
