"""Filling sets of decoys: candidates are tested one by one, and each view of the set takes those that it needs.

A set is made once per source and seen in several views: a config with this set alone (``iou``) takes its first K
decoys, a combined config (``iou_qou``, ``all``) the first K that no earlier set of the row holds. All views come from
one pass over the candidates, so decoys that need no replacement are the same in every config. Fallbacks
replace the decoys that cannot be found.
"""

from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys import methods
from hf_vqa_mc.decoys.candidates import (
    ACCEPTED,
    MISSING,
    REASONS,
    Bools,
    FilterTables,
    Float32s,
    Int32s,
    Int64s,
    KeyLists,
    NumberedTexts,
    Reason,
    ambiguous,
    filter_tables,
    holds,
    reason_against,
    starts,
)
from hf_vqa_mc.decoys.plausible_answers import PlausibleAnswers, plausible_answers
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.text.many_texts import comparable_texts
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.text.wu_palmer import reading, reading_inline

N_FREQUENT = 10  # fallbacks come from the 10 most frequent targets (Sect. 5.1)


class Triplets(NamedTuple):
    """The triplets as arrays for kernels, (triplets,) each except `keys`."""

    targets: Int32s  # text numbers
    keys: Int32s  # (texts,): the key of each text
    hashes: NDArray[np.uint64]  # of the question ids
    images: Int32s  # image numbers
    questions: Int32s  # question numbers; equal ones of the same image are no donors for one another
    named: KeyLists  # annotators' answers, which are no decoys; empty with ``preset="paper"``
    rejected: KeyLists  # texts that verdicts reject as decoys


class IndexedTriplets:
    """A dataset with numbered texts, divided into pools.

    Args:
        table: ``schema.TRIPLETS``.
        settings: parameters of the method.
        vectors: word vectors for the similarity of questions; required by some methods.
        published: the choices of a benchmark are replaced; then, other than in the paper, answers to the same
            question about the same image are excluded, and texts with other signs and operators are different.
        n_decoys: (triplets,): number of decoys of a row, divided among its sets; None for ``decoys_per_set`` in each.
        rejected: texts that never become a triplet's decoys, list of string (triplets,).
    """

    def __init__(
        self,
        table: pa.Table,
        settings: Settings,
        vectors: WordVectors | None = None,
        *,
        published: bool = False,
        n_decoys: Int32s | None = None,
        rejected: pa.ListArray | None = None,
    ) -> None:
        self.table, self.settings, self.vectors = table.combine_chunks(), settings, vectors
        self.n_decoys = n_decoys
        declared = [method.column for _, method in methods().values() if method.column]
        columns = [column for column in declared if column in table.column_names]
        lists = {name: self.table[name].combine_chunks() for name in columns}
        texts = [self.table["target"].combine_chunks(), *map(pc.list_flatten, lists.values())]
        self.candidates, parts = NumberedTexts.number(texts, signs=published)
        """all distinct texts of targets and published decoys"""
        plausible, reject = settings.preset == "plausible", settings.wup_boundary == "reject"
        self.tables = filter_tables(self.candidates, settings.wup_threshold, reject, all_pairs=plausible)
        self.published_texts = pa.array(self.candidates.texts, pa.string())
        none = pa.nulls(table.num_rows, pa.list_(pa.string()))
        self.triplets = Triplets(
            targets=parts[0],
            keys=self.candidates.keys,
            hashes=text_hashes(table["question_id"].to_pylist()),
            images=self.table["image_id"].combine_chunks().dictionary_encode().indices.to_numpy(),
            questions=_numbered(self.table["question"]) if published else np.arange(table.num_rows, dtype=np.int32),
            named=KeyLists.of(self.table["answers"].combine_chunks() if plausible else none, self.candidates),
            rejected=KeyLists.of(none if rejected is None else rejected, self.candidates),
        )
        self.lists = {
            name: (part, starts(pc.list_value_length(column).to_numpy()))
            for (name, column), part in zip(lists.items(), parts[1:], strict=True)
        }
        """text numbers of each list column, concatenated, and the start of each triplet's"""
        splits = table["split"].to_numpy()
        training = splits == "train"
        self.training: Bools = training if training.any() else np.ones(len(training), np.bool_)
        """(triplets,): whether in the training split; all if there is none"""
        self.pools: list[Int64s] = [np.arange(table.num_rows)]
        """triplets that are donors for one another: all, or those of each split"""
        if settings.decoys_from == "split":
            self.pools = [np.flatnonzero(splits == split) for split in dict.fromkeys(splits.tolist())]

    @property
    def size(self) -> int:
        """Number of triplets."""
        return len(self.triplets.targets)

    @cached_property
    def frequent(self) -> Int32s:
        """The most frequent targets of the training split."""
        return self.candidates.most_frequent(self.triplets.targets[self.training])[:N_FREQUENT]

    @cached_property
    def plausible(self) -> PlausibleAnswers | None:
        """Answers that fit the questions, for ``preset="plausible"``."""
        if self.settings.preset != "plausible":
            return None
        questions = comparable_texts(self.table["question"].combine_chunks())[0]
        return plausible_answers(self.candidates, self.triplets.targets, questions, self.training)

    @cached_property
    def text_hashes(self) -> NDArray[np.uint64]:
        """The hash of every text."""
        return text_hashes(self.candidates.texts)

    def padded(self, column: str) -> Int32s:
        """Text numbers of a list column, int32 (triplets, longest list), padded with MISSING."""
        numbers, list_starts = self.lists[column]
        lengths = np.diff(list_starts)
        rows = np.full((self.size, int(lengths.max(initial=0))), MISSING, np.int32)
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = numbers
        return rows

    def keys_of(self, texts: Int32s) -> Int32s:
        """The keys of text numbers; MISSING stays MISSING."""
        return np.where(texts == MISSING, MISSING, self.candidates.keys[texts]).astype(np.int32)


