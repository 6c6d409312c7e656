"""Which candidates suit a row, and that the probes which judge do not see candidates that were not taken."""

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.remedies import candidate_pool
from hf_vqa_mc.remedies.candidate_pool import Candidate, CandidatePool, candidate_table
from hf_vqa_mc.remedies.judging_probes import JudgingInputs
from hf_vqa_mc.remedies.repair import repair_benchmark
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace, row_vectors
from tests.audits.planted import planted, words
from tests.remedies.test_repair import Letters

ROWS = pa.table(
    {
        "question": ["What animal is it?", "What colour is it?"],
        "choices": [["cat", "rat", "bat", "hat"], ["red", "green", "blue", "violet"]],
        "label": [0, 0],
    }
)
CANDIDATES = [
    Candidate("dog", "pool", "What animal is it?"),
    Candidate("mauve", "pool", "What colour is it?"),
    Candidate("lynx", "Ann", question_id="a"),
    Candidate("ochre", "Ann", question_id="b"),
    Candidate("zzz", "caption", image_id="1"),
    Candidate("tac", "caption", image_id="9"),
    Candidate("tac", "caption", image_id="8"),
    Candidate("evil tot", "caption", image_id="9"),
]


@pytest.fixture
def pool():
    numbered = number_rows({"rows": ROWS, "pool": candidate_table(CANDIDATES)})
    rows = numbered["rows"]
    spaces = [TextSpace.embedded(Letters(), rows)]
    return CandidatePool(CANDIDATES, numbered["pool"], ["a", "b"], ["1", ""]), spaces, rows


def near(pool, row):
    made, spaces, rows = pool
    vectors = np.concatenate([row_vectors(spaces, one) for one in (rows, made.rows)])
    numbers, similarity = made.near(spaces, vectors, rows, np.array([row]), -np.inf)
    kept = numbers[0] != MISSING
    return [CANDIDATES[one].text for one in numbers[0][kept]], similarity[0][kept]


def test_candidates_of_a_row_come_first_and_those_of_other_questions_never(pool):
    for row, own, other in ((0, "lynx", "ochre"), (1, "ochre", "lynx")):
        texts, similarity = near(pool, row)
        assert texts[0] == own and similarity[0] == 1
        assert other not in texts


def test_answers_come_by_similar_questions_and_other_texts_by_image_and_choices(pool):
    assert near(pool, 0)[0] == ["lynx", "dog", "zzz", "tac", "evil tot"]  # "mauve" answers no "What animal"
    assert near(pool, 1)[0][:2] == ["ochre", "mauve"]
    assert near(pool, 1)[0].index("evil tot") < near(pool, 1)[0].index("zzz")


def test_texts_about_the_same_image_are_kept_where_others_are_nearer(pool, monkeypatch):
    monkeypatch.setattr(candidate_pool, "NEIGHBOURS", 1)
    assert near(pool, 0)[0] == ["lynx", "dog", "zzz"]
    assert near(pool, 1)[0] == ["ochre", "mauve", "evil tot"]


def test_the_probes_that_judge_do_not_count_words_of_candidates():
    found = []
    for tables in ({"rows": ROWS}, {"rows": ROWS, "pool": candidate_table(CANDIDATES * 20)}):
        rows = number_rows(tables)["rows"]
        judged = JudgingInputs(rows, np.zeros(2), TextForms(rows.vocabulary), [], 0, (rows,))
        found.append([space.texts[rows.texts] for space in (judged.characters, judged.words)])
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.slow
def test_a_repair_gives_candidates_to_their_row_alone_and_names_their_source():
    benchmark = read_benchmark(planted("length", 0.35, 150, 0)[0].drop(["answers", "choice_kinds"]).to_pandas())
    ids = benchmark.test.rows["question_id"].to_pylist()
    texts = {name: words()[-4:, row].tolist() for row, name in enumerate(ids)}
    candidates = [Candidate(text, "Ann", question_id=name) for name in ids for text in texts[name]]
    made = repair_benchmark(benchmark, [Letters()], 0.2, 0, candidates)
    changes = [one for one in made.statistics["changes"] if one["origin"] == "Ann"]
    assert len(changes) == made.statistics["candidates"]["used"] > 0
    assert all(one["new"] in texts[one["question_id"]] for one in changes)
    origins = dict(zip(ids, made.benchmark.test.original["choice_origins"].to_pylist(), strict=True))
    assert all(origins[one["question_id"]][one["index"]] == "Ann" for one in changes)
