"""Random choices of the engines, which depend on the seed and the names of the purpose only."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

_Value = TypeVar("_Value")
_MASK = (1 << 64) - 1


class SeededRng:
    """A stream of random choices for one purpose, such as the questions about one image.

    >>> SeededRng(0, "image", "phrasing").below(100) == SeededRng(0, "image", "phrasing").below(100)
    True
    """

    def __init__(self, seed: int, *names: str) -> None:
        """names: of the purpose, such as an image's id and a question type; each gives a different stream."""
        key = "\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")
        self._state = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")

    def bits(self) -> int:
        """64 uniform random bits by SplitMix64 (Steele 2014)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        bits = self._state
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
