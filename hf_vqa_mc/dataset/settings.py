"""The parameters of the method, with the paper's values as defaults."""

from dataclasses import dataclass
from typing import Literal, get_args

from hf_vqa_mc.errors import InputError, unknown_name

WupBoundary = Literal["reject", "accept"]
Pool = Literal["dataset", "split"]
Combine = Literal["distinct", "paper"]
Ties = Literal["position", "random"]

_MOST_DECOYS, _MOST_SIMILAR = 1_000, 2**31 - 1


@dataclass(frozen=True)
class Settings:
    """How decoys are made (Chao et al. 2018; sections beside each).

    Raises:
        InputError: a value is out of its range; names it.
    """

    decoys_per_set: int = 3
    """K, the decoys of an IoU or QoU set (Sect. 5.1)"""
    n_similar: int = 10_000
    """N, how many of the most similar triplets QoU decoys are looked for in (Sect. 4.1)"""
    n_random: int = 6
    """random decoys of a row (Supplement G)"""
    wup_threshold: float = 0.9
    """decoys this similar to the target, or to one another, are turned away (Sect. 4.1)"""
    wup_boundary: WupBoundary = "reject"
    """a similarity of exactly the threshold: the paper's text rejects it, the authors' released decoys accept it"""
    pool: Pool = "dataset"
    """where decoys come from: the entire dataset (Sect. 4.1) or the triplet's own split"""
    combine: Combine = "distinct"
    """a text that two sets of a row share: replaced by the later set's next candidate, or kept as in the paper"""
    ties: Ties = "position"
    """equally similar questions: offered in the order of the dataset (the paper is silent), or from a random place on,
    so that the repetitions of a question get different decoys"""
    fallback_orig: bool = True
    """whether fall-backs come from the decoys that the publisher gives, if any (Sect. 5.1), else from the targets most
    frequent in training; decoys that were made (``--orig made``) never give any"""
    filter_fallback: bool = True
    """whether fall-backs must pass the WUP filters (the paper is silent; the authors' probably did not)"""
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name in ("decoys_per_set", "n_similar", "n_random"):
            most = _MOST_SIMILAR if name == "n_similar" else _MOST_DECOYS
            if not _is_whole(getattr(self, name)) or not 1 <= getattr(self, name) <= most:
                raise InputError(f"{name} is {getattr(self, name)!r}; expected a whole number from 1 to {most:,}")
        if not _is_whole(self.seed):
            raise InputError(f"seed is {self.seed!r}; expected a whole number")
        threshold = self.wup_threshold
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0.0 <= threshold <= 1.0:
            raise InputError(f"wup_threshold is {self.wup_threshold!r}; expected a number from 0 to 1")
        for name in ("fallback_orig", "filter_fallback"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {getattr(self, name)!r}; expected True or False")
        for name, choices in (("wup_boundary", WupBoundary), ("pool", Pool), ("combine", Combine), ("ties", Ties)):
            if getattr(self, name) not in get_args(choices):
                raise unknown_name(name, str(getattr(self, name)), get_args(choices))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
