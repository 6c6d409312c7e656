"""Load a dataset's splits with ``load_dataset``; check names, shorten errors, and hide its progress bars."""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.dataset.inventory import PREFERRED
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.io.parquet import check_folder
from hf_vqa_mc.sources.open_ended import open_ended_source

if TYPE_CHECKING:
    from datasets import DatasetDict

BUILT = "a folder that vqa-mc build wrote, or a dataset on the Hub"
"""Expected names of a dataset, for messages."""


def load_splits(dataset: str, config: str | None, expected: str = BUILT) -> tuple[str, "DatasetDict"]:
    """The config's name and its splits; the config is required if several have questions.

    Raises:
        InputError: there is no such dataset or config, or it cannot be read.
        ConnectionError: the Hub cannot be reached.
    """
    from datasets import get_dataset_config_names, load_dataset

    dataset = dataset if Path(dataset).name else str(Path(dataset).resolve())  # load_dataset rejects "."
    if "/" not in dataset and not Path(dataset).is_dir():
        raise InputError(f"{dataset} is not a local folder; expected {expected} (NAMESPACE/NAME)")
    if Path(dataset).is_dir():
        check_folder(Path(dataset))
    with datasets_in_plain_words(dataset, expected), no_bars_of_datasets():
        config = _config(dataset, config, [str(name) for name in get_dataset_config_names(dataset)])
        return config, load_dataset(dataset, config)


def check_has_choices(columns: Collection[str], dataset: str, config: str | None) -> None:
    """Raise InputError if the columns are those of an open-ended config, which has no choices."""
    source = open_ended_source(columns)
    if source is not None:
        raise InputError(
            f"{dataset}: {config or source.name} is an open-ended config: it has answers, but no choices; use a "
            f"multiple-choice config such as {source.name}_{PREFERRED} (vqa-mc build {source.name} --variants "
            f"{PREFERRED} builds it)"
        )


def chosen_split(splits: Collection[str], wanted: str | None, location: str) -> str:
    """The wanted split, by default test, validation, val, dev or the only one; raises InputError if there is none."""
    if wanted is not None:
        if wanted not in splits:
            raise unknown_name(f"split of {location}", wanted, splits)
        return wanted
    for usual in ("test", "validation", "val", "dev"):
        if usual in splits:
            return usual
    if len(splits) > 1:
        raise InputError(f"{location} has the splits {', '.join(splits)}; choose one with --split")
    return next(iter(splits))


@contextlib.contextmanager
def datasets_in_plain_words(dataset: str, expected: str) -> Iterator[None]:
    """Turn errors of ``load_dataset`` into one-line InputErrors and ConnectionErrors."""
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import HFValidationError

    try:
        yield
    except InputError:
        raise
    except ConnectionError as error:
        raise ConnectionError(
            f"{dataset} is not a local folder and cannot be loaded from the Hub: {first_line(error)}"
        ) from error
    except (DatasetsError, FileNotFoundError, HFValidationError, ValueError) as error:
        raise InputError(f"{dataset}: {first_line(error)}; expected {expected}") from error
    except (OSError, MemoryError):
        raise
    except Exception as error:  # of damaged files and cards, such as deeply nested metadata
        raise InputError(f"{dataset}: {first_line(error)}; expected {expected}") from error


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


def _config(dataset: str, wanted: str | None, names: list[str]) -> str:
    known = [name for name in names if not name.endswith("_images")] or names
    if wanted is None:
        if len(known) > 1:
            raise InputError(f"{dataset} has several configs; add one of {', '.join(known)}")
        return known[0]
    if wanted not in names:
        raise unknown_name("config", wanted, known)
    return wanted