def _numbered(questions: pa.ChunkedArray) -> Int32s:
    """Equal numbers for equivalent questions; empty ones have a number each."""
    texts = comparable_texts(questions.combine_chunks())[0]
    positions = pa.array([f"\0{position}" for position in range(len(texts))], pa.large_string())
    names = pc.if_else(pc.equal(texts, ""), positions, texts)
    return np.array(names.dictionary_encode().indices)


_SAME_TEXT, _REPEATS_OTHER_SET = int(Reason.SAME_TEXT), int(Reason.REPEATS_OTHER_SET)
_NAMED, _VERDICT = int(Reason.NAMED), int(Reason.VERDICT)


class ClosedSets(NamedTuple):
    """The closed answer sets of all triplets, (triplets,) each."""

    first: Int64s  # the first row of each row's set, MISSING for rows in no set
    kind: NDArray[np.int8]  # index in ``SET_KINDS``
    size: NDArray[np.int8]  # rows of the set that was formed with each row, also if it is left out for its leak
    leak: Float32s  # estimated leak of that set, 0 if it is exact for the question, NaN if not estimated
    left_out: NDArray[np.int8]  # a `LeftOut`, why a row is in no set


class DecoyTable(NamedTuple):
    """The decoys of one method for all triplets."""

    sizes: Int32s  # (triplets,): number of decoys wanted, at most K
    picks: Int32s  # (triplets, views, K): text numbers, MISSING at the end
    donors: Int32s  # (triplets, views, K): the triplet whose target a pick is, MISSING for fallbacks
    found: Int32s  # (triplets, views): number of picks without fallbacks
    rejected: Int32s  # (triplets, views, reasons): number of rejected candidates
    considered: Int32s  # (triplets,): number of candidates tested
    fallback: Bools  # (triplets, views, K): whether a pick is a fallback
    excluded: Int32s  # (triplets, views, width): keys held by earlier sets of the row, padded with MISSING
    closed: ClosedSets  # the closed answer sets, if its decoys form some

    def view(self, view: int) -> "DecoyTable":
        """One view, without the axis of views."""
        names = ("picks", "donors", "found", "rejected", "fallback", "excluded")
        return self._replace(**{name: getattr(self, name)[:, view] for name in names})


