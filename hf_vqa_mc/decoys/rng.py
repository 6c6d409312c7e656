"""Random numbers that depend only on (seed, question_id, purpose), not on order, workers, shards or machine."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy import uint64
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit


def text_hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """64-bit BLAKE2b hash of each text, uint64 (texts,)."""
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def purpose_hash(seed: int, purpose: str) -> np.uint64:
    """The hash from which all draws of a seed for a purpose start."""
    return np.uint64(text_hashes([f"{seed}:{purpose}"])[0])


@njit(cache=True)
def draw(start: int | np.uint64, first: int | np.uint64, second: int | np.uint64) -> np.uint64:
    """64 uniform bits from a purpose's hash and two numbers: SplitMix64's finaliser, chained (Steele et al. 2014)."""
    bits = uint64(start)
    for number in (uint64(first), uint64(second)):
        bits = uint64(bits ^ number) + uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> uint64(27))) * uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> uint64(31))
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
