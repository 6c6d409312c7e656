"""All metrics give the scores that they gave when the golden file was written.

After a change that is meant to move them: ``python -m tests.golden.rewrite scores``.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.golden import rewrite, scores
from tests.golden.rewrite import golden

GOLDEN = golden("scores")
NAMES = [metric.__name__ for metric in scores.METRICS]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values in nested results by their path, empty lists and records included."""
    if not value or not isinstance(value, dict | list):
        yield path, value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(inner, (*path, key))


def test_the_golden_file_has_all_metrics() -> None:
    assert list(GOLDEN) == NAMES


@pytest.mark.filterwarnings("ignore::hf_vqa_mc.scoring.gqa_grounding.AttentionSum")
@pytest.mark.parametrize("metric", NAMES)
def test_a_metric_gives_the_same_results(metric: str) -> None:
    found, expected = dict(leaves(rewrite.scores(metric))), dict(leaves(GOLDEN[metric]))
    assert list(found) == list(expected)
    for path, value in expected.items():
        assert type(found[path]) is type(value), path
        assert found[path] == (pytest.approx(value, abs=2e-10) if isinstance(value, float) else value), path
