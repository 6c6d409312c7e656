"""Built datasets have the rows, the bytes and the audits that they had when the golden files were written.

After a change that is meant to move them: ``python -m tests.golden.rewrite NAME``, of a group of builds.
"""

from pathlib import Path

import pytest

from tests.golden.builds import GROUPS, group
from tests.golden.rewrite import golden, plain

MARKS = {
    "triplets": pytest.mark.slow,
    "gqa": pytest.mark.slow,
    "easyvqa": pytest.mark.exhaustive,
    "cocoqa": pytest.mark.exhaustive,
}
"""Of whole easy-VQA and COCO-QA, which take a minute, the part of easy-VQA and `tests.dataset` have a sample."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in GROUPS])
def test_builds_are_the_same(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if name.startswith("easyvqa"):
        pytest.importorskip("easy_vqa", reason="easy-VQA is not installed (extra demo)")
    real = request.getfixturevalue("real_data") if name == "cocoqa" else None
    expected = golden(name)
    found = {build: plain(one) for build, one in group(name, tmp_path, real)}
    assert list(found) == list(expected)
    for build, one in expected.items():
        assert list(found[build]) == list(one)
        for what, value in one.items():
            assert found[build][what] == value, (build, what)
