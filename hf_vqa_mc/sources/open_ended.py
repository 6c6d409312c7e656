"""Reading an open-ended config in pieces, with never all rows in memory, and the statistics of its answers.

The statistics for JSON::

    {"answers": {"different": 1842, "most_frequent": [["no", 33120], ...]},
     "entropy": {"overall": 7.1, "by": {"structural type": {"query": 8.9, ...}}},
     "tables": [{"title": "...", "columns": ["...", ...], "rows": [["query", 12, 3.5], ...]}, ...]}
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source, warn_about_counts
from hf_vqa_mc.sources.table import plain_errors, regrouped

MOST_FREQUENT = 20  # answers that are listed


def open_ended_source(columns: Collection[str], name: str | None = None) -> tuple[Source, OpenEnded] | None:
    """The open-ended config of exactly these columns, of that name or else the first, with its source; or None."""
    configs = [(source, config) for source in SOURCES.values() for config in source.open_ended]
    found = [one for one in configs if set(one[1].schema.names) == set(columns)]
    return next((one for one in found if one[1].name == name), next(iter(found), None))


class Reading:
    """One reading of a config: its rows split by split, and their statistics; InputError if the files lack it."""

    def __init__(self, config: OpenEnded, files: Files) -> None:
        self.config = config
        self.not_read: dict[str, str] = {}
        self._files = files
        self.splits = config.splits(files, self.not_read)
        if not self.splits:
            for name, reason in self.not_read.items():
                raise InputError(f"{config.name}: {name} cannot be read: {reason}; and no other file of it was found")
            files.find(config.needs)  # raises an InputError that names its source
            raise InputError(f"{config.name}: there is no {config.needs}")
        self.rows = dict.fromkeys(self.splits, 0)
        self._counts: Counts = {names: Counter() for names in config.together}
        self._left_out: Counter[str] = Counter()

    def tables(self, split: str) -> Iterator[pa.Table]:
        """The rows of a split, in the columns of the config's schema."""
        with plain_errors(f"{self.config.name}, {split}"):
            for table in regrouped(self.config.read(self._files, split, self._left_out)):
                count(self._counts, self.config.counted(table))
                self.rows[split] += table.num_rows
                yield table

    def statistics(self) -> dict[str, Any]:
        """Counts and statistics of all splits for JSON, after all were read; warns with CountMismatch."""
        name, expected = self.config.name, self.config.expected_counts
        if not any(self.rows.values()):
            left = "; ".join(f"{n:,} {reason}" for reason, n in self._left_out.items() if n)
            raise InputError(f"{name}: no row is left ({left or 'the files are empty'}); remove it from --variants")
        warn_about_counts(name, {split: n for split, n in expected.items() if split in self.rows}, self.rows)
        return {
            "rows": {split: rows for split, rows in self.rows.items() if rows},
            **self.config.statistics(self._counts),
            "left_out": dict(sorted(self._left_out.items())),
            "not_read": dict(sorted(self.not_read.items())),
        }


def distinct_images(config: OpenEnded, files: Files) -> pa.Table:
    """Each image of a config with its file, (image_id, image_file), in the order of the rows; reads the files once."""
    found: dict[str, str] = {}
    for split in Reading(config, files).splits:
        for table in regrouped(config.read(files, split, Counter())):
            images = config.images(table)
            found.update(zip(images["image_id"].to_pylist(), images["image_file"].to_pylist(), strict=True))
    return pa.table({"image_id": pa.array(found.keys(), pa.string()), "image_file": pa.array(found.values())})


def count(counts: Counts, columns: pa.Table) -> None:
    """Add rows to the counts; columns: all that the keys of the counts name, text without nulls."""
    for names, counter in counts.items():
        for group in columns.group_by(list(names), use_threads=False).aggregate([([], "count_all")]).to_pylist():
            counter[tuple(group[name] for name in names)] += group["count_all"]


def by_value(counter: Counter[tuple[str, ...]], position: int = -1) -> Counter[str]:
    """The number of rows with each value of one of the columns that were counted together."""
    found: Counter[str] = Counter()
    for key, size in counter.items():
        found[key[position]] += size
    return found


def grouped(counter: Counter[tuple[str, ...]], position: int = -1) -> dict[str, Counter[str]]:
    """The counts of a column's values for each value of the first column except "", sorted."""
    found: dict[str, Counter[str]] = {}
    for key, size in counter.items():
        if key[0]:
            found.setdefault(key[0], Counter())[key[position]] += size
    return dict(sorted(found.items()))


def entropy(sizes: Iterable[int]) -> float:
    """The entropy in bits of a distribution given by counts; 0.0 without counts."""
    positive = sorted(size for size in sizes if size)
    total = sum(positive)
    return math.fsum(size / total * math.log2(total / size) for size in positive)


def add_means(figures: dict[str, Any], groups: Mapping[str, Counter[str]], what: str, which: str = "") -> None:
    """Add the means of the groups' entropies, unweighted and weighted, to the figures of `answer_figures`."""
    bits = [entropy(counts.values()) for counts in groups.values()]
    sizes = [counts.total() for counts in groups.values()]
    weighted = math.fsum(one * size for one, size in zip(bits, sizes, strict=True)) / (sum(sizes) or 1)
    plain = math.fsum(bits) / (len(bits) or 1) if sum(sizes) else 0.0
    figures["entropy"] |= {f"mean of {what}{which}": plain, f"mean of {what}, by questions{which}": weighted}


def most_frequent(answers: Counter[str], number: int = MOST_FREQUENT) -> list[list[Any]]:
    """[answer, rows], the most frequent first, ties by name."""
    return [list(item) for item in sorted(answers.items(), key=lambda item: (-item[1], item[0]))[:number]]


def answer_figures(answers: Counter[str], by: Mapping[str, Mapping[str, Counter[str]]]) -> dict[str, Any]:
    """``answers`` and ``entropy`` of a config's statistics; by: kind of group -> group -> its answers."""
    bits = {kind: {name: entropy(one.values()) for name, one in groups.items()} for kind, groups in by.items()}
    figures = {"different": len(answers), "most_frequent": most_frequent(answers)}
    return {"answers": figures, "entropy": {"overall": entropy(answers.values()), "by": bits}}


def type_table(title: str, kind: str, groups: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Questions, distinct answers, the most frequent answer and the entropy of each group."""
    rows = [
        [name, counts.total(), len(counts), most_frequent(counts, 1)[0][0], entropy(counts.values())]
        for name, counts in groups.items()
    ]
    columns = [kind, "questions", "different answers", "most frequent answer", "entropy (bits)"]
    return {"title": title, "columns": columns, "rows": sorted(rows, key=lambda row: (-row[1], row[0]))}
