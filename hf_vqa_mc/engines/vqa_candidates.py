"""The 18 candidates of VQA's multiple-choice task, for any open-ended dataset (Antol et al. 2015, Sect. 3).

Plausible, popular and random answers next to the correct one.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import uintp
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import MISSING, Float32s, Float64s, Int32s, Int64s, NumberedTexts, starts
from hf_vqa_mc.decoys.rng import below, draw, purpose_hash, text_hashes
from hf_vqa_mc.decoys.similar_questions import LANES, NO_BAG, SEGMENT, BagTrie, WordBags, add_words
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character, object_items
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.schema import check_triplets

# Antol et al. 2015, Sect. 3:
N_CANDIDATES = 18  # including the correct one
N_PLAUSIBLE = 3  # answers given without the image
N_POPULAR = 10  # most popular answers, candidates of every question

PLAUSIBLE, POPULAR, RANDOM = 0, 1, 2
KINDS = ("plausible", "popular", "random")
GIVEN_REASONS = ("the correct answer", "repeated", "another human answer", "more than wanted")
"""Reasons why an answer of a plausible file is not taken, as `_add` numbers them; other human answers are taken."""
_TAKEN = len(GIVEN_REASONS)
_MOST_DRAWS = 200
"""Maximum number of random draws; then the distinct answers are taken in cyclic order from a random one."""
_BATCHES = 16  # passes between two progress reports


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
    keys, hashes = answers.keys, text_hashes(table["question_id"].to_pylist())
    training = pc.equal(table["split"], "train").to_numpy()
    popular = answers.most_frequent(targets[training] if training.any() else targets)[:N_POPULAR]
    decoys = np.full((len(targets), N_CANDIDATES - 1), MISSING, np.int32)  # text numbers, MISSING at the end
    kinds = np.full(decoys.shape, MISSING, np.int8)
    outcomes = np.zeros(len(GIVEN_REASONS) + 1, np.int64)
    rngs = purpose_hash(seed, "plausible"), purpose_hash(seed, "random candidates")
    splits = np.array(table["split"].to_pylist() if pool == "split" else [""] * table.num_rows)
    for split in dict.fromkeys(splits.tolist()):
        rows = np.flatnonzero(splits == split)
        mine = targets[rows]
        bags = WordBags(table["question"].take(rows).to_pylist())
        # one more distinct answer than wanted, as one may be the question's own
        near = nearest_answers(bags, keys[mine], N_PLAUSIBLE + 1, progress)
        distinct = mine[np.unique(keys[mine], return_index=True)[1]]
        of_pool = rows, mine, (bags.of_question, bags.members, bags.member_starts), near, distinct
        _take(*of_pool, popular, given_texts, given_starts, rngs, keys, hashes, decoys, kinds, outcomes)
    is_taken = decoys != MISSING
    found = is_taken.sum(axis=1)
    texts = pa.array(answers.texts, pa.string()).take(pa.array(decoys[is_taken]))
    orig_decoys = pa.ListArray.from_arrays(pa.array(starts(found), pa.int32()), texts)
    column = table.schema.get_field_index("orig_decoys")
    rows, lengths = np.arange(len(targets)), pc.list_value_length(table["answers"]).to_numpy()
    human = np.repeat(rows, lengths) * len(keys) + keys[humans]  # each annotator's answer to each question
    also_human = np.isin(rows[:, None] * len(keys) + keys[decoys], human) & is_taken
    numbers = {name: int(np.count_nonzero(kinds == kind)) for kind, name in enumerate(KINDS)}
    sizes, counts = np.unique(found + 1, return_counts=True)
    statistics = {  # a decoy of two kinds counts as the first of plausible, popular and random
        "questions": len(targets),
        "candidates": dict(zip(map(str, sizes.tolist()), counts.tolist(), strict=True)),
        "decoys": numbers,
        "plausible": {
            "given": int(outcomes[_TAKEN]),
            "from_similar_questions": numbers["plausible"] - int(outcomes[_TAKEN]),
            "given_not_taken": dict(zip(GIVEN_REASONS, outcomes.tolist(), strict=False)),
            "given_for_unknown_questions": unknown_ids,
        },
        "popular": [answers.texts[text] for text in popular.tolist()],
        "also_human_answers": int(also_human.any(axis=1).sum()),  # questions with a decoy that an annotator gave
    }
    return table.set_column(column, table.schema.field(column), orig_decoys), statistics


def _given(table: pa.Table, plausible: Mapping[str, Sequence[str]]) -> tuple[pa.StringArray, Int64s, int]:
    """The plausible answers of all questions, the start of each question's, and the number of unknown question ids."""
    question_ids = table["question_id"].to_pylist()
    known = sum(question_id in plausible for question_id in question_ids)
    if plausible and not known:
        example, mine = next(iter(plausible)), question_ids[0]
        found = f"none of their {len(plausible):,} question ids, such as {example!r}, is one of the dataset"
        raise InputError(f"plausible answers: {found}, such as {mine!r}; use the file of this dataset")
    lists = [plausible.get(question_id, ()) for question_id in question_ids]
    texts = pa.array(list(chain.from_iterable(lists)), pa.string())
    if pc.all(pc.equal(table["target"], pc.utf8_lower(table["target"]))).as_py():
        texts = pc.utf8_lower(texts)
    return texts, starts([len(one) for one in lists]), len(plausible) - known


