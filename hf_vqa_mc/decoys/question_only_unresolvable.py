"""QoU decoys: targets of the N most similar questions, most similar first, until K pass the filters.

Usually few are needed, so neighbours are searched in rounds: first the triplets with the same words, then the 12 most
similar bags of words, then more for triplets that are still incomplete.
"""

from collections.abc import Callable

import numpy as np

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import Bools, Int32s, Int64s
from hf_vqa_mc.decoys.decoy_table import (
    DecoyTable,
    IndexedTriplets,
    KernelInputs,
    clear,
    new_memory,
    try_targets,
    wants_more,
)
from hf_vqa_mc.decoys.rng import below, draw, purpose_hash
from hf_vqa_mc.decoys.similar_questions import NO_BAG, Neighbours, QuestionGroups, SimilarQuestions

_ROUNDS = (12, 64, 512)  # neighbouring groups searched per round; the last round searches N
_GROUPS_PER_TASK = 64


def take_qou_decoys(
    decoys: DecoyTable, pool: Int64s, indexed: IndexedTriplets, progress: Callable[[int], None]
) -> None:
    """Fill the sets of a pool's triplets.

    Equally similar questions come in the order of the dataset from a random start of each triplet. Otherwise all
    repetitions of a question would get the same decoys, so that the question alone separates them from other answers.
    """
    if indexed.vectors is None:
        raise ValueError("QoU decoys need word vectors")
    n_similar = indexed.settings.n_similar
    groups = QuestionGroups(indexed.table["question"].take(pool).to_pylist(), indexed.vectors)
    if not groups.size:
        return
    bags = groups.bags
    members, short = pool[bags.members], np.zeros(len(decoys.found), np.bool_)
    short[members] = True
    no_neighbours = Neighbours(np.empty((groups.size, 0), np.int32), np.empty((groups.size, 0)))
    step = max(_GROUPS_PER_TASK, groups.size // 64)
    seed_hash = purpose_hash(indexed.settings.seed, "qou ties")
    given = KernelInputs(decoys, indexed.triplets, indexed.tables, seed_hash)
    context = (given, (members, bags.member_starts, short), n_similar)
    over_ranges(_take, groups.size, step, np.arange(groups.size, dtype=np.int32), no_neighbours, *context, False)
    index = SimilarQuestions(groups)
    rounds = sorted({min(k, n_similar, groups.size - 1) for k in (*_ROUNDS, n_similar)} - {0})
    for k in rounds:
        incomplete = np.unique(bags.of_question[np.flatnonzero(short[pool])])
        incomplete = incomplete[incomplete != NO_BAG]
        for queries, found in index.nearest(incomplete, k):
            last = k == rounds[-1]
            over_ranges(_take, len(queries), _GROUPS_PER_TASK, queries, found, *context, last)
            progress(len(pool) - int(np.count_nonzero(short)))
    progress(len(pool))


@njit(cache=True, nogil=True)
def _take(
    first: int,
    stop: int,
    queries: Int32s,
    found: Neighbours,
    given: KernelInputs,
    questions: tuple[Int64s, Int64s, Bools],
    n_similar: int,
    last: bool,
) -> None:
    """Offer the members of a query's own group and of its neighbours to the group's incomplete members."""
    decoys, triplets, tables, random_start = given
    members, member_starts, short = questions
    k, memory = found.groups.shape[1], new_memory(decoys, tables)
    for query in range(first, stop):
        own = queries[query]
        cosines = found.cosines[query]
        usable = k
        if not last:  # further groups may tie with the last one
            while usable > 0 and cosines[usable - 1] == cosines[k - 1]:
                usable -= 1
        for triplet in members[member_starts[own] : member_starts[own + 1]]:
            if not short[triplet]:
                continue
            clear(decoys, triplet)
            alike = members[member_starts[own] : member_starts[own + 1]]
            alike = _from_random_start(alike, n_similar, random_start, triplets.hashes[triplet])
            n_taken = try_targets(decoys, triplet, alike, triplets, memory, 0, tables, n_similar)
            start = 0
            while start < usable and wants_more(decoys, triplet, n_similar):
                end = start + 1
                while end < usable and cosines[end] == cosines[start]:
                    end += 1
                alike = _members_in_order(found.groups[query, start:end], members, member_starts)
                alike = _from_random_start(alike, n_similar, random_start, triplets.hashes[triplet])
                n_taken = try_targets(decoys, triplet, alike, triplets, memory, n_taken, tables, n_similar)
                start = end
            short[triplet] = wants_more(decoys, triplet, n_similar)


@njit(cache=True)
def _from_random_start(alike: Int64s, n_similar: int, random_start: np.uint64, triplet_hash: np.uint64) -> Int64s:
    """The first n_similar + 1 in circular order from a random start."""
    first = below(draw(random_start, triplet_hash, len(alike)), len(alike))
    some = min(len(alike), n_similar + 1)
    return np.concatenate((alike[first : first + some], alike[: max(0, some - (len(alike) - first))]))


@njit(cache=True)
def _members_in_order(groups: Int32s, members: Int64s, member_starts: Int64s) -> Int64s:
    together = members[member_starts[groups[0]] : member_starts[groups[0] + 1]]
    for group in groups[1:]:
        together = np.concatenate((together, members[member_starts[group] : member_starts[group + 1]]))
    return np.sort(together) if len(groups) > 1 else together
