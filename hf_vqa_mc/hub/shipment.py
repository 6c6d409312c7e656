"""Content and target of a push, complete before the network is used."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.data.inventory import Inventory
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress

Kind = Literal["model", "dataset", "space"]

_PART = re.compile(r"[\w.-]{1,96}", re.ASCII)


@dataclass(frozen=True)
class ShippedFile:
    """A file, and its path in the repository."""

    path: str
    content: Path | bytes  # local path, or the content of a generated file
    sha256: str | None = None  # if known already

    @property
    def size(self) -> int:
        """Bytes."""
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    @property
    def text(self) -> str:
        """The content as text."""
        return (self.content.read_bytes() if isinstance(self.content, Path) else self.content).decode()


@dataclass(frozen=True)
class Shipment:
    """One commit to one repository; its other files stay."""

    kind: Kind
    name: str  # NAMESPACE/NAME
    files: tuple[ShippedFile, ...]
    message: str  # commit message
    private: bool = False  # whether a new repository is private; an existing one keeps its visibility
    left_out: tuple[str, ...] = ()  # files of the folder that are not uploaded, see ``other_files``
    space_sdk: str | None = None  # SDK of a Space
    inventory: Inventory | None = None  # inventory of a dataset; names the files of an earlier push that it replaces
    pull_request: bool = False  # whether it is proposed to the owner of an existing repository, as a pull request

    @property
    def card(self) -> str:
        """The text of README.md; "" if there is none."""
        return next((file.text for file in self.files if file.path == "README.md"), "")


@dataclass(frozen=True)
class Request:
    """Arguments of a push."""

    name: str  # NAMESPACE/NAME
    folder: Any = None  # Path; of a dataset also any benchmark that `read_benchmark` reads
    private: bool = False
    images: Path | None = None  # folder of the images that a benchmark names
    image: str | None = None  # its column of images, "" for none
    creators: tuple[str, ...] = ()  # people who made the dataset
    tag: str | None = None  # name of the release
    benchmark: str | None = None  # NAMESPACE/NAME of an evaluated dataset
    task: str | None = None  # id of its task


@dataclass(frozen=True)
class Pushable:
    """A type of object that can be pushed; listed in ``hub.PUSHABLES``."""

    name: str  # name as typed by users
    prepare: Callable[[Request, Progress], Shipment]
    """collects the files; raises InputError unless everything can be uploaded"""
    usage: Callable[[Shipment], str]  # code that loads it from the Hub
    options: tuple[str, ...]  # options that not every type has
    left_out: str = ""  # why a file of the folder is not uploaded


def check_name(name: str) -> str:
    """Return the name of a repository; raises InputError unless it is a valid NAMESPACE/NAME.

    >>> check_name("benchmakers/vqa_mc")
    'benchmakers/vqa_mc'
    """
    parts = name.split("/")
    if len(parts) != 2:
        raise InputError(
            f"{name!r} is not a repository name; expected NAMESPACE/NAME with your user name or an organization"
        )
    for part in parts:
        strange = not _PART.fullmatch(part) or part[0] in ".-" or part[-1] in ".-" or "--" in part or ".." in part
        if strange or part.endswith(".git"):
            raise InputError(
                f"{name!r}: {part!r} is not a valid Hub name; expected letters, digits, single '-', '_' and '.', "
                "without '-' or '.' at the start or end"
            )
    return name


def other_files(folder: Path, sent: Collection[str]) -> tuple[str, ...]:
    """The files below a folder whose relative paths are not uploaded, except hidden ones."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(p.as_posix() for p in found if p.as_posix() not in sent and not p.parts[0].startswith(".")))
