"""The method as paper and DESIGN state it: plain Python, brute force, no numbering, no kernels, no haste.

It shares with the package what has tests of its own: text normalisation, Wu-Palmer similarity of phrases (NLTK's where
a caller passes it) and the hashes for random numbers.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.rng import below, draw, purpose_hash, shuffled, text_hashes
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.text import normalisation as language
from tests.text.single_phrases import phrase_wup

Triplet = Mapping[str, Any]
Vectors = Mapping[str, Sequence[float]]
Wup = Callable[[str, str], float]

SETS = {
    "orig": ("orig",),
    "iou": ("iou",),
    "qou": ("qou",),
    "iou_qou": ("iou", "qou"),
    "all": ("orig", "iou", "qou"),
    "random_uniform": ("random_uniform",),
    "random_frequency": ("random_frequency",),
    "orig_random_uniform": ("orig", "random_uniform"),
    "orig_random_frequency": ("orig", "random_frequency"),
}
MOST_RANDOM_DRAWS = 1_000
TIE = 1e-12

comparable = cache(language.comparable)


@cache
def squeezed(text: str) -> str:
    """The comparable text without spaces, hyphens and apostrophes, unless nothing is left."""
    folded = comparable(text)
    return re.sub(r"[-'’\s]+", "", folded) or folded


class Choice(NamedTuple):
    text: str
    kind: str
    is_fallback: bool = False


class Walk(NamedTuple):
    """What comes of offering candidates to a set."""

    taken: list[str]
    rejected: Counter[str]
    n_candidates: int


class Row(NamedTuple):
    target: Choice
    sets: dict[str, list[Choice]]
    walks: dict[str, Walk]

    @property
    def choices(self) -> list[Choice]:
        return [self.target, *(choice for choices in self.sets.values() for choice in choices)]


@cache
def remembered_wup(text: str, other: str) -> float:
    return phrase_wup(language.words(text), language.words(other))


def contained(text: str, other: str) -> bool:
    a, b = squeezed(text), squeezed(other)
    return a in b or b in a


def reaches(score: float, settings: Settings) -> bool:
    if settings.wup_boundary == "reject":
        return score >= settings.wup_threshold
    return score > settings.wup_threshold


def objection(candidate: str, target: str, taken: Sequence[str], settings: Settings, wup: Wup | None) -> str | None:
    """Why a candidate is rejected; without `wup` the two WUP filters do not apply."""
    if comparable(candidate) in [comparable(text) for text in (target, *taken)]:
        return "same_text"
    if contained(candidate, target):
        return "contains"
    if wup is not None:
        if reaches(wup(candidate, target), settings):
            return "wup_target"
        if any(reaches(wup(candidate, text), settings) for text in taken):
            return "wup_taken"
    return None


def offer_all(
    candidates: Iterable[str], target: str, size: int, avoided: Iterable[str], settings: Settings, wup: Wup
) -> Walk:
    """The first `size` candidates that pass the filters and that no other set holds (`avoided`)."""
    held = {comparable(text) for text in avoided}
    passed: list[str] = []
    taken: list[str] = []
    rejected: Counter[str] = Counter()
    n_candidates = 0
    for candidate in candidates:
        if len(taken) == size:
            break
        n_candidates += 1
        reason = objection(candidate, target, passed, settings, wup)
        if reason is not None:
            rejected[reason] += 1
            continue
        passed.append(candidate)
        if comparable(candidate) in held:
            rejected["repeats_other_set"] += 1
        else:
            taken.append(candidate)
    return Walk(taken, rejected, n_candidates)


class LiteralMethod:
    """A dataset's variants."""

    def __init__(
        self, triplets: Sequence[Triplet], vectors: Vectors, settings: Settings, wup: Wup = remembered_wup
    ) -> None:
        self.triplets = triplets
        self.settings = settings
        self.wup = wup
        self.targets: list[str] = [triplet["target"] for triplet in triplets]
        self.hashes = text_hashes(triplet["question_id"] for triplet in triplets)
        self.bags = [sorted(w for w in language.words(t["question"]) if any(vectors.get(w, ()))) for t in triplets]
        self.directions = np.array([average_direction(bag, vectors) for bag in self.bags])
        self._made: dict[str, list[Row]] = {}

    # candidates ------------------------------------------------------------------------------------------------------

    def pool(self, index: int) -> list[int]:
        """The triplets that may give decoys to one, itself among them."""
        if self.settings.decoys_from == "dataset":
            return list(range(len(self.triplets)))
        return [n for n, t in enumerate(self.triplets) if t["split"] == self.triplets[index]["split"]]

    def candidates(self, name: str, index: int) -> Iterator[str]:
        if name == "iou":
            yield from (self.targets[n] for n in self.on_the_same_image(index))
        elif name == "qou":
            yield from (self.targets[n] for n in self.most_similar(index)[: self.settings.n_similar])
        else:
            yield from self.random_draws(name, index)

    def on_the_same_image(self, index: int) -> list[int]:
        image = self.triplets[index]["image_id"]
        others = [n for n in self.pool(index) if n != index and self.triplets[n]["image_id"] == image]
        order = shuffled(purpose_hash(self.settings.seed, "iou"), self.hashes[index], self.hashes[others])
        return [others[n] for n in order]

    def most_similar(self, index: int) -> list[int]:
        """All other triplets of the pool by cosine; those that tie by position from a random one on."""
        if not self.bags[index]:
            return []
        pool = [n for n in self.pool(index) if self.bags[n]]
        cosines = self.directions[pool] @ self.directions[index]
        cosines[[self.bags[n] == self.bags[index] for n in pool]] = 1.0
        runs = [[pool[n] for n in run] for run in by_cosine_then_position(cosines)]
        seed_hash = purpose_hash(self.settings.seed, "qou ties")
        for run in runs:
            start = below(np.uint64(draw(seed_hash, self.hashes[index], len(run))), len(run))
            run[:] = run[start:] + run[:start]
        return [n for run in runs for n in run if n != index]

    def random_draws(self, name: str, index: int) -> Iterator[str]:
        """Targets of the pool's triplets, or of the first with each text; who draws itself has drawn nothing."""
        urn = [(self.targets[n], n) for n in self.pool(index)]
        if name == "random_uniform":
            texts = [text for text, _ in urn]
            urn = [urn[texts.index(text)] for text in most_frequent(texts)]
        urn.sort()
        start = purpose_hash(self.settings.seed, name)
        for number in range(MOST_RANDOM_DRAWS):
            text, owner = urn[below(np.uint64(draw(start, self.hashes[index], number)), len(urn))]
            if owner != index:
                yield text

    # sets ------------------------------------------------------------------------------------------------------------

    def size(self, name: str) -> int:
        return self.settings.n_random if name.startswith("random") else self.settings.decoys_per_set

    def made(self, variant: str) -> list[Row]:
        """The row of every triplet."""
        if variant not in self._made:
            self._made[variant] = [self.row(variant, index) for index in range(len(self.triplets))]
        return self._made[variant]

    def row(self, variant: str, index: int) -> Row:
        row = Row(Choice(self.targets[index], "target"), {}, {})
        for name in SETS[variant]:
            if f"{name}_decoys" in self.triplets[index]:
                texts = self.triplets[index][f"{name}_decoys"]
            else:
                arguments = (self.targets[index], self.size(name), self._held(row, name), self.settings, self.wup)
                row.walks[name] = offer_all(self.candidates(name, index), *arguments)
                texts = row.walks[name].taken
            row.sets[name] = [Choice(text, kind_of(name)) for text in texts]
        for name in row.walks:
            self._take_fallbacks(name, index, row)
        return row

    def _held(self, row: Row, name: str) -> list[str]:
        """What the other sets of a row hold so far; the paper does not look."""
        if self.settings.combine == "paper":
            return []
        return [choice.text for other, choices in row.sets.items() if other != name for choice in choices]

    def _take_fallbacks(self, name: str, index: int, row: Row) -> None:
        choices = row.sets[name]
        held = {comparable(text) for text in self._held(row, name)}
        wup = self.wup if self.settings.filter_fallback else None
        seed_hash = purpose_hash(self.settings.seed, f"fallback:{name}")
        for urn in (self.triplets[index]["orig_decoys"], self.frequent_targets()):
            order = shuffled(seed_hash, self.hashes[index], text_hashes(urn)) if urn else ()
            for text in (urn[n] for n in order):
                if len(choices) == self.size(name):
                    return
                taken = [choice.text for choice in choices]
                if comparable(text) in held or objection(text, row.target.text, taken, self.settings, wup):
                    continue
                choices.append(Choice(text, kind_of(name), is_fallback=True))

    def frequent_targets(self) -> list[str]:
        """The ten most frequent of the training split, of all where there is none."""
        training = [t["target"] for t in self.triplets if t["split"] == "train"]
        return most_frequent(training or self.targets)[:10]

    # rows and statistics ---------------------------------------------------------------------------------------------

    def split(self, variant: str, split: str) -> list[Row]:
        return [row for row, t in zip(self.made(variant), self.triplets, strict=True) if t["split"] == split]

    def shuffled_rows(self, variant: str) -> dict[str, list[list[Choice]]]:
        """The rows of each split as a reader sees them."""
        found: dict[str, list[list[Choice]]] = {}
        for split in SPLITS:
            for index, row in enumerate(self.made(variant)):
                if self.triplets[index]["split"] == split:
                    found.setdefault(split, []).append(self._shuffled(variant, index, row))
        return found

    def _shuffled(self, variant: str, index: int, row: Row) -> list[Choice]:
        start = purpose_hash(self.settings.seed, f"shuffle:{variant}")
        numbered = [(0, row.target)]
        offset = 1
        for name, choices in row.sets.items():
            numbered += enumerate(choices, start=offset)
            offset += max(max(len(other.sets[name]) for other in self.made(variant)), self._width(name))
        numbered.sort(key=lambda item: int(draw(start, self.hashes[index], item[0])) >> 1)
        return [choice for _, choice in numbered]

    def _width(self, name: str) -> int:
        return 0 if f"{name}_decoys" in self.triplets[0] else self.size(name)

    def rejected(self, variant: str) -> dict[str, Counter[str]]:
        totals = {name: Counter[str]() for name in SETS[variant] if name != "orig"}
        for row in self.made(variant):
            for name, walk in row.walks.items():
                totals[name] += walk.rejected
        return totals

    def missing(self, variant: str) -> dict[str, Counter[str]]:
        """How many decoys of its own kind each set lacks, and why."""
        totals = {name: Counter[str]() for name in SETS[variant] if name != "orig"}
        for row in self.made(variant):
            for name, walk in row.walks.items():
                for index in range(len(walk.taken), self.size(name)):
                    why = "rejected by the filters"
                    if index >= walk.n_candidates:
                        why = "fewer candidates than slots" if walk.n_candidates else "no candidates"
                    totals[name][why] += 1
        return totals