@njit(cache=True)
def _add(text: int, kind: int, target: int, keys: Int32s, decoys: Int32s, kinds: NDArray[np.int8]) -> int:
    """Add a text to a question's decoys, of which there are too few; returns the index in GIVEN_REASONS or _TAKEN."""
    if keys[text] == keys[target]:
        return 0
    at = 0
    while decoys[at] != MISSING:
        if keys[decoys[at]] == keys[text]:
            return 1
        at += 1
    decoys[at], kinds[at] = text, kind
    return _TAKEN


@njit(cache=True, nogil=True)
def _take(
    rows: Int64s,
    targets: Int32s,
    members: tuple[Int32s, Int64s, Int64s],
    near: Int32s,
    distinct: Int32s,
    popular: Int32s,
    given: Int32s,
    given_starts: Int64s,
    rngs: tuple[np.uint64, np.uint64],
    keys: Int32s,
    hashes: NDArray[np.uint64],
    decoys: Int32s,
    kinds: NDArray[np.int8],
    outcomes: Int64s,
) -> None:
    """Fill in the decoys of the questions of a pool: given ones, of the same words, of similar words, popular, random.

    ``targets``: text numbers, of the pool; ``members``: its bags of words; ``near`` (bags, answers): questions of the
    pool; ``distinct``: a text of each distinct answer of the pool; ``outcomes`` counts given answers by GIVEN_REASONS.
    """
    bag_of, of_bags, bag_starts = members
    for row, question in enumerate(rows):
        target, mine, of = targets[row], decoys[question], kinds[question]
        for i in range(given_starts[question], given_starts[question + 1]):
            enough = mine[N_PLAUSIBLE - 1] != MISSING
            outcomes[_TAKEN - 1 if enough else _add(given[i], PLAUSIBLE, target, keys, mine, of)] += 1
        bag = bag_of[row]
        if bag != NO_BAG:
            same = of_bags[bag_starts[bag] : bag_starts[bag + 1]]
            first = below(draw(rngs[0], hashes[question], 0), len(same))
            for step in range(len(same) + near.shape[1]):
                other = near[bag, step - len(same)] if step >= len(same) else same[(first + step) % len(same)]
                if mine[N_PLAUSIBLE - 1] == MISSING and other != MISSING:
                    _add(targets[other], PLAUSIBLE, target, keys, mine, of)
        for text in popular:
            _add(text, POPULAR, target, keys, mine, of)
        first = below(draw(rngs[1], hashes[question], _MOST_DRAWS), len(distinct))
        for number in range(_MOST_DRAWS + len(distinct)):
            if mine[-1] != MISSING:
                break
            text = distinct[(first + number - _MOST_DRAWS) % len(distinct)]
            if number < _MOST_DRAWS:
                text = targets[below(draw(rngs[1], hashes[question], number), len(targets))]
            _add(text, RANDOM, target, keys, mine, of)


