"""Random choices for the engines: each depends on the seed and the names of what is chosen for, on nothing else."""

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
        """names: what is chosen for, such as an image's id and a purpose; other names give other choices."""
        key = "\0".join((str(seed), *names)).encode("utf-8", "surrogatepass")
        self._state = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")

    def bits(self) -> int:
        """Uniform 64 bits: SplitMix64 (Steele 2014)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        bits = self._state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
        return bits ^ (bits >> 31)

    def below(self, size: int) -> int:
        """A number in [0, size); size must be from 1 to 2**32."""
        return ((self.bits() >> 32) * size) >> 32

    def happens(self, probability: float) -> bool:
        """True with this probability, in [0, 1]."""
        return (self.bits() >> 11) * 2.0**-53 < probability

    def pick(self, values: Sequence[_Value]) -> _Value:
        """One of the values, each as likely; there must be one."""
        return values[self.below(len(values))]

    def shuffled(self, values: Iterable[_Value]) -> list[_Value]:
        """The values in random order (Fisher-Yates)."""
        order = list(values)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
