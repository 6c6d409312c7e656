"""Which candidates suit a row, and that the probes which judge do not see candidates that were not taken."""

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.remedies import candidate_pool
from hf_vqa_mc.remedies.candidate_pool import CandidatePool, as_questions, candidate_table
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
CANDIDATES = pa.table(
    [
        ["dog", "mauve", "lynx", "ochre", "evil tot", "tac", "zzz", "tac"],
        ["pool", "pool", "Ann", "Ann", "captions", "captions", "captions", "captions"],
        ["What animal is it?", "What colour is it?", *[None] * 6],
        ["", "1", "", "", "2", "2", "1", "3"],
        [None, None, "a", "b", *[None] * 4],
    ],
    candidate_pool.CANDIDATES,
)


def near(row):
    numbered = number_rows({"rows": ROWS, "pool": as_questions(CANDIDATES)})
    rows, spaces = numbered["rows"], [TextSpace.embedded(Letters(), numbered["rows"])]
    vectors = np.concatenate([row_vectors(spaces, one, 3.0) for one in numbered.values()])
    made = CandidatePool(CANDIDATES, numbered["pool"], pa.array(["a", "b"]), pa.array(["1", ""]))
    (numbers,), (similarity,) = made.near(vectors, rows, np.array([row]), -np.inf)
    kept = numbers != MISSING
    return CANDIDATES["text"].take(pa.array(numbers[kept] - len(rows))).to_pylist(), similarity[kept]


@pytest.mark.parametrize(("row", "expected"), [(0, "lynx zzz dog tac"), (1, "ochre mauve evil")])
def test_candidates_of_a_row_and_its_image_come_first_then_answers_then_other_texts(row, expected):
    texts, similarity = near(row)
    assert " ".join(texts).startswith(expected)
    assert similarity[0] == 1


def test_texts_about_the_same_image_are_kept_where_others_are_nearer(monkeypatch):
    monkeypatch.setattr(candidate_pool, "NEIGHBOURS", 1)
    assert near(0)[0] == ["lynx", "zzz", "dog", "tac"]
    assert near(1)[0] == ["ochre", "mauve", "evil tot"]


def test_the_probes_that_judge_do_not_count_words_of_candidates():
    found, many = [], pa.concat_tables([CANDIDATES] * 40)
    for tables in ({"rows": ROWS}, {"rows": ROWS, "pool": as_questions(many)}):
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
    written = [(text, name) for name in ids for text in texts[name]]
    given, names = zip(*written, strict=True)
    candidates = candidate_table(given, pa.repeat("Ann", len(given)), question_id=names)
    made = repair_benchmark(benchmark, [Letters()], 0.2, 0, candidates)
    changes = [one for one in made.statistics["changes"] if one["origin"] == "Ann"]
    assert len(changes) == made.statistics["candidates"]["used"] > 0
    assert all(one["new"] in texts[one["question_id"]] for one in changes)
    origins = dict(zip(ids, made.benchmark.test.original["choice_origins"].to_pylist(), strict=True))
    assert all(origins[one["question_id"]][one["index"]] == "Ann" for one in changes)
