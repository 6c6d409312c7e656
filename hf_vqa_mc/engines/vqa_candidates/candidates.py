"""VQA's 18 candidates: plausible, popular and random answers next to the correct one."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import MISSING, NumberedTexts, starts
from hf_vqa_mc.decoys.rng import purpose_hash, text_hashes
from hf_vqa_mc.decoys.word_bags import NO_BAG, WordBags
from hf_vqa_mc.engines.vqa_candidates import filling
from hf_vqa_mc.engines.vqa_candidates.neighbours import answers_of_bags, nearest_answers
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character, object_items
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.schema import check_triplets

N_CANDIDATES = 18
"""Candidates of a question, including the correct one (Antol et al. 2015, Sect. 3)."""
N_POPULAR = 10
"""The most popular answers are candidates of every question (Sect. 3)."""

_ENOUGH = 3
"""An answer of this many annotators scores 1 (Antol et al. 2015, Sect. 3)."""

Pool = Literal["dataset", "split"]


def vqa_candidates(
    triplets: pa.Table,
    *,
    plausible: Mapping[str, Sequence[str]] | None = None,
    pool: Pool = "dataset",
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
    only; another annotator's answer may be among them.

    If all correct answers are in lower case, as in VQA, given plausible answers are lowercased too, since a capital
    letter would give them away. Otherwise they are unchanged.

    Args:
        triplets: a table ``schema.TRIPLETS``; its ``orig_decoys`` are replaced.
        plausible: question_id to answers given without the image, see `read_plausible`; questions may be missing.
        pool: source of similar and random questions: the whole dataset or the question's own split.
        seed: random seed.
        progress: called with (step, done, total).

    Returns:
        The table with ``orig_decoys`` filled: plausible, then popular, then random ones (variants shuffle choices);
        and statistics for JSON.

    Raises:
        InputError: the table is not one of triplets, or no id of ``plausible`` is a question's.

    Source: Antol et al. 2015, Sect. 3, "For multiple-choice task, 18 candidate answers".
    """
    table = check_triplets(triplets, "triplets").combine_chunks()
    given, given_starts, unknown_ids = _given(table, plausible or {})
    columns = [table["target"].combine_chunks(), pc.list_flatten(table["answers"].combine_chunks()), given]
    answers, (targets, humans, given_texts) = NumberedTexts.number(columns)
    questions = filling.Questions(answers.keys, targets, text_hashes(table["question_id"].to_pylist()))
    training = pc.equal(table["split"], "train").to_numpy()
    popular = answers.most_frequent(targets[training] if training.any() else targets)[:N_POPULAR]
    shape = len(targets), N_CANDIDATES - 1
    picks = filling.Picks(
        np.full(shape, MISSING, np.int32), np.full(shape, MISSING, np.int8), np.zeros(len(targets), np.int64)
    )
    not_taken = np.zeros(len(filling.GIVEN_REASONS), np.int64)
    splits = np.array(table["split"].to_pylist() if pool == "split" else [""] * table.num_rows)
    for split in dict.fromkeys(splits.tolist()):
        rows = np.flatnonzero(splits == split)
        bags = WordBags.group(table["question"].take(rows).to_pylist())
        of_bags = answers_of_bags(bags, answers.keys[targets[rows]])
        of_pool = filling.Pool(rows, bags.of_question, bags.members, bags.member_starts, of_bags.starts)
        rng = purpose_hash(seed, "plausible")
        filling.take_plausible(of_pool, given_texts, given_starts, rng, questions, picks, not_taken)
        short = np.unique(bags.of_question[picks.found[rows] < filling.N_PLAUSIBLE])
        queries = short[short != NO_BAG]
        most = filling.N_PLAUSIBLE + 1  # distinct answers, of which one may be the question's own
        donors = nearest_answers(bags, of_bags, queries, most, progress)
        donors_of_bag = np.full(bags.size + 1, MISSING, np.int64)
        donors_of_bag[queries] = np.arange(len(queries))
        distinct = targets[rows][np.unique(answers.keys[targets[rows]], return_index=True)[1]]
        rng = purpose_hash(seed, "random candidates")
        filling.take_others(of_pool, donors, donors_of_bag, popular, distinct, rng, questions, picks)
    texts = pa.array(answers.texts, pa.string()).take(pa.array(picks.texts[picks.texts != MISSING]))
    orig_decoys = pa.ListArray.from_arrays(pa.array(starts(picks.found), pa.int32()), texts)
    column = table.schema.get_field_index("orig_decoys")
    times = filling.count_humans(humans, starts(pc.list_value_length(table["answers"]).to_numpy()), questions, picks)
    found = _statistics(answers, questions, picks, popular, times, not_taken, len(given_texts), unknown_ids)
    return table.set_column(column, table.schema.field(column), orig_decoys), found


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


def _statistics(
    answers: NumberedTexts,
    questions: filling.Questions,
    picks: filling.Picks,
    popular: NDArray[np.int32],
    times: NDArray[np.int32],
    not_taken: NDArray[np.int64],
    n_given: int,
    unknown_ids: int,
) -> dict[str, Any]:
    """Statistics for JSON; a decoy of two kinds counts as the first of plausible, popular and random."""
    of_kind = {name: (picks.kinds == kind).sum(axis=1) for kind, name in enumerate(filling.KINDS)}
    popular_keys = questions.keys[popular]
    is_popular = np.isin(questions.keys[picks.texts], popular_keys) & (picks.texts != MISSING)
    taken = n_given - int(not_taken.sum())
    return {
        "questions": len(questions.targets),
        "candidates": _tally(picks.found + 1),
        "decoys": {name: int(counts.sum()) for name, counts in of_kind.items()},
        "plausible": {
            "given": taken,
            "from_similar_questions": int(of_kind["plausible"].sum()) - taken,
            "per_question": _tally(of_kind["plausible"]),
            "also_popular": int((is_popular & (picks.kinds == filling.PLAUSIBLE)).sum()),
            "given_not_taken": dict(zip(filling.GIVEN_REASONS, not_taken.tolist(), strict=True)),
            "given_for_unknown_questions": unknown_ids,
        },
        "popular": [answers.texts[text] for text in popular.tolist()],
        "correct_is_popular": int(np.isin(questions.keys[questions.targets], popular_keys).sum()),
        "also_human_answers": {name: _human(times, picks.kinds == kind) for kind, name in enumerate(filling.KINDS)}
        | {"any": _human(times, picks.kinds != MISSING)},
    }


def _tally(sizes: NDArray[np.int64]) -> dict[str, int]:
    return {str(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True), strict=True)}


def _human(times: NDArray[np.int32], of_kind: NDArray[np.bool_]) -> dict[str, int]:
    """Numbers of questions with a decoy that any, or at least _ENOUGH, annotators gave as their answer."""
    return {
        "questions": int(((times > 0) & of_kind).any(axis=1).sum()),
        f"questions_with_{_ENOUGH}_annotators": int(((times >= _ENOUGH) & of_kind).any(axis=1).sum()),
    }


_EXPECTED = "a JSON object {question_id: [answer, ...]} or a list of {question_id, answers: [answer, ...]}"


def read_plausible(path: Path) -> dict[str, list[str]]:
    """Read answers given without the image, by question id, in the file's order and stripped of spaces.

    Args:
        path: a JSON file, plain or packed (.gz, .xz, .zip): ``{question_id: [answer, ...]}`` or a list of
            ``{"question_id": ..., "answers": [answer, ...]}``; ids are text or whole numbers, and an answer may be a
            record ``{"answer": text}`` as in VQA's annotation files.

    Raises:
        InputError: the file is not of this form; names file, record and field.
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
