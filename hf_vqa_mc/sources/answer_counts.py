"""Statistics of a dataset's answers: their number, frequencies and entropy.

The statistics of an open-ended config for JSON::

    {"answers": {"different": 1842, "most_frequent": [["no", 33120], ...]},
     "entropy": {"overall": 7.1, "by": {"structural type": {"query": 8.9, ...}}},
     "tables": [{"title": "...", "columns": ["...", ...], "rows": [["query", 12, 3.5], ...]}, ...]}
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from hf_vqa_mc.sources.source import Counts

MOST_FREQUENT = 20
"""Number of most frequent answers that are listed."""


def count(counts: Counts, columns: pa.Table) -> None:
    """Add rows to the counts; columns: all that the keys of the counts name, text without nulls."""
    for names, counter in counts.items():
        groups = columns.group_by(list(names), use_threads=False).aggregate([([], "count_all")]).to_pydict()
        sizes = groups.pop("count_all")
        for values, size in zip(zip(*(groups[name] for name in names), strict=True), sizes, strict=True):
            counter[values] += size


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
    """The entropy in bits of a distribution given by counts; 0.0 without counts.

    >>> entropy([2, 2]), entropy([5])
    (1.0, 0.0)
    """
    positive = sorted(size for size in sizes if size)
    total = sum(positive)
    return math.fsum(size / total * math.log2(total / size) for size in positive)


def mean_entropy(groups: Mapping[str, Counter[str]]) -> tuple[float, float]:
    """The mean of the groups' entropies in bits, unweighted and weighted by rows; 0.0 without groups."""
    bits = [entropy(counts.values()) for counts in groups.values()]
    sizes = [counts.total() for counts in groups.values()]
    if not sum(sizes):
        return 0.0, 0.0
    weighted = math.fsum(one * size for one, size in zip(bits, sizes, strict=True))
    return math.fsum(bits) / len(bits), weighted / sum(sizes)


def add_means(figures: dict[str, Any], groups: Mapping[str, Counter[str]], what: str, which: str = "") -> None:
    """Add the means of the groups' entropies, unweighted and weighted, to the figures of `answer_figures`."""
    plain, weighted = mean_entropy(groups)
    figures["entropy"] |= {f"mean of {what}{which}": plain, f"mean of {what}, by questions{which}": weighted}


def most_frequent(answers: Counter[str], number: int = MOST_FREQUENT) -> list[list[Any]]:
    """[answer, rows], the most frequent first, ties by name."""
    return [list(item) for item in sorted(answers.items(), key=lambda item: (-item[1], item[0]))[:number]]


def answer_figures(answers: Counter[str], by: Mapping[str, Mapping[str, Counter[str]]]) -> dict[str, Any]:
    """``answers`` and ``entropy`` of a config's statistics; by: kind of group -> group -> its answers."""
    entropies = {
        kind: {name: entropy(counts.values()) for name, counts in groups.items()} for kind, groups in by.items()
    }
    return {
        "answers": {"different": len(answers), "most_frequent": most_frequent(answers)},
        "entropy": {"overall": entropy(answers.values()), "by": entropies},
    }


def table(title: str, columns: list[str], rows: Iterable[list[Any]]) -> dict[str, Any]:
    """A table of a config's statistics; cells are text, integers or bits."""
    return {"title": title, "columns": columns, "rows": list(rows)}


def type_table(title: str, kind: str, groups: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Questions, distinct answers, the most frequent answer and the entropy of each group."""
    rows = [
        [name, counts.total(), len(counts), most_frequent(counts, 1)[0][0], entropy(counts.values())]
        for name, counts in groups.items()
    ]
    columns = [kind, "questions", "different answers", "most frequent answer", "entropy (bits)"]
    return table(title, columns, sorted(rows, key=lambda row: (-row[1], row[0])))