class KernelInputs(NamedTuple):
    """The decoys of a kind, which are filled in place, what they are tested by, and the start of random draws."""

    decoys: DecoyTable
    triplets: Triplets
    tables: FilterTables
    seed_hash: np.uint64


class LeftOut(IntEnum):
    """Reasons why a row is in no closed answer set."""

    sentence: str  # continues "12 rows are left out: "

    NONE = 0, "in a set"
    NO_PARTNER = 1, "with no other answer to the same question, on the same image or in the same split"
    SURPLUS = 2, "for which no partners were left"
    LEAK = 3, "in the sets with the largest estimated leak (--coverage 1 keeps these)"

    def __new__(cls, value: int, sentence: str) -> "LeftOut":
        """Create a member: its value and its sentence."""
        member = int.__new__(cls, value)
        member._value_, member.sentence = value, sentence
        return member


def empty_table(sizes: Int32s, excluded: list[Int32s]) -> DecoyTable:
    """A set for ``sizes`` decoys of each triplet, still without decoys; see `stacked` for ``excluded``."""
    n_triplets, size, views = len(sizes), int(sizes.max(initial=0)), len(excluded)
    return DecoyTable(
        sizes=sizes,
        picks=np.full((n_triplets, views, size), MISSING, np.int32),
        donors=np.full((n_triplets, views, size), MISSING, np.int32),
        found=np.zeros((n_triplets, views), np.int32),
        rejected=np.zeros((n_triplets, views, len(REASONS)), np.int32),
        considered=np.zeros(n_triplets, np.int32),
        fallback=np.zeros((n_triplets, views, size), np.bool_),
        excluded=stacked(excluded),
        closed=ClosedSets(
            first=np.full(n_triplets, MISSING, np.int64),
            kind=np.zeros(n_triplets, np.int8),
            size=np.zeros(n_triplets, np.int8),
            leak=np.full(n_triplets, np.nan, np.float32),
            left_out=np.zeros(n_triplets, np.int8),
        ),
    )


def as_published(picks: Int32s, views: int) -> DecoyTable:
    """A set of published decoys, the same in all views; picks are (triplets, K)."""
    decoys = empty_table(np.full(len(picks), picks.shape[1], np.int32), [picks[:, :0]] * views)
    decoys.picks[:] = picks[:, None]
    decoys.found[:] = np.count_nonzero(picks != MISSING, axis=1)[:, None]
    return decoys


def stacked(excluded: list[Int32s]) -> Int32s:
    """Excluded keys of each view, (triplets, any width) each, as one array (triplets, views, width)."""
    width = max(part.shape[1] for part in excluded)
    joined = np.full((len(excluded[0]), len(excluded), width), MISSING, np.int32)
    for view, part in enumerate(excluded):
        joined[:, view, : part.shape[1]] = part
    return joined


class Memory(NamedTuple):
    """Keys taken and tested while the candidates of one triplet after another are tested."""

    taken: Int32s  # keys taken for the current triplet
    verdicts: Int64s  # (keys,): triplet * _VERDICTS + reason of a key's last rejection


_VERDICTS = len(REASONS) + 1


@njit(cache=True)
def new_memory(decoys: DecoyTable, tables: FilterTables) -> Memory:
    """An empty memory with room for all keys that can be taken before every view is full."""
    most = decoys.picks.shape[2] + decoys.excluded.shape[2]
    return Memory(np.empty(most, np.int32), np.full(len(tables.token_starts) - 1, -1, np.int64))


