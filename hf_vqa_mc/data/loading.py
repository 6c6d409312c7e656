"""Open a benchmark's splits as tables from a file, a folder, the Hub or memory; errors of ``datasets`` shortened."""

import contextlib
import hashlib
import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hf_vqa_mc.data.files import EXPECTED, delimiter, file_form, frame_table, read_file, split_of, splits_of
from hf_vqa_mc.data.inventory import PREFERRED
from hf_vqa_mc.errors import InputError, listed, unknown_name
from hf_vqa_mc.io.hub_folder import first_line, is_path, offline_noticed_once
from hf_vqa_mc.io.inside import Inside
from hf_vqa_mc.sources.open_ended import open_ended_source

if TYPE_CHECKING:
    from datasets import Dataset, DatasetBuilder, DatasetDict

BUILT = "a folder that vqa-mc build wrote, or a dataset on the Hub"  # expected names of a dataset, for messages
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
    import pandas as pd
    from datasets import Features, Value, load_dataset_builder
    from datasets.config import HF_DATASETS_CACHE

    dataset, revision = at_revision(dataset)
    with _loading(dataset, expected):
        builder = load_dataset_builder(dataset, config, revision=revision)
        _check_files(dataset, builder)
        files = sorted(itertools.chain.from_iterable((builder.config.data_files or {}).values()))
        as_text: dict[str, Any] = {}  # as `read_file` reads them
        if type(builder).__module__.endswith(".csv") and not builder.info.features:
            is_local = Path(dataset).is_dir()
            separator = delimiter(Path(files[0])) if is_local else builder.config.sep
            names = pd.read_csv(files[0], sep=separator, nrows=0).columns
            features = Features({name: Value("string") for name in names})
            as_text = {"sep": separator, "keep_default_na": False, "features": features}
        if Path(dataset).is_dir():
            states = ((file, Path(file).stat()) for file in files)
            state = repr([(file, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for file, one in states])
            cache = Path(HF_DATASETS_CACHE, "local", hashlib.sha256(state.encode()).hexdigest()[:16])
            as_text["cache_dir"] = str(cache)  # another one if a file changes
        if as_text:
            builder = load_dataset_builder(dataset, config, revision=revision, **as_text)
        builder.download_and_prepare()
        return config, builder.as_dataset()


def config_names(dataset: str, expected: str = BUILT) -> list[str]:
    """The names of a dataset's configs; raises as `load_splits`."""
    check_dataset(dataset, expected)
    dataset, revision = at_revision(dataset)
    if Path(dataset, "audit.json").is_file() and Path(dataset, "report.html").is_file():
        raise InputError(f"{dataset} is the folder of an audit; give the dataset")
    from datasets import get_dataset_config_names

    with _loading(dataset, expected):
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
    inside, own = Inside(Path(dataset)) if Path(dataset).is_dir() else None, f"hf://datasets/{dataset}".lower()
    for file in itertools.chain.from_iterable((builder.config.data_files or {}).values()):
        if ("://" in file or inside.path(file) is None) if inside else not file.lower().startswith(own):
            raise _outside(dataset, file)


@contextlib.contextmanager
def _loading(dataset: str, expected: str) -> Iterator[None]:
    """Turn errors of ``datasets`` into one-line InputErrors and ConnectionErrors, and hide its progress bars."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    is_folder = Path(dataset).is_dir()
    with contextlib.ExitStack() as stack:
        if not is_folder:
            stack.enter_context(offline_noticed_once())
        if not are_progress_bars_disabled():
            disable_progress_bars()
            stack.callback(enable_progress_bars)
        try:
            yield
        except (InputError, MemoryError):
            raise
        except ConnectionError as error:
            message = f"{dataset} is not a local folder and cannot be loaded from the Hub: {first_line(error)}"
            raise ConnectionError(message) from None  # the Hub's answer may repeat the token
        except Exception as error:  # damaged files and cards raise various ones
            if isinstance(error, OSError) and error.errno and not isinstance(error, FileNotFoundError):  # of the disk
                raise
            files = sorted(one.name for one in Path(dataset).iterdir() if file_form(one)) if is_folder else []
            alone = f", or one of its files alone: {listed(files)}" if files else ""
            raise InputError(f"{dataset}: {first_line(error)}; expected {expected}{alone}") from (
                error if is_folder else None
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


@dataclass(frozen=True)
class Opened:
    """All splits as raw tables, with all columns, and their locations for messages."""

    name: str  # name given by the user; for an object in memory its own name
    config: str | None
    tables: dict[str, pa.Table]
    locations: dict[str, str]
    path: Path | None = None  # the file or folder; None on the Hub or in memory
    splits: "Mapping[str, Dataset]" = field(default_factory=dict)  # empty for a file or a data frame
    location: str | None = None  # argument of load_dataset; None for files and objects in memory
    revision: str | None = None  # commit of a dataset on the Hub
    folders: tuple[Path, ...] = ()  # where else its images may be

    @property
    def first(self) -> "Dataset | None":
        """The first split; None for a file or a data frame."""
        return next(iter(self.splits.values()), None)


def open_tables(dataset: object, config: str | None, *, open_ended: bool = False, expected: str = EXPECTED) -> Opened:
    """Open a file, folder, Hub dataset, `datasets.Dataset`, DatasetDict, data frame, records or remedy's result."""
    if not isinstance(dataset, str | Path):
        return _in_memory(dataset, config, open_ended)
    path, dataset = Path(dataset), str(dataset)
    if path.is_file():
        if config is not None:
            raise InputError(f"{dataset} is a file, which has no configs; remove {config!r}")
        return Opened(dataset, None, *splits_of(read_file(path), dataset, split_of(path.name)), path.absolute())
    config, splits = load_splits(dataset, config, expected)
    folder = path.absolute() if path.is_dir() else None
    if folder and {name for rows in splits.values() for name in rows.column_names} <= {"image", "label"}:
        for file in sorted(one for one in folder.iterdir() if file_form(one)):
            raise InputError(f"{dataset} was read as a folder of images without questions; give {path / file.name}")
    opened = _opened(dataset, config, f"{dataset}, {config}", splits, open_ended)
    commits = {Path(file["filename"]).parent.name for rows in splits.values() for file in rows.cache_files}
    is_commit = not folder and len(commits) == 1 and re.fullmatch("[0-9a-f]{40}", min(commits))
    return replace(opened, path=folder, location=dataset, revision=min(commits) if is_commit else None)


def _in_memory(dataset: object, config: str | None, open_ended: bool) -> Opened:
    import pandas as pd
    from datasets import Dataset

    if config is not None:
        raise InputError(f"a dataset in memory has no configs; remove {config!r}")
    made = None if isinstance(dataset, pd.DataFrame) else getattr(dataset, "remedied", None)
    if made is not None:  # the result of a remedy
        opened = _opened(made.dataset, made.config, made.dataset, made.to_datasets(), open_ended)
        location = made.dataset if made.revision or (made.path and made.path.is_dir()) else None
        return replace(opened, path=made.path, location=location, folders=made.allowed.folders)
    folders, what = tuple[Path, ...](), "the data frame"
    if isinstance(dataset, list) and all(isinstance(row, Mapping) for row in dataset):  # the caller names its images
        dataset, folders = pd.DataFrame(dataset, dtype=object), (Path.cwd(), Path(Path.cwd().anchor))
        what = "the records"
    if isinstance(dataset, pd.DataFrame):
        return Opened("dataset", None, *splits_of(frame_table(dataset), what, "test"), folders=folders)
    if not isinstance(dataset, Mapping):  # "train" for "train[:100]"; "test" if unnamed
        split = re.split(r"\W", str(getattr(dataset, "split", None) or "test"))[0]
        dataset = {split or "test": dataset}
    if dataset and all(isinstance(rows, pd.DataFrame) for rows in dataset.values()):
        tables = {str(name): frame_table(frame) for name, frame in dataset.items()}
        return Opened("dataset", None, tables, {name: f"the data frame, {name}" for name in tables})
    for rows in dataset.values():
        if not isinstance(rows, Dataset):
            kind = type(rows).__name__
            raise InputError(f"found a {kind}; expected a Dataset, a DatasetDict, a data frame, records, {EXPECTED}")
    if not dataset:
        raise InputError("the DatasetDict has no splits")
    info = next(iter(dataset.values())).info
    name, config = info.dataset_name or "dataset", info.config_name
    return _opened(name, None if config == "default" else config, name, dataset, open_ended)


def _opened(name: str, config: str | None, prefix: str, found: Mapping[Any, Any], open_ended: bool) -> Opened:
    tables, splits = {}, {str(split): rows for split, rows in found.items()}
    for split, rows in splits.items():
        if not open_ended:
            check_has_choices(rows.column_names, name, config)
        table = rows.data.table if rows._indices is None else rows.with_format("arrow")[:]  # images undecoded
        tables[split] = table.replace_schema_metadata(rows.features.arrow_schema.metadata)
    return Opened(name, config, tables, {split: f"{prefix}, {split}" for split in tables}, splits=splits)
