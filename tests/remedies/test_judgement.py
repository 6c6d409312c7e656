"""Which rows report probes judge, and what they find after pruning and in closed answer sets."""

import datasets
import numpy as np
import pytest

from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.remedies import judgement
from hf_vqa_mc.remedies.judgement import judge
from hf_vqa_mc.text.embeddings import embedding_families

pytestmark = pytest.mark.usefixtures("untrained_report_probes")


def split(rows, cue=0.0, seed=0):
    """Rows about 100 images; with the probability ``cue`` the target is the longest choice."""
    rng, words, found = np.random.default_rng(seed), [f"w{number}" for number in range(50)], []
    for row in range(rows):
        choices = rng.choice(words, 4, replace=False).tolist()
        label = int(rng.integers(4))
        if rng.random() < cue:
            choices[label] += " " + words[rng.integers(50)]
        found.append({"question_id": f"q{row}", "image_id": str(row % 100), "question": f"what {row % 7}",
                      "choices": choices, "label": label})  # fmt: skip
    return read_benchmark(datasets.Dataset.from_list(found)).test


def judged(published, remedied, **options):
    return judge(published, remedied, embedding_families(), **options)


def test_removing_the_rows_of_a_shortcut_is_better_than_all_published_rows():
    published = split(600, cue=0.5)
    longest = [max(map(len, row["choices"])) > 3 for row in published.rows.to_pylist()]
    kept = np.flatnonzero(~np.array(longest) | (np.arange(600) % 5 == 0))
    found = judged(published, published.take(kept))
    assert found.judged == 600
    probe = next(one for one in found.probes if one.name.startswith("longest choice"))
    assert probe.high < 0
    assert probe.after < probe.before - 0.1
    assert found.implausible is None


def test_removing_random_rows_is_neither_better_nor_harmful():
    published = split(600, cue=0.3)
    found = judged(published, published.take(np.flatnonzero(np.arange(600) // 100 % 2 == 0)))
    assert not found.better
    assert found.harmed == ()


def test_of_many_rows_whole_groups_are_judged(monkeypatch):
    monkeypatch.setattr(judgement, "MOST_JUDGED", 200)
    published = split(600, cue=0.5)
    found = judged(published, published)
    assert (found.judged, found.rows) == (204, 600)  # 34 images of 6 rows
    assert found.mean.before == pytest.approx(judged(published, published, seed=1).mean.before, abs=0.15)


@pytest.mark.slow
def test_one_new_decoy_is_not_less_plausible_by_more_than_chance():
    published = split(200)
    rows = published.rows.select(["question_id", "image_id", "question", "choices", "label"]).to_pylist()
    rows[0]["choices"][(rows[0]["label"] + 1) % 4] = "something else that no other row has"
    found = judged(published, read_benchmark(datasets.Dataset.from_list(rows)).test)
    assert found.implausible in (0, 1)
    assert found.implausible - found.implausible_half < 0.1 and not found.less_plausible
