"""Random numbers that depend only on (seed, question_id, purpose), not on order, workers, shards or machine."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit

GAMMA = 0x9E3779B97F4A7C15  # SplitMix64's increment
_MASK = (1 << 64) - 1
_Value = TypeVar("_Value")


def text_hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """64-bit BLAKE2b hash of each text, uint64 (texts,)."""
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def purpose_hash(seed: int, purpose: str) -> np.uint64:
    """The hash from which all draws of a seed for a purpose start."""
    return np.uint64(text_hashes([f"{seed}:{purpose}"])[0])


@njit(cache=True)
def mixed(bits: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64 (Steele et al. 2014), of a number or of each one of an array, uint64."""
    bits = (bits ^ (bits >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> uint64(27))) * uint64(0x94D049BB133111EB)
    return bits ^ (bits >> uint64(31))


@njit(cache=True)
def draw(start: int | np.uint64, first: int | np.uint64, second: int | np.uint64) -> np.uint64:
    """64 uniform bits from a purpose's hash and two numbers: SplitMix64's finaliser, chained."""
    bits = uint64(start)
    for number in (uint64(first), uint64(second)):
        bits = mixed(uint64(bits ^ number) + uint64(GAMMA))
    return bits


@njit(cache=True)
def below(bits: np.uint64, size: int) -> int:
    """An integer in [0, size) from the upper 32 of 64 uniform bits; size must be below 2**31."""
    return int(((bits >> uint64(32)) * uint64(size)) >> uint64(32))


@njit(cache=True)
def order_keys(start: int | np.uint64, first: int | np.uint64, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort keys of a random order of items with these hashes, uint64 (items,)."""
    keys = np.empty(len(hashes), np.uint64)
    for i in range(len(hashes)):
        keys[i] = draw(start, first, hashes[i])
    return keys


@njit(cache=True)
def shuffled(start: int | np.uint64, first: int | np.uint64, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Indices into ``hashes`` in random order, int64 (items,); adding an item keeps the order of the others."""
    return np.argsort(order_keys(start, first, hashes), kind="mergesort")


class SeededRng:
    """A stream of random choices for one purpose, such as the questions about one image.

    >>> SeededRng(0, "image", "phrasing").below(100) == SeededRng(0, "image", "phrasing").below(100)
    True
    """

    def __init__(self, seed: int, *names: str) -> None:
        """Start the stream of a purpose, which names such as an image's id and a question type give."""
        key = "\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")
        self._state = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")

    def bits(self) -> int:
        """64 uniform random bits by SplitMix64."""
        self._state = (self._state + GAMMA) & _MASK
        bits = self._state  # not by `mixed`, whose call takes half as long again as this arithmetic
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
        return bits ^ (bits >> 31)

    def below(self, size: int) -> int:
        """A uniform integer in [0, size); size must be in [1, 2**32]."""
        return ((self.bits() >> 32) * size) >> 32

    def happens(self, probability: float) -> bool:
        """True with this probability, in [0, 1]."""
        return (self.bits() >> 11) * 2.0**-53 < probability

    def pick(self, values: Sequence[_Value]) -> _Value:
        """One of the values, uniformly; there must be at least one."""
        return values[self.below(len(values))]

    def shuffled(self, values: Iterable[_Value]) -> list[_Value]:
        """The values in random order (Fisher-Yates)."""
        order = list(values)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
