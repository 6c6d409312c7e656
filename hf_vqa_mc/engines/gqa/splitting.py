"""Images by split, so that all questions about an image are in the same (Hudson and Manning 2019, Sect. 3.5)."""

from collections.abc import Mapping

from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.errors import InputError, unknown_name

SPLITS: Mapping[str, float] = {"train": 0.7, "val": 0.1, "test": 0.1, "challenge": 0.1}
"""Sect. 3.5, where challenge has "19%": with that they would add up to 109%."""


def check_splits(splits: Mapping[str, float]) -> None:
    """Nothing, if images can be split so.

    Raises:
        InputError: no split, one that GQA does not have, or shares that are not above 0 or do not add up to 1.
    """
    for name in splits:
        if name not in SPLITS:
            raise unknown_name("split", name, SPLITS)
    wrong = [f"{name} {share}" for name, share in splits.items() if not share > 0]
    if wrong or abs(sum(splits.values()) - 1) > 1e-6:
        shown = ", ".join(f"{name} {share}" for name, share in splits.items()) or "none"
        raise InputError(f"splits: {shown}; expected shares above 0 that add up to 1")


def split_of(image_id: str, seed: int, splits: Mapping[str, float] = SPLITS) -> str:
    """The split of an image: by chance, from the seed and its id alone, in these shares.

    >>> split_of("2386621", 0)
    'val'
    """
    chance = Chance(seed, image_id, "split").bits() * 2.0**-64
    for name, share in splits.items():
        chance -= share
        if chance < 0:
            return name
    return list(splits)[-1]
