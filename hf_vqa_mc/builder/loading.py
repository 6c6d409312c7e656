"""What surrounds a call of ``load_dataset``: errors in plain words, and no bars beside ours."""

import contextlib
from collections.abc import Iterator

from hf_vqa_mc.errors import InputError


@contextlib.contextmanager
def datasets_in_plain_words(dataset: str, expected: str) -> Iterator[None]:
    """Says in a line what ``datasets`` could not load, and what was expected instead.

    Raises:
        InputError: there is no such dataset, or it cannot be read.
        ConnectionError: it lies on the Hub, which cannot be reached.
    """
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import HFValidationError

    try:
        yield
    except InputError:
        raise
    except ConnectionError as error:
        raise ConnectionError(f"{dataset} is no folder here, and on the Hub: {_first_line(error)}") from error
    except (DatasetsError, FileNotFoundError, HFValidationError, ValueError) as error:
        raise InputError(f"{dataset}: {_first_line(error)}; expected {expected}") from error


@contextlib.contextmanager
def no_bars_of_datasets() -> Iterator[None]:
    """Our bars on stderr, not two kinds of them at once."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")