def nearest_answers(bags: WordBags, keys: Int32s, most: int, progress: Progress) -> Int32s:
    """The questions with the first distinct answers of the other bags, most similar first, int32 (bags, most).

    Cosine of word counts, exactly; ties are in the order of the questions; MISSING where no other bag shares a word
    with the query. Rows of bags whose own questions (answers ``keys``) have ``most`` distinct answers stay empty.
    """
    bag = np.repeat(np.arange(bags.size), np.diff(bags.member_starts))
    given = keys[bags.members]  # in each bag in the order of the questions
    firsts = np.sort(np.unique(bag * (int(given.max(initial=0)) + 1) + given, return_index=True)[1])
    counts = np.bincount(bag[firsts], minlength=bags.size)
    answers = starts(counts), given[firsts], bags.members[firsts].astype(np.int32)
    queries = np.flatnonzero(counts < most).astype(np.int32)
    near = np.full((bags.size, most), MISSING, np.int32)
    fixed = bags.words, bags.word_starts, bags.squares, len(bags.vocabulary), bags.trie(), answers, near
    progress("plausible answers", 0, len(queries))
    for start in range(0, len(queries), LANES * _BATCHES):
        some = queries[start : start + LANES * _BATCHES]
        over_ranges(_search, -(-len(some) // LANES), _BATCHES // 4, some, *fixed)
        progress("plausible answers", start + len(some), len(queries))
    return near


@njit(cache=True, nogil=True)
def _search(
    first_batch: int,
    last_batch: int,
    all_queries: Int32s,
    words: Int32s,
    word_starts: Int64s,
    squares: Int64s,
    n_words: int,
    trie: BagTrie,
    answers: tuple[Int64s, Int32s, Int32s],
    near: Int32s,
) -> None:
    """Answer some batches of LANES queries in one pass over the trie each; ``answers``: starts by bag, keys, donors.

    A bag adds only its last words to the sums of the previous one: the numbers of words that it shares with the
    queries. Most bags cost one comparison with the worst of the best answers so far.
    """
    counts, sums = np.zeros(n_words * LANES, np.float32), np.zeros((trie.depth + 1) * LANES, np.float32)
    for batch in range(first_batch, last_batch):
        queries = all_queries[batch * LANES : (batch + 1) * LANES]
        best_donors, scores = np.full((LANES, near.shape[1]), MISSING, np.int32), np.zeros((LANES, near.shape[1]))
        best_keys = best_donors.copy()
        bound = np.full(LANES, np.float32(1e-3))  # a little below the root of the worst
        for lane, query in enumerate(queries):
            for word in words[word_starts[query] : word_starts[query + 1]]:
                counts[word * LANES + lane] += 1
        # the queries' own segment first: few bags elsewhere then share enough words
        start = queries[len(queries) // 2] // SEGMENT * SEGMENT
        for step in range(len(squares)):
            bag = (start + step) % len(squares)
            row = add_words(bag, trie, counts, sums)
            length, reached = np.float32(np.sqrt(squares[bag])), False
            for lane in range(LANES):
                reached |= sums[row + uintp(lane)] >= bound[lane] * length
            if reached:
                shared = sums[int(row) : int(row) + len(queries)]
                _consider(bag, shared, squares[bag], queries, answers, best_keys, best_donors, scores, bound)
        for lane, query in enumerate(queries):
            near[query] = best_donors[lane]
        counts[:] = 0


@njit(cache=True)
def _consider(
    bag: int,
    shared: Float32s,
    square: int,
    queries: Int32s,
    answers: tuple[Int64s, Int32s, Int32s],
    best_keys: Int32s,
    best_donors: Int32s,
    scores: Float64s,
    bound: Float32s,
) -> None:
    """Insert a bag's answers into the best of the queries, best first; equal similarities are equal ``scores``."""
    answer_starts, all_keys, all_donors = answers
    length = np.float32(np.sqrt(square))
    for lane, query in enumerate(queries):
        if shared[lane] < bound[lane] * length or bag == query:
            continue
        score = np.float64(shared[lane]) ** 2 / square
        keys, donors, of_query = best_keys[lane], best_donors[lane], scores[lane]
        for i in range(answer_starts[bag], answer_starts[bag + 1]):
            at = len(keys) - 1
            if score < of_query[at] or (score == of_query[at] and all_donors[i] > donors[at]):
                break
            for known in range(at):
                at = known if keys[known] == all_keys[i] else at
            is_worse = score < of_query[at] or (score == of_query[at] and all_donors[i] > donors[at])
            if keys[at] == all_keys[i] and is_worse:
                continue
            while at and (score > of_query[at - 1] or (score == of_query[at - 1] and all_donors[i] < donors[at - 1])):
                keys[at], donors[at], of_query[at] = keys[at - 1], donors[at - 1], of_query[at - 1]
                at -= 1
            keys[at], donors[at], of_query[at] = all_keys[i], all_donors[i], score
        if of_query[-1]:
            bound[lane] = np.sqrt(of_query[-1]) * 0.99999


_EXPECTED = "a JSON object {question_id: [answer, ...]} or a list of {question_id, answers: [answer, ...]}"


def read_plausible(path: Path) -> dict[str, list[str]]:
    """Read answers given without the image, by question id, in the file's order and stripped of spaces.

    A JSON file, plain or packed: ``{question_id: [answer, ...]}`` or a list of ``{"question_id": ..., "answers":
    [answer, ...]}``; an answer may be a record ``{"answer": text}`` as in VQA's annotation files.
    """
    answers: dict[str, list[str]] = {}
    rows: Iterator[tuple[str, str, Any]]  # location, question id, answers
    if (start := first_character(path)) == "{":
        rows = ((f"{path}, {name!r}", name, given) for batch in object_items(path) for name, given in batch)
    elif start == "[":
        columns = ((one, one.ids("question_id"), one.column("answers")) for one in read_records(path))
        rows = ((one.location(at), ids[at], given[at]) for one, ids, given in columns for at in range(len(ids)))
    else:
        raise InputError(f"plausible answers {path}: expected {_EXPECTED}, found {shown(start)}")
    for location, question_id, given in rows:
        listed = given if isinstance(given, list) else [None]
        texts = [answer.get("answer") if isinstance(answer, dict) else answer for answer in listed]
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise InputError(f"{location}, field 'answers': expected a list of text, none empty, found {shown(given)}")
        answers[question_id] = [str(text).strip() for text in texts]
    if not answers:
        raise InputError(f"plausible answers {path}: no questions; expected {_EXPECTED}")
    return answers
