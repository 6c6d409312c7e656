"""What is given for a dataset and is none: the folder around one, or files from which one has to be built."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import member_names
from hf_vqa_mc.sources.source import Source


def with_dataset_in(folder: Path) -> list[Path]:
    """The dataset folders in a folder that is none itself; nothing where it is one, or no folder."""
    if not folder.is_dir() or _is_dataset(folder):
        return []
    return [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and _is_dataset(entry)]


def _is_dataset(folder: Path) -> bool:
    """Whether a folder is laid out as ``vqa-mc build`` and the Hub do it: a card, a folder of parquet a config."""
    return (folder / "README.md").is_file() and next(folder.glob("*/*.parquet"), None) is not None


def raw_source(path: Path) -> Source | None:
    """Whose published files these are, of the sources that are not scored against their own files.

    Args:
        path: a file, or a folder with the files in it or one folder below.
    """
    if not path.exists() or _is_dataset(path):
        return None
    names = {f"/{entry}" for entry in (path, *path.glob("*"), *path.glob("*/*"))}
    if path.suffix == ".zip":
        names |= {f"/{name}" for name in _members(path)}
    for source in SOURCES.values():
        offered = {name for remote in source.downloads for name in (remote.name, *remote.holds)}
        if not source.scored_as_published and any(name.endswith(f"/{one}") for name in names for one in offered):
            return source
    return None


def _members(path: Path) -> list[str]:
    try:
        return member_names(path)
    except InputError:
        return []  # no zip, which has its own message
