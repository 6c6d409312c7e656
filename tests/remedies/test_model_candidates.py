"""Candidates that a served model writes, all longer than the targets: they do not become a shortcut themselves."""

import numpy as np
import pytest

import hf_vqa_mc as vm
from tests.audits.planted import LENGTHS, planted, words
from tests.evaluation.served import Served

ROWS = 300
COLUMNS = ["question_id", "image_id", "question", "choices", "label"]


def longer(text, image):
    """Eight words, longer than the correct choice where there are any."""
    target = text.split('The answer "')[1].split('"')[0].partition(". ")[2]
    rng = np.random.default_rng(len(text))
    first = min(len(target) - LENGTHS[0] + 1, len(LENGTHS) - 1)
    lengths = rng.integers(first, len(LENGTHS), size=8)
    return "\n".join(words()[lengths, rng.integers(words().shape[1], size=8)])


@pytest.mark.slow
@pytest.mark.usefixtures("untrained_report_probes")
def test_longer_candidates_of_a_model_do_not_become_a_shortcut_and_are_asked_for_once(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    table = planted("length", 0.35, ROWS, 0)[0].select(COLUMNS).to_pandas()
    options = {"output": tmp_path / "fixed", "force": True}
    with Served(answer=longer) as server:
        first = vm.remedy(table, candidates_from="tiny", base_url=server.url, **options)
        again = vm.remedy(table, candidates_from="tiny", base_url=server.url, overwrite=True, **options)
        assert server.answered.total() == ROWS
    assert again.statistics == first.statistics
    assert (tmp_path / "fixed-tiny-candidates" / "answers.jsonl").is_file()
    written = first.changes[first.changes["origin"] == "written by tiny"]
    assert len(written) == first.statistics["candidates"]["used"] > 0
    longest = next(one for one in first.comparison.probes if one.name.startswith("longest choice"))
    assert abs(longest.after - 0.25) < abs(longest.before - 0.25)
