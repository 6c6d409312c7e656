"""The rows of balanced pairs (``vqa2_pairs``) as questions: each row has two questions about similar images."""

import numpy as np
import pyarrow as pa
import scipy

PAIR = "pair"
"""Column with the number of a question's pair, the same in all pairs that share a question."""
OTHER = "complementary_"
"""Prefix of the columns of a pair's second question."""


def questions_of_pairs(table: pa.Table) -> pa.Table:
    """The questions of all pairs, each once, with the column `PAIR`; other rows as they are."""
    names = table.column_names
    if f"{OTHER}question_id" not in names:
        return table
    second = [name.removeprefix(OTHER) for name in names if name.startswith(OTHER)]
    shared = [name for name in names if name not in second and not name.startswith(OTHER)]
    ends = [
        table.select([*shared, *(prefix + name for name in second)]).rename_columns([*shared, *second])
        for prefix in ("", OTHER)
    ]
    both = pa.concat_tables(ends)
    ids, number = np.unique(both["question_id"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    first, other = np.split(number, 2)
    linked = scipy.sparse.coo_array((np.ones(len(first)), (first, other)), (len(ids), len(ids)))
    _, pair = scipy.sparse.csgraph.connected_components(linked, False)
    both = both.append_column(PAIR, pa.array(pair[number].astype(str).tolist()))
    once = np.sort(np.unique(number, return_index=True)[1])
    return both.take(once)
