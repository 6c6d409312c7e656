import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hf_vqa_mc.scoring.statistics import mean_interval, standard_error

SCORES = st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcde")), min_size=2, max_size=40)


@given(SCORES)
def test_clustered_standard_error_equals_the_double_sum_over_pairs_of_one_cluster(rows):
    scores, clusters = np.array([score for score, _ in rows]), [cluster for _, cluster in rows]
    n_clusters, deviations = len(set(clusters)), scores - scores.mean()
    if n_clusters == 1:
        assert standard_error(scores, clusters) is None
        return
    total = sum(
        deviations[i] * deviations[j] for i in range(len(rows)) for j in range(len(rows)) if clusters[i] == clusters[j]
    )
    expected = max(total, 0) * n_clusters / (n_clusters - 1) / len(rows) ** 2
    assert standard_error(scores, clusters) ** 2 == pytest.approx(expected, abs=1e-12)


def test_covers_the_truth_about_19_times_of_20_where_images_go_right_or_wrong_as_a_whole():
    draw = np.random.default_rng(0)
    clusters = [str(image) for image in range(100) for _ in range(10)]
    inside, naive = 0, 0
    for _ in range(400):
        scores = np.repeat(draw.random(100) < 0.6, 10).astype(float)
        inside += abs(scores.mean() - 0.6) < 1.96 * standard_error(scores, clusters)
        naive += abs(scores.mean() - 0.6) < 1.96 * standard_error(scores)
    assert 0.9 < inside / 400 < 0.99
    assert naive / 400 < 0.7


def test_a_single_score_has_no_standard_error():
    assert standard_error(np.array([1.0])) is None


@example([(0.0, "a"), (1.1125369292536007e-308, "a")])
@given(SCORES)
def test_the_interval_holds_the_mean_and_does_not_depend_on_the_form_of_clusters(rows):
    scores, clusters = np.array([score for score, _ in rows]), [cluster for _, cluster in rows]
    low, high = mean_interval(scores, clusters)
    assert 0 <= low <= scores.mean() <= high <= 1
    assert high - low > 0
    assert mean_interval(scores, np.unique(clusters, return_inverse=True)[1]) == [low, high]


def test_the_interval_has_no_width_of_zero_where_all_are_right():
    low, high = mean_interval(np.ones(50))
    assert (high, low < 0.95) == (1.0, True)
