"""Load a dataset's splits with ``load_dataset``; check names, shorten errors, and hide its progress bars."""

import contextlib
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.inventory import PREFERRED
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.hub_folder import first_line, is_path, offline_noticed_once
from hf_vqa_mc.io.inside import Inside
from hf_vqa_mc.io.parquet import check_files
from hf_vqa_mc.sources.open_ended import open_ended_source

if TYPE_CHECKING:
    from datasets import Dataset, DatasetBuilder, DatasetDict

BUILT = "a folder that vqa-mc build wrote, or a dataset on the Hub"
"""Expected names of a dataset, for messages."""
FORMS = ("arrow", "cache", "csv", "imagefolder", "json", "parquet", "text", "webdataset")
"""Modules of ``datasets`` that read data files; others, such as hdf5, may follow references to other files."""


def load_splits(dataset: str, config: str | None, expected: str = BUILT) -> tuple[str, "DatasetDict"]:
    """The config's name, required if several have questions, and its splits."""
    names = config_names(dataset, expected)
    known = [name for name in names if not name.endswith("_images")] or names
    if config is None and len(known) > 1:
        raise InputError(f"{dataset} has several configs; add one of {', '.join(known)}")
    config = known[0] if config is None else config
    if config not in names:
        raise unknown_name("config", config, known)
    from datasets import load_dataset_builder
    from datasets.config import HF_DATASETS_CACHE

    dataset, revision = at_revision(dataset)
    with datasets_in_plain_words(dataset, expected), no_bars_of_datasets():
        builder = load_dataset_builder(dataset, config, revision=revision)
        _check_files(dataset, builder)
        if Path(dataset).is_dir():
            files = sorted(file for files in (builder.config.data_files or {}).values() for file in files)
            states = ((file, Path(file).stat()) for file in files)
            state = repr([(file, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for file, one in states])
            cache = Path(HF_DATASETS_CACHE, "local", hashlib.sha256(state.encode()).hexdigest()[:16])
            builder = load_dataset_builder(dataset, config, cache_dir=str(cache))  # another one if a file changes
        builder.download_and_prepare()
        return config, builder.as_dataset()


def config_names(dataset: str, expected: str = BUILT) -> list[str]:
    """The names of a dataset's configs; raises as `load_splits`."""
    check_dataset(dataset, expected)
    dataset, revision = at_revision(dataset)
    if Path(dataset, "audit.json").is_file() and Path(dataset, "report.html").is_file():
        raise InputError(f"{dataset} is the folder of an audit; give the dataset")
    from datasets import get_dataset_config_names

    with datasets_in_plain_words(dataset, expected), no_bars_of_datasets():
        _check_card(dataset, revision)
        return [str(name) for name in get_dataset_config_names(dataset, revision=revision)]


def check_dataset(dataset: str, expected: str = BUILT) -> None:
    """Raise InputError if a name is neither a folder nor one of the Hub."""
    if is_path(dataset) and not Path(dataset).is_dir():
        raise InputError(f"{dataset}: no such file or folder; expected {expected}")
    if "/" not in dataset and not Path(dataset).is_dir():
        raise InputError(f"{dataset} is not a local folder; expected {expected} (NAMESPACE/NAME)")


def at_revision(dataset: str) -> tuple[str, str | None]:
    """A dataset's name for ``datasets``, and its tag, branch or commit on the Hub if one is given.

    >>> at_revision("NAMESPACE/vqa_mc@v1.0"), at_revision("NAMESPACE/vqa_mc")
    (('NAMESPACE/vqa_mc', 'v1.0'), ('NAMESPACE/vqa_mc', None))
    """
    if not Path(dataset).name:
        return str(Path(dataset).resolve()), None  # load_dataset rejects "."
    name, _, revision = ("" if Path(dataset).exists() else dataset).partition("@")
    return (name, revision) if revision else (dataset, None)


def revision_of(splits: "Mapping[Any, Dataset]") -> str | None:
    """The commit from which splits were loaded from the Hub, as the name of their cache folder has it."""
    files = [file["filename"] for rows in splits.values() for file in rows.cache_files]
    names = {Path(file).parent.name for file in files}
    found = names.pop() if len(names) == 1 else ""
    return found if re.fullmatch("[0-9a-f]{40}", found) else None


def _check_card(dataset: str, revision: str | None) -> None:
    """Raise InputError if the card names data files outside of the dataset, which ``datasets`` would read or fetch."""
    import yaml
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.repocard import metadata_load

    for name in ("README.md", ".huggingface.yaml"):
        try:
            file: str | Path = Path(dataset, name)
            if not Path(dataset).is_dir():
                file = hf_hub_download(dataset, name, repo_type="dataset", revision=revision)
            found = (yaml.safe_load(Path(file).read_text("utf-8")) if name[0] == "." else metadata_load(file)) or {}
        except (OSError, HfHubHTTPError):
            continue  # there is none; datasets reports a Hub that cannot be reached
        except yaml.YAMLError as error:
            raise InputError(f"{dataset}, {name}: invalid YAML ({first_line(error)}); correct it") from error
        named = json.dumps([[one.get("data_files"), one.get("data_dir")] for one in found.get("configs") or ()])
        if outside := re.search(r'"([/\\][^"]*|[^"]*(?:://|::|\.\.[/\\]|[/\\]\.\.)[^"]*)"', named):
            raise _outside(f"{dataset}, {name}", outside[1])


def _outside(location: str, file: str) -> InputError:
    return InputError(f"{location}: the data file {file} is outside of the dataset; copy it into the dataset")


def _check_files(dataset: str, builder: "DatasetBuilder") -> None:
    """Raise InputError if a data file, as ``datasets`` found it, is outside of the dataset or of another form."""
    form = type(builder).__module__.rpartition(".")[2]
    if form not in FORMS:
        raise InputError(f"{dataset}: {form} files are not read; convert them to parquet, json lines or csv")
    files = [file for files in (builder.config.data_files or {}).values() for file in files]
    inside, own = Inside(Path(dataset)) if Path(dataset).is_dir() else None, f"hf://datasets/{dataset}".lower()
    for file in files:
        if ("://" in file or inside.path(file) is None) if inside else not file.lower().startswith(own):
            raise _outside(dataset, file)
    if inside:
        images = tuple(getattr(builder, "EXTENSIONS", ()))  # of image folders, which are never unpacked
        check_files(Path(file) for file in files if not file.lower().endswith(images))


class NoChoices(InputError):
    """An open-ended config, where one with choices is expected."""


def check_has_choices(columns: Collection[str], dataset: str, config: str | None) -> None:
    """Raise NoChoices if the columns are those of an open-ended config, which has no choices."""
    found = open_ended_source(columns, config)
    if found is not None:
        source, opened = found
        raise NoChoices(
            f"{dataset}: {config or opened.name} is an open-ended config: it has answers, but no choices; use a "
            f"multiple-choice config such as {source.name}_{PREFERRED} (vqa-mc build {source.name} --variants "
            f"{PREFERRED} builds it)"
        )


def chosen_split(splits: Collection[str], wanted: str | None, location: str) -> str:
    """The wanted split, by default test, validation, val, dev or the only one; raises InputError if there is none."""
    if wanted is not None and wanted not in splits:
        raise unknown_name(f"split of {location}", wanted, splits)
    usual = (name for name in ("test", "validation", "val", "dev") if name in splits)
    found = wanted or next(usual, next(iter(splits)) if len(splits) == 1 else None)
    if found is None:
        raise InputError(f"{location} has the splits {', '.join(splits)}; choose one with --split")
    return found


@contextlib.contextmanager
def datasets_in_plain_words(dataset: str, expected: str) -> Iterator[None]:
    """Turn errors of ``load_dataset`` into one-line InputErrors and ConnectionErrors."""
    try:
        with contextlib.nullcontext() if Path(dataset).is_dir() else offline_noticed_once():
            yield
    except (InputError, MemoryError):
        raise
    except ConnectionError as error:
        message = f"{dataset} is not a local folder and cannot be loaded from the Hub: {first_line(error)}"
        raise ConnectionError(message) from None  # the Hub's answer may repeat the token
    except Exception as error:  # damaged files and cards raise various ones
        if isinstance(error, OSError) and error.errno and not isinstance(error, FileNotFoundError):  # of the disk
            raise
        cause = error if Path(dataset).is_dir() else None  # an answer of the Hub may repeat the token
        raise InputError(f"{dataset}: {first_line(error)}; expected {expected}") from cause


@contextlib.contextmanager
def no_bars_of_datasets() -> Iterator[None]:
    """Disable the progress bars of ``datasets``, which would mix with those of the command."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
