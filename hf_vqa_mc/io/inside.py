"""Whether files lie inside folders once links are resolved."""

import os
from collections.abc import Iterable
from pathlib import Path

from hf_vqa_mc.errors import InputError


class Inside:
    """Folders with all that lies inside them; links are resolved, and what they lead to must lie inside as well.

    Of a snapshot in the cache of the Hub, the files to which its links lead count, too; ``hidden`` files, such as in
    ``.ssh``, only if they should.
    """

    def __init__(self, *folders: Path, hidden: bool = True) -> None:
        self._hidden = hidden
        self.folders = tuple(path.absolute() for path in folders)
        real = [path.resolve() for path in self.folders]
        blobs = [parent.parent / "blobs" for path in real for parent in path.parents if parent.name == "snapshots"]
        self._roots = (*real, *blobs)

    def path(self, name: str | Path) -> str | None:
        """The real path of a name, absolute or in the first of the folders where it exists; None if it is outside."""
        candidates = [os.path.realpath(folder / name) for folder in self.folders]
        # after a link to itself, realpath leaves others: such a name is outside
        candidates = [path if os.path.realpath(path) == path else os.sep for path in candidates]
        inside = [path for path in candidates if self._holds(path)]
        found = next((path for path in inside if os.path.exists(path)), None)  # noqa: PTH110
        if found is None and len(inside) < len(candidates):
            return None
        return found or (inside[0] if inside else None)

    def _holds(self, path: str) -> bool:
        relative = [path[len(str(root)) :] for root in self._roots if Path(path).is_relative_to(root)]
        return any(self._hidden or f"{os.sep}." not in one for one in relative)


def check_links(folder: Path, files: Iterable[str]) -> None:
    """Raise InputError if a file of a dataset is a link that leads out of the dataset's folder."""
    inside = Inside(folder)
    for file in files:
        if inside.path(Path(file).absolute()) is None:
            raise InputError(f"{file}: leads out of {folder}; copy the file into the folder to read it")
