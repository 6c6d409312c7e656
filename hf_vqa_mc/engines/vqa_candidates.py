"""The 18 candidates of VQA's multiple-choice task, for any open-ended dataset (Antol et al. 2015, Sect. 3).

Plausible, popular and random answers next to the correct one.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING, NumberedTexts, starts
from hf_vqa_mc.decoys.rng import below, draw, purpose_hash, text_hashes
from hf_vqa_mc.decoys.word_bags import NO_BAG, WordBags
from hf_vqa_mc.engines.similar_answers import answers_of_bags, nearest_answers
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character, object_items
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.schema import check_triplets

# Antol et al. 2015, Sect. 3:
N_CANDIDATES = 18  # including the correct one
N_PLAUSIBLE = 3  # answers given without the image
N_POPULAR = 10  # most popular answers, candidates of every question
ENOUGH = 3  # an answer of this many annotators scores 1

PLAUSIBLE, POPULAR, RANDOM = 0, 1, 2
KINDS = ("plausible", "popular", "random")
GIVEN_REASONS = ("the correct answer", "repeated", "another human answer", "more than wanted")
"""Reasons why an answer of a plausible file is not taken, as `_add` numbers them; other human answers are taken."""
_MOST_DRAWS = 200
"""Maximum number of random draws; then the distinct answers are taken in cyclic order from a random one."""


class _Questions(NamedTuple):
    """The questions of a dataset, and the keys of all texts."""

    keys: NDArray[np.int32]  # (texts,)
    targets: NDArray[np.int32]  # (questions,): text numbers
    hashes: NDArray[np.uint64]  # (questions,): of the question ids


class _Pool(NamedTuple):
    """Questions whose answers are candidates of each other, by their bags of words."""

    questions: NDArray[np.int64]  # (pool,)
    bags: NDArray[np.int32]  # (pool,): NO_BAG for a question without words
    members: NDArray[np.int64]  # (pool,): indices into ``questions``, by bag
    member_starts: NDArray[np.int64]  # (bags + 1,)
    answer_starts: NDArray[np.int64]  # (bags + 1,): of distinct answers


class _Picks(NamedTuple):
    """The decoys of each question; changed in place."""

    texts: NDArray[np.int32]  # (questions, decoys): text numbers, MISSING at the end
    kinds: NDArray[np.int8]  # (questions, decoys): PLAUSIBLE, POPULAR, RANDOM, MISSING at the end
    found: NDArray[np.int64]  # (questions,)


def vqa_candidates(
    triplets: pa.Table,
    *,
    plausible: Mapping[str, Sequence[str]] | None = None,
    pool: Literal["dataset", "split"] = "dataset",
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[pa.Table, dict[str, Any]]:
    """Add the 17 wrong candidates of VQA's multiple-choice task to each question of an open-ended dataset.

    Three plausible answers: those given without the image, if any; the rest from the questions most similar by bag of
    words (cosine of word counts): those with exactly the same words in cyclic order from a random one, then the others
    by similarity, ties in the dataset's order. Then the 10 most popular correct answers of the training split (of all
    splits, if there is none), then correct answers of random questions until there are 18 distinct candidates. Texts
    with the same `text.normalisation.comparable`, such as "2" and "two", count once; a dataset with fewer than 18
    distinct answers has fewer candidates. As in the paper, wrong candidates differ from the annotators' modal answer
    only; another annotator's answer may be among them. If all correct answers are in lower case, as in VQA, given
    plausible answers are lowercased too, since a capital letter would give them away.

    ``plausible``: see `read_plausible`; ``pool``: source of similar and random questions. Returns the table with
    ``orig_decoys`` filled (plausible, popular, random; variants shuffle choices), and statistics for JSON.
    """
    table = check_triplets(triplets, "triplets").combine_chunks()
    given, given_starts, unknown_ids = _given(table, plausible or {})
    columns = [table["target"].combine_chunks(), pc.list_flatten(table["answers"].combine_chunks()), given]
    answers, (targets, humans, given_texts) = NumberedTexts.number(columns)
    questions = _Questions(answers.keys, targets, text_hashes(table["question_id"].to_pylist()))
    training = pc.equal(table["split"], "train").to_numpy()
    popular = answers.most_frequent(targets[training] if training.any() else targets)[:N_POPULAR]
    shape = len(targets), N_CANDIDATES - 1
    picks = _Picks(
        np.full(shape, MISSING, np.int32), np.full(shape, MISSING, np.int8), np.zeros(len(targets), np.int64)
    )
    not_taken = np.zeros(len(GIVEN_REASONS), np.int64)
    splits = np.array(table["split"].to_pylist() if pool == "split" else [""] * table.num_rows)
    for split in dict.fromkeys(splits.tolist()):
        rows = np.flatnonzero(splits == split)
        bags = WordBags.group(table["question"].take(rows).to_pylist())
        of_bags = answers_of_bags(bags, answers.keys[targets[rows]])
        of_pool = _Pool(rows, bags.of_question, bags.members, bags.member_starts, of_bags.starts)
        rng = purpose_hash(seed, "plausible")
        _take_plausible(of_pool, given_texts, given_starts, rng, questions, picks, not_taken)
        short = np.unique(bags.of_question[picks.found[rows] < N_PLAUSIBLE])
        queries = short[short != NO_BAG]
        # one more distinct answer than wanted, as one may be the question's own
        donors = nearest_answers(bags, of_bags, queries, N_PLAUSIBLE + 1, progress)
        donors_of_bag = np.full(bags.size + 1, MISSING, np.int64)
        donors_of_bag[queries] = np.arange(len(queries))
        distinct = targets[rows][np.unique(answers.keys[targets[rows]], return_index=True)[1]]
        rng = purpose_hash(seed, "random candidates")
        _take_others(of_pool, donors, donors_of_bag, popular, distinct, rng, questions, picks)
    texts = pa.array(answers.texts, pa.string()).take(pa.array(picks.texts[picks.texts != MISSING]))
    orig_decoys = pa.ListArray.from_arrays(pa.array(starts(picks.found), pa.int32()), texts)
    column = table.schema.get_field_index("orig_decoys")
    times = _count_humans(humans, starts(pc.list_value_length(table["answers"]).to_numpy()), questions, picks)
    of_kind = {name: (picks.kinds == kind).sum(axis=1) for kind, name in enumerate(KINDS)}
    popular_keys = answers.keys[popular]
    is_popular = np.isin(answers.keys[picks.texts], popular_keys) & (picks.texts != MISSING)
    taken = len(given_texts) - int(not_taken.sum())
    statistics = {  # a decoy of two kinds counts as the first of plausible, popular and random
        "questions": len(targets),
        "candidates": _tally(picks.found + 1),
        "decoys": {name: int(counts.sum()) for name, counts in of_kind.items()},
        "plausible": {
            "given": taken,
            "from_similar_questions": int(of_kind["plausible"].sum()) - taken,
            "per_question": _tally(of_kind["plausible"]),
            "also_popular": int((is_popular & (picks.kinds == PLAUSIBLE)).sum()),
            "given_not_taken": dict(zip(GIVEN_REASONS, not_taken.tolist(), strict=True)),
            "given_for_unknown_questions": unknown_ids,
        },
        "popular": [answers.texts[text] for text in popular.tolist()],
        "correct_is_popular": int(np.isin(answers.keys[targets], popular_keys).sum()),
        "also_human_answers": {name: _human(times, picks.kinds == kind) for kind, name in enumerate(KINDS)}
        | {"any": _human(times, picks.kinds != MISSING)},
    }
    return table.set_column(column, table.schema.field(column), orig_decoys), statistics


def _given(table: pa.Table, plausible: Mapping[str, Sequence[str]]) -> tuple[pa.StringArray, NDArray[np.int64], int]:
    """The plausible answers of all questions, the start of each question's, and the number of unknown question ids."""
    question_ids = table["question_id"].to_pylist()
    known = sum(question_id in plausible for question_id in question_ids)
    if plausible and not known:
        example, mine = next(iter(plausible)), question_ids[0]
        raise InputError(
            f"plausible answers: none of their {len(plausible):,} question ids, such as {example!r}, is one of the "
            f"dataset, such as {mine!r}; use the file of this dataset"
        )
    lists = [plausible.get(question_id, ()) for question_id in question_ids]
    texts = pa.array(list(chain.from_iterable(lists)), pa.string())
    if pc.all(pc.equal(table["target"], pc.utf8_lower(table["target"]))).as_py():
        texts = pc.utf8_lower(texts)
    return texts, starts([len(one) for one in lists]), len(plausible) - known