def kind_of(name: str) -> str:
    return "random" if name.startswith("random") else name


def average_direction(bag: Sequence[str], vectors: Vectors) -> NDArray[np.float64]:
    """The unit vector along the average word vector in float64; zero where there is none or the words cancel out."""
    dim = len(next(iter(vectors.values())))
    average = np.mean([np.asarray(vectors[word], np.float64) for word in bag] or [np.zeros(dim)], axis=0)
    length = np.linalg.norm(average)
    return np.asarray(average / length if length > 0 else average)


def by_cosine_then_position(cosines: NDArray[np.float64]) -> list[list[int]]:
    """Runs of positions, the largest cosine first; cosines equal up to rounding make a run."""
    order = np.argsort(-cosines)
    run = np.cumsum(-np.diff(cosines[order], prepend=np.inf) > TIE)
    order = order[np.lexsort((order, run))]
    return [part.tolist() for part in np.split(order, np.flatnonzero(np.diff(run)) + 1)]


def most_frequent(targets: Sequence[str]) -> list[str]:
    """Each different target once, as it is most often written, most frequent first; ties by text."""
    counts = Counter(map(comparable, targets))
    spellings = Counter(targets)

    def as_written(key: str) -> str:
        return min((s for s in spellings if comparable(s) == key), key=lambda s: (-spellings[s], s))

    return [as_written(key) for key in sorted(counts, key=lambda key: (-counts[key], key))]


def prior_accuracy(train: Sequence[Row], rows: Sequence[Row], k: int) -> Fraction:
    """Eq. 2, fitted on some rows, its accuracy on others; ties share the point, all arithmetic is exact."""
    as_target = Counter(comparable(row.target.text) for row in train)
    as_decoy = Counter(comparable(choice.text) for row in train for choice in row.choices[1:])

    def likelihood(choice: Choice) -> Fraction:
        t, d = as_target[comparable(choice.text)], as_decoy[comparable(choice.text)]
        return t / (t + Fraction(d, k)) if t or d else Fraction(1, 2)

    total = Fraction(0)
    for row in rows:
        scores = [likelihood(choice) for choice in row.choices]
        if scores[0] == max(scores):
            total += Fraction(1, scores.count(scores[0]))
    return total / len(rows)
