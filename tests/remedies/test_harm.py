from dataclasses import replace

import datasets
import numpy as np
import pytest

from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.remedies.judgement import compare_probes, two_way_error
from hf_vqa_mc.report.verdict import judgement_figures, verdict

ROWS = 2_000


def scores(accuracy, seed):
    return (np.random.default_rng(seed).random(ROWS) < accuracy).astype(float)


def compared(before, after):
    chance, own = np.full(ROWS, 0.25), np.arange(ROWS)
    names = [f"probe {number}" for number in range(len(before))]
    return compare_probes(
        *(dict(zip(names, [scores(one, seed + part) for seed, one in enumerate(given)], strict=True))
          for part, given in ((0, before), (100, after))),
        chance, own, own,
    )  # fmt: skip


def test_a_fall_towards_chance_is_better_and_harms_nothing():
    found = compared([0.40, 0.35, 0.25], [0.27, 0.26, 0.25])
    assert found.better
    assert found.harmed == ()
    assert found.mean.change == pytest.approx(np.mean([one.change for one in found.probes]))


@pytest.mark.parametrize("after", [0.40, 0.12])
def test_a_rise_above_chance_or_a_fall_below_it_is_harm(after):
    found = compared([0.25, 0.25, 0.25], [0.25, after, 0.25])
    assert [one.name for one in found.harmed] == ["probe 1"]
    assert not found.better


def test_rows_at_chance_are_neither_better_nor_harmed():
    found = compared([0.25] * 11, [0.25] * 11)
    assert not found.better
    assert found.harmed == ()


def test_rows_tied_by_a_donor_count_as_one_cluster():
    values = np.repeat(np.random.default_rng(0).normal(size=50), 10)
    own, donor = np.arange(500), np.repeat(np.arange(50), 10)
    assert two_way_error(values, own, donor) == pytest.approx(two_way_error(values, donor, donor))
    assert two_way_error(values, own, donor) > 2 * two_way_error(values, own, own)


@pytest.mark.slow
def test_removed_rows_widen_the_interval_as_much_as_they_differ_from_sample_to_sample():
    """The interval of the change by removing rows contains the true change in about 95 of 100 samples."""
    rng, covered, true = np.random.default_rng(0), [], 0.32 - 0.25 - (0.40 - 0.25)
    for _ in range(400):
        groups = np.repeat(np.arange(200), 3)
        kept = np.repeat(rng.random(200) < 0.6, 3)
        accuracy = np.where(kept, 0.32, 0.52)  # 0.40 on average
        image = np.repeat(rng.normal(scale=0.08, size=200), 3)
        before = (rng.random(600) < accuracy + image).astype(float)
        after = np.where(rng.random(600) < 0.7, before, rng.random(600) < 0.32)[kept]  # refitted on the kept rows
        chance = np.full(600, 0.25)
        found = compare_probes({"p": before}, {"p": after}, (chance, chance[kept]), groups, groups, kept=kept).mean
        covered.append(found.low <= true <= found.high)
    assert 0.92 < np.mean(covered) < 0.98


def test_the_kept_rows_compared_with_themselves_do_not_change():
    own, chance = np.arange(ROWS), np.full(ROWS, 0.25)
    given = scores(0.4, 0)
    found = compare_probes({"p": given}, {"p": given}, (chance, chance), own, own)
    assert (found.mean.change, found.mean.low, found.mean.high) == (0, 0, 0)
    fewer = compare_probes({"p": given}, {"p": given[:1000]}, (chance, chance[:1000]), own, own, kept=own < 1000)
    assert fewer.mean.low < fewer.mean.change < fewer.mean.high


def test_the_verdict_names_what_stays_far_from_chance():
    found = compared([0.40, 0.35, 0.25], [0.31, 0.26, 0.25])
    assert "Still more than 3 points from chance: probe 0 3" in (text := verdict(found, ""))
    assert "probe 1" not in text
    assert "Still" not in verdict(compared([0.40, 0.35], [0.25, 0.26]), "")


def test_the_verdict_says_what_is_nearer_what_is_farther_and_by_how_much():
    found = compared([0.60, 0.50, 0.25], [0.25, 0.26, 0.35])
    assert found.better and found.harmed
    text = verdict(found, "")
    assert text.startswith("Better on average, but 1 of 3 probes find a larger leak. Mean distance from chance")
    assert "Nearer to chance: probe 0 " in text
    change = found.probes[2]
    moved = f"{100 * change.before:.1f}% → {100 * change.after:.1f}% ({100 * change.change:+.1f} points)"
    assert f"Farther from chance: probe 2 {moved}." in text


def test_a_verdict_names_the_three_farthest_probes_and_counts_the_others():
    text = verdict(compared([0.5] * 6, [0.40, 0.45, 0.38, 0.42, 0.36, 0.34]), "")
    names = text.partition("points from chance: ")[2]
    assert [one for one in range(6) if f"probe {one} " in names] == [0, 1, 3]
    assert names.endswith(" and 3 others.")


@pytest.mark.parametrize(("share", "flagged"), [(0.45, True), (0.15, False), (0.05, False)])
def test_implausible_new_decoys_are_flagged_if_they_are_more_than_by_chance(share, flagged):
    found = replace(compared([0.4], [0.3]), implausible=share, implausible_half=0.06)
    sentence = "% of the new decoys are in the least plausible tenth (10% are expected)"
    assert (sentence in verdict(found, "")) == flagged
    rows = [{"question": f"what {row}", "choices": ["a", "b"], "label": 0} for row in range(4)]
    benchmark = read_benchmark(datasets.Dataset.from_list(rows))
    *_, mean, implausible = judgement_figures(benchmark, benchmark, found)
    assert all(" points ± " in cell for cell in mean.cells[1:])
    *_, cell = implausible.cells
    assert cell == f"{100 * share:.1f}% ± 6.0" + (" (more than by chance)" if flagged else "")
