"""What a push sends, and where to; known before the network is touched."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hf_vqa_mc.dataset.inventory import Inventory
from hf_vqa_mc.errors import InputError

Kind = Literal["model", "dataset", "space"]

_PART = re.compile(r"[\w.-]{1,96}", re.ASCII)


@dataclass(frozen=True)
class ShippedFile:
    """A file, and its path in the repository."""

    path: str
    place: Path | bytes
    """where it is, or what is in it if it is written for the push"""
    size: int
    """bytes"""
    sha256: str | None = None
    """where it was computed already"""


@dataclass(frozen=True)
class Shipment:
    """One commit to one repository; what else is there stays."""

    kind: Kind
    name: str
    """NAMESPACE/NAME"""
    files: tuple[ShippedFile, ...]
    message: str
    """of the commit"""
    private: bool = False
    """asked for; a repository that exists keeps its own visibility"""
    left_out: tuple[str, ...] = ()
    """files beside those that are sent, see ``other_files``"""
    space_sdk: str | None = None
    """of a Space"""
    inventory: Inventory | None = None
    """of a dataset: what of an earlier push it replaces follows from this"""

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)

    @property
    def path(self) -> str:
        """Of the repository's page, below the Hub's address."""
        return self.name if self.kind == "model" else f"{self.kind}s/{self.name}"


def check_name(name: str) -> str:
    """A repository's name, if it is one that the Hub could take.

    Raises:
        InputError: it is not NAMESPACE/NAME.

    >>> check_name("benchmakers/vqa_mc")
    'benchmakers/vqa_mc'
    """
    parts = name.split("/")
    if len(parts) != 2:
        raise InputError(
            f"{name!r} is no repository; expected NAMESPACE/NAME, your name on the Hub or an organization's"
        )
    for part in parts:
        strange = not _PART.fullmatch(part) or part[0] in ".-" or part[-1] in ".-" or "--" in part or ".." in part
        if strange or part.endswith(".git"):
            raise InputError(
                f"{name!r}: {part!r} is no name on the Hub; expected letters, digits, single '-', '_' and '.', "
                "neither first nor last a '-' or '.'"
            )
    return name


def other_files(folder: Path, sent: Collection[str]) -> tuple[str, ...]:
    """The files in a folder and below it that are not sent; hidden ones are nobody's concern.

    Args:
        folder: that is pushed.
        sent: paths in it.
    """
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(p.as_posix() for p in found if p.as_posix() not in sent and not p.parts[0].startswith(".")))
