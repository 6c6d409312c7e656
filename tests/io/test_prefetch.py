"""Work done ahead comes in order, its errors come up, and stopping early leaves no thread."""

import threading
from itertools import count

import pytest

from hf_vqa_mc.io.prefetch import ahead


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order(workers):
    assert list(ahead(lambda number: 2 * number, range(40), 4, workers)) == list(range(0, 80, 2))


def test_an_error_comes_up_where_its_result_would():
    found = []
    with pytest.raises(ZeroDivisionError):
        for one in ahead(lambda number: 1 / (number - 5), range(10), 4):
            found.append(one)
    assert len(found) == 5


def test_closing_it_early_leaves_no_thread_behind():
    before = threading.active_count()
    results = ahead(lambda number: number, count(), 4)
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before