@njit(cache=True)
def _add(question: int, text: int, kind: int, questions: _Questions, picks: _Picks) -> int:
    """Add a text as a decoy and return MISSING; if it is not added, return the reason's index in GIVEN_REASONS."""
    key, decoy = questions.keys[text], picks.found[question]
    if decoy == picks.texts.shape[1]:
        return len(GIVEN_REASONS) - 1
    if key == questions.keys[questions.targets[question]]:
        return 0
    for taken in picks.texts[question, :decoy]:
        if questions.keys[taken] == key:
            return 1
    picks.texts[question, decoy] = text
    picks.kinds[question, decoy] = kind
    picks.found[question] = decoy + 1
    return MISSING


@njit(cache=True, nogil=True)
def _take_plausible(
    pool: _Pool,
    given: NDArray[np.int32],
    given_starts: NDArray[np.int64],
    rng: np.uint64,
    questions: _Questions,
    picks: _Picks,
    not_taken: NDArray[np.int64],
) -> None:
    """Take answers given without the image, then those of questions with exactly the same words.

    ``not_taken`` counts given answers that are not taken, by GIVEN_REASONS.
    """
    for row, question in enumerate(pool.questions):
        for i in range(given_starts[question], given_starts[question + 1]):
            if picks.found[question] == N_PLAUSIBLE:
                not_taken[-1] += 1
                continue
            reason = _add(question, given[i], PLAUSIBLE, questions, picks)
            if reason != MISSING:
                not_taken[reason] += 1
        bag = pool.bags[row]
        if bag < 0:
            continue
        start, size = pool.member_starts[bag], pool.member_starts[bag + 1] - pool.member_starts[bag]
        first = below(draw(rng, questions.hashes[question], 0), size)
        most = min(N_PLAUSIBLE, picks.found[question] + pool.answer_starts[bag + 1] - pool.answer_starts[bag])
        for step in range(size):
            if picks.found[question] >= most:
                break
            other = pool.questions[pool.members[start + (first + step) % size]]
            _add(question, questions.targets[other], PLAUSIBLE, questions, picks)


