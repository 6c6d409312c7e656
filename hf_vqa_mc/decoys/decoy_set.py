"""A set of decoys in the making: candidates are offered one by one, the filters decide, each view takes what it needs.

A set is made once a source. Alone (``iou``) a config takes its first K decoys; in a combined config (``iou_qou``,
``all``) it takes the first K that no earlier set of the row holds. These are the views of a set; all come from one
walk over the candidates, so the decoys that need no replacing are the same in every config.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING, FilterTables
from hf_vqa_mc.decoys.filters import ACCEPTED, REASONS, Reason, reason_against
from hf_vqa_mc.text.wu_palmer import reading, reading_inline

_SAME_TEXT, _REPEATS_OTHER_SET = int(Reason.SAME_TEXT), int(Reason.REPEATS_OTHER_SET)


class Triplets(NamedTuple):
    """What the procedures need to know of the triplets, all int32 or uint64 (triplets,) but `keys`."""

    targets: NDArray[np.int32]  # text numbers
    keys: NDArray[np.int32]  # (texts,): the key of each text
    hashes: NDArray[np.uint64]  # of the question ids
    images: NDArray[np.int32]  # image numbers
    questions: NDArray[np.int32]  # of one image, those with the same number give no decoys to one another


class DecoySet(NamedTuple):
    """The decoys of one kind for all triplets."""

    picks: NDArray[np.int32]  # (triplets, views, K): text numbers, MISSING at the end
    donors: NDArray[np.int32]  # (triplets, views, K): the triplet whose target a pick is, MISSING for stand-ins
    found: NDArray[np.int32]  # (triplets, views): how many of the picks are there
    turned_away: NDArray[np.int32]  # (triplets, views, reasons)
    considered: NDArray[np.int32]  # (triplets,): how many candidates were offered
    fallback: NDArray[np.bool_]  # (triplets, views, K): a stand-in
    excluded: NDArray[
        np.int32
    ]  # (triplets, views, width): keys that earlier sets of the row hold, padded with MISSING


def empty_set(n_triplets: int, size: int, excluded: list[NDArray[np.int32]]) -> DecoySet:
    """A set without decoys yet.

    Args:
        n_triplets: how many triplets there are.
        size: K, the decoys a set holds.
        excluded: for each view the keys that it must not take, int32 (triplets, any width), padded with MISSING.
    """
    views = len(excluded)
    return DecoySet(
        picks=np.full((n_triplets, views, size), MISSING, np.int32),
        donors=np.full((n_triplets, views, size), MISSING, np.int32),
        found=np.zeros((n_triplets, views), np.int32),
        turned_away=np.zeros((n_triplets, views, len(REASONS)), np.int32),
        considered=np.zeros(n_triplets, np.int32),
        fallback=np.zeros((n_triplets, views, size), np.bool_),
        excluded=side_by_side(excluded),
    )


def as_published(picks: NDArray[np.int32], views: int) -> DecoySet:
    """A set that is taken as it was published, the same in each of so many views; picks are (triplets, K)."""
    decoys = empty_set(len(picks), picks.shape[1], [picks[:, :0]] * views)
    decoys.picks[:] = picks[:, None]
    decoys.found[:] = np.count_nonzero(picks != MISSING, axis=1)[:, None]
    return decoys


def side_by_side(excluded: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """The keys that each view must not take, (triplets, any width) each, as (triplets, views, width)."""
    width = max(part.shape[1] for part in excluded)
    joined = np.full((len(excluded[0]), len(excluded), width), MISSING, np.int32)
    for view, part in enumerate(excluded):
        joined[:, view, : part.shape[1]] = part
    return joined


class Walk(NamedTuple):
    """What a walk over the candidates of one triplet after the other remembers."""

    taken: NDArray[np.int32]  # the keys taken so far
    judged: NDArray[np.int64]  # (keys,): why a key was turned away, and in the walk for which triplet


_VERDICTS = len(REASONS) + 1


@njit(cache=True)
def new_walk(decoys: DecoySet, tables: FilterTables) -> Walk:
    """Remembers nothing yet; holds all decoys that can be taken before every view is full."""
    most = decoys.picks.shape[2] + decoys.excluded.shape[2]
    return Walk(np.empty(most, np.int32), np.full(len(tables.token_starts) - 1, -1, np.int64))


@njit(cache=True)
def start_over(decoys: DecoySet, triplet: int) -> None:
    """Forgets what was offered to a triplet."""
    decoys.picks[triplet] = MISSING
    decoys.donors[triplet] = MISSING
    decoys.found[triplet] = 0
    decoys.turned_away[triplet] = 0
    decoys.considered[triplet] = 0


@reading_inline
def wants_more(decoys: DecoySet, triplet: int, most: int) -> bool:
    """Whether a view of a triplet's set is short of decoys and fewer than so many candidates were considered."""
    if decoys.considered[triplet] >= most:
        return False
    for view in range(decoys.found.shape[1]):
        if decoys.found[triplet, view] < decoys.picks.shape[2]:
            return True
    return False


