"""The one rule for images that a dataset names: which files and addresses are read."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.data.stored_images import PROTOCOL, address_parts, hub_repository, known_here, read_address
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.inside import Inside

if TYPE_CHECKING:
    from datasets import Dataset

NAME_FOLDER = "give the folder that holds them with --images DIR"
"""Remedy, for messages."""

_LONGEST_SHOWN = 80  # characters


class RefusedImage(InputError):
    """An image that the dataset may not name: outside of its folder, or on the web."""


@dataclass(frozen=True, eq=False)
class AllowedImages:
    """The images that a dataset may name.

    A dataset comes from anyone, so it does not decide which files of the user are read or which hosts are asked.
    Allowed are files inside its own folder or that of ``--images`` (links resolved, no hidden files), and addresses of
    ``with_images`` if this process wrote them, or if they lead into these folders or into the dataset on the Hub.
    """

    folders: tuple[Path, ...] = ()
    """relative paths start from each of them"""
    repository: str | None = None
    """the dataset's name on the Hub"""

    @cached_property
    def _inside(self) -> Inside:
        return Inside(*self.folders, hidden=False)

    def refuses(self, name: str) -> bool:
        """Whether a name is not allowed, whatever is there."""
        if "://" in name:
            folder, _ = address_parts(name)
            return not name.startswith(f"{PROTOCOL}://") or not (folder in known_here or self._allows_folder(folder))
        return self._inside.path(name) is None and (bool(self.folders) or Path(name).is_absolute())

    def has(self, name: str) -> bool:
        """Whether a name is allowed and there is such a file; addresses are not looked up."""
        if "://" in name:
            return not self.refuses(name)
        path = self._inside.path(name)
        return path is not None and os.path.isfile(path)  # noqa: PTH113  False for impossible names, too

    def read(self, name: str) -> bytes:
        """The content of an image file; raises RefusedImage if it is not allowed, InputError if it cannot be read."""
        if self.refuses(name):
            where, remedy = refusal(name)
            raise RefusedImage(f"the image {shortened(name)} is {where} and is not read; {remedy}")
        try:
            if "://" in name:
                return read_address(name)
            path = self._inside.path(name)
            if path is None or not os.path.isfile(path):  # noqa: PTH113  false for names that are too long
                base = self.folders[0] if self.folders else "the dataset"
                raise InputError(f"no image {shown(name)} in {base}; give its folder with --images DIR")
            return Path(path).read_bytes()
        except (OSError, ValueError, LookupError, RuntimeError) as error:  # also of fsspec and pyarrow
            if isinstance(error, InputError):
                raise
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"the image {shortened(name)} cannot be read ({reason})") from error

    def check_config(self, folder: str) -> None:
        """Raise InputError unless an images config, a folder or address, belongs to the dataset."""
        if not self._allows_folder(folder):
            raise InputError(f"{folder}: leads out of the dataset's folder; copy the images config into it")

    def _allows_folder(self, folder: str) -> bool:
        if "::" in folder:  # fsspec would open what follows
            return False
        if "://" not in folder:
            return Path(folder).is_absolute() and self._inside.path(folder) is not None
        own = f"hf://datasets/{self.repository}"
        return bool(self.repository) and folder.startswith((f"{own}/", f"{own}@")) and ".." not in folder


def is_web_address(name: str) -> bool:
    """Whether a name is an http or https address."""
    return name[:8].lower().startswith(("http://", "https://"))


def refusal(name: str) -> tuple[str, str]:
    """Where a refused image is, and what to do."""
    if is_web_address(name):
        return "on the web", f"download them first, and {NAME_FOLDER}"
    return "outside of the dataset's folder", NAME_FOLDER


def shortened(name: str) -> str:
    """A path or id for messages."""
    return name if name.isprintable() and len(name) <= _LONGEST_SHOWN else shown(name)


def allowed_images(
    rows: "Dataset | None", base: Path | None, hub: str | None, images: Path | None = None
) -> AllowedImages:
    """What a dataset may name: its own folder, repository and cache, and the folder given by the user."""
    folders = [*filter(None, [images, base])]
    if rows is not None:
        from datasets import config
        from huggingface_hub.constants import HF_HUB_CACHE
        from huggingface_hub.file_download import repo_folder_name

        hub = hub if base is not None or hub is not None else hub_repository(rows)
        folders += dict.fromkeys(Path(file["filename"]).parent for file in getattr(rows, "cache_files", ()))
        folders += [Path(config.DOWNLOADED_DATASETS_PATH), Path(config.EXTRACTED_DATASETS_PATH)]
        if hub is not None and hub.count("/") == 1:
            folders.append(Path(HF_HUB_CACHE, repo_folder_name(repo_id=hub, repo_type="dataset")))
    return AllowedImages(tuple(path for path in folders if path.is_dir()), hub)