@njit(cache=True, nogil=True)
def _take_others(
    pool: _Pool,
    donors: NDArray[np.int32],
    donors_of_bag: NDArray[np.int64],
    popular: NDArray[np.int32],
    distinct: NDArray[np.int32],
    rng: np.uint64,
    questions: _Questions,
    picks: _Picks,
) -> None:
    """Complete the candidates: answers of the most similar questions, popular ones, random ones.

    ``donors_of_bag``: row of each bag in ``donors``, or MISSING, also at the end, for questions without a bag;
    ``distinct``: one text of each distinct answer of the pool.
    """
    for row, question in enumerate(pool.questions):
        of_bag = donors_of_bag[pool.bags[row]]
        if of_bag != MISSING:
            for donor in donors[of_bag]:
                if donor != MISSING and picks.found[question] < N_PLAUSIBLE:
                    _add(question, questions.targets[pool.questions[donor]], PLAUSIBLE, questions, picks)
        for text in popular:
            _add(question, text, POPULAR, questions, picks)
        first = below(draw(rng, questions.hashes[question], _MOST_DRAWS), len(distinct))
        for number in range(_MOST_DRAWS + len(distinct)):
            if picks.found[question] == picks.texts.shape[1]:
                break
            text = distinct[(first + number - _MOST_DRAWS) % len(distinct)]
            if number < _MOST_DRAWS:
                drawn = below(draw(rng, questions.hashes[question], number), len(pool.questions))
                text = questions.targets[pool.questions[drawn]]
            _add(question, text, RANDOM, questions, picks)


@njit(cache=True, nogil=True)
def _count_humans(
    humans: NDArray[np.int32], human_starts: NDArray[np.int64], questions: _Questions, picks: _Picks
) -> NDArray[np.int32]:
    """Number of annotators who gave each decoy as their answer, int32 (questions, decoys)."""
    times = np.zeros(picks.texts.shape, np.int32)
    for question in range(len(questions.targets)):
        own = questions.keys[humans[human_starts[question] : human_starts[question + 1]]]
        for decoy in range(picks.found[question]):
            times[question, decoy] = (own == questions.keys[picks.texts[question, decoy]]).sum()
    return times


def _tally(sizes: NDArray[np.int64]) -> dict[str, int]:
    return {str(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True), strict=True)}


def _human(times: NDArray[np.int32], of_kind: NDArray[np.bool_]) -> dict[str, int]:
    """Numbers of questions with a decoy that any, or at least ENOUGH, annotators gave as their answer."""
    return {
        "questions": int(((times > 0) & of_kind).any(axis=1).sum()),
        f"questions_with_{ENOUGH}_annotators": int(((times >= ENOUGH) & of_kind).any(axis=1).sum()),
    }


_EXPECTED = "a JSON object {question_id: [answer, ...]} or a list of {question_id, answers: [answer, ...]}"


def read_plausible(path: Path) -> dict[str, list[str]]:
    """Read answers given without the image, by question id, in the file's order and stripped of spaces.

    A JSON file, plain or packed: ``{question_id: [answer, ...]}`` or a list of ``{"question_id": ..., "answers":
    [answer, ...]}``; an answer may be a record ``{"answer": text}`` as in VQA's annotation files.
    """
    answers: dict[str, list[str]] = {}
    for location, question_id, given in _rows(path):
        field = f"{location}, field 'answers'"
        if not isinstance(given, list):
            raise InputError(f"{field}: expected a list of text, found {shown(given)}")
        texts = [answer.get("answer") if isinstance(answer, dict) else answer for answer in given]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise InputError(f"{field}: an answer is empty or not text: {shown(given)}")
        answers[question_id] = [str(text).strip() for text in texts]
    if not answers:
        raise InputError(f"plausible answers {path}: no questions; expected {_EXPECTED}")
    return answers


def _rows(path: Path) -> Iterator[tuple[str, str, Any]]:
    """The location, question id and answers of each record."""
    start = first_character(path)
    if start == "{":
        for batch in object_items(path):
            yield from ((f"{path}, {question_id!r}", question_id, given) for question_id, given in batch)
    elif start == "[":
        for records in read_records(path):
            columns = zip(records.ids("question_id"), records.column("answers"), strict=True)
            yield from ((records.location(at), *row) for at, row in enumerate(columns))
    else:
        raise InputError(f"plausible answers {path}: expected {_EXPECTED}, found {shown(start)}")