@reading_inline
def _is_excluded(decoys: DecoySet, triplet: int, view: int, key: int) -> bool:
    for place in range(decoys.excluded.shape[2]):
        if decoys.excluded[triplet, view, place] == key:
            return True
    return False


@reading
def offer_targets(
    decoys: DecoySet,
    triplet: int,
    others: NDArray[np.int64],
    triplets: Triplets,
    walk: Walk,
    n_taken: int,
    tables: FilterTables,
    most: int,
) -> int:
    """Offers a triplet the targets of others, one after the other, as long as it wants more.

    Args:
        decoys: the set.
        triplet: whose set.
        others: triplet numbers in the order in which they are offered; the triplet itself is passed over, and those
            that ask the same of the same image.
        triplets: all triplets.
        walk: what was taken and judged.
        n_taken: how many are taken.
        tables: what the filters look up.
        most: how many candidates are considered at the most.

    Returns:
        How many are taken now.
    """
    for i in range(len(others)):
        if not wants_more(decoys, triplet, most):
            break
        asks_the_same = (
            triplets.images[others[i]] == triplets.images[triplet]
            and triplets.questions[others[i]] == triplets.questions[triplet]
        )
        if not asks_the_same:  # nor is it the triplet itself
            n_taken = _offer(decoys, triplet, others[i], triplets, walk, n_taken, tables)
    return n_taken


@reading_inline
def _offer(
    decoys: DecoySet, triplet: int, donor: int, triplets: Triplets, walk: Walk, n_taken: int, tables: FilterTables
) -> int:
    """Offers one candidate, the target of a donor.

    A verdict stands: a key that is turned away is so each time that it comes up again, so it is judged once a walk.
    """
    text = triplets.targets[donor]
    key = triplets.keys[text]
    decoys.considered[triplet] += 1
    if walk.judged[key] // _VERDICTS == triplet:
        reason = walk.judged[key] % _VERDICTS
    else:
        target = triplets.keys[triplets.targets[triplet]]
        reason = reason_against(key, target, walk.taken, n_taken, True, tables)
        # whatever is taken now is the text of a decoy already taken the next time
        walk.judged[key] = triplet * _VERDICTS + (reason if reason != ACCEPTED else _SAME_TEXT)
        if reason == ACCEPTED:
            walk.taken[n_taken] = key
            n_taken += 1
    for view in range(decoys.found.shape[1]):
        found = decoys.found[triplet, view]
        if found == decoys.picks.shape[2]:
            continue
        if reason != ACCEPTED:
            decoys.turned_away[triplet, view, reason] += 1
        elif _is_excluded(decoys, triplet, view, key):
            decoys.turned_away[triplet, view, _REPEATS_OTHER_SET] += 1
        else:
            decoys.picks[triplet, view, found] = text
            decoys.donors[triplet, view, found] = donor
            decoys.found[triplet, view] = found + 1
    return n_taken


@njit(cache=True)
def stand_in(
    decoys: DecoySet,
    triplet: int,
    view: int,
    text: int,
    triplets: Triplets,
    wup: bool,
    tables: FilterTables,
) -> None:
    """Offers a view a text for a decoy that could not be found; it is marked as a fall-back if it is taken."""
    key = triplets.keys[text]
    found = decoys.found[triplet, view]
    taken = np.empty(found, np.int32)
    for i in range(found):
        taken[i] = triplets.keys[decoys.picks[triplet, view, i]]
    target = triplets.keys[triplets.targets[triplet]]
    if reason_against(key, target, taken, found, wup, tables) != ACCEPTED:
        return
    if _is_excluded(decoys, triplet, view, key):
        return
    decoys.picks[triplet, view, found] = text
    decoys.fallback[triplet, view, found] = True
    decoys.found[triplet, view] = found + 1