@njit(cache=True)
def clear(decoys: DecoyTable, triplet: int) -> None:
    """Empty the set of a triplet."""
    decoys.picks[triplet] = decoys.donors[triplet] = MISSING
    decoys.found[triplet] = decoys.rejected[triplet] = 0
    decoys.considered[triplet] = 0


@reading_inline
def wants_more(decoys: DecoyTable, triplet: int, most: int) -> bool:
    """Whether a view of a triplet's set is incomplete and fewer than ``most`` candidates were tested."""
    if decoys.considered[triplet] >= most:
        return False
    for view in range(decoys.found.shape[1]):
        if decoys.found[triplet, view] < decoys.sizes[triplet]:
            return True
    return False


@reading_inline
def is_excluded(decoys: DecoyTable, triplet: int, view: int, key: int, tables: FilterTables) -> bool:
    """Whether another set of the row holds a key or, with ``all_pairs``, one that may mean the same."""
    for i in range(decoys.excluded.shape[2]):
        other = decoys.excluded[triplet, view, i]
        if other == key or (tables.all_pairs and other != MISSING and ambiguous(key, other, tables)):
            return True
    return False


@reading_inline
def reason_for(
    triplet: int, key: int, taken: Int32s, n_taken: int, wup: bool, triplets: Triplets, tables: FilterTables
) -> int:
    """The reason why a candidate cannot be a triplet's decoy; or ACCEPTED. See `reason_against`."""
    if holds(triplets.rejected, triplet, key):
        return _VERDICT
    reason = reason_against(key, triplets.keys[triplets.targets[triplet]], taken, n_taken, wup, tables)
    return _NAMED if reason == ACCEPTED and holds(triplets.named, triplet, key) else reason


@reading
def try_targets(
    decoys: DecoyTable,
    triplet: int,
    others: Int64s,
    triplets: Triplets,
    memory: Memory,
    n_taken: int,
    tables: FilterTables,
    most: int,
) -> int:
    """Test the targets of other triplets in order, at most ``most``, until the set of a triplet is complete.

    The triplet itself and equal questions about the same image are skipped. Returns the new number of keys taken.
    """
    for i in range(len(others)):
        if not wants_more(decoys, triplet, most):
            break
        same_question = (
            triplets.images[others[i]] == triplets.images[triplet]
            and triplets.questions[others[i]] == triplets.questions[triplet]
        )
        if not same_question:  # true for the triplet itself
            n_taken = _try_target(decoys, triplet, others[i], triplets, memory, n_taken, tables)
    return n_taken


@reading_inline
def _try_target(
    decoys: DecoyTable, triplet: int, donor: int, triplets: Triplets, memory: Memory, taken: int, tables: FilterTables
) -> int:
    """Test one candidate, the target of a donor.

    A key that was rejected once is rejected each time for the same triplet, so each key is filtered once.
    """
    text = triplets.targets[donor]
    key = triplets.keys[text]
    decoys.considered[triplet] += 1
    if memory.verdicts[key] // _VERDICTS == triplet:
        reason = memory.verdicts[key] % _VERDICTS
    else:
        reason = reason_for(triplet, key, memory.taken, taken, True, triplets, tables)
        # a key that is taken now repeats a taken decoy the next time
        memory.verdicts[key] = triplet * _VERDICTS + (reason if reason != ACCEPTED else _SAME_TEXT)
        if reason == ACCEPTED:
            memory.taken[taken] = key
            taken += 1
    for view in range(decoys.found.shape[1]):
        found = decoys.found[triplet, view]
        if found == decoys.sizes[triplet]:
            continue
        if reason != ACCEPTED:
            decoys.rejected[triplet, view, reason] += 1
        elif is_excluded(decoys, triplet, view, key, tables):
            decoys.rejected[triplet, view, _REPEATS_OTHER_SET] += 1
        else:
            decoys.picks[triplet, view, found] = text
            decoys.donors[triplet, view, found] = donor
            decoys.found[triplet, view] = found + 1
    return taken
