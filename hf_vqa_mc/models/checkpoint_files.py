"""Where the files of a checkpoint are: in a folder, or on the Hub and then in its cache."""

from pathlib import Path

from hf_vqa_mc.errors import InputError

FILES = (
    "config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    "processor_config.json",
    "words.safetensors",
    "training.json",
)
"""What is read of a checkpoint; no pickle, no code."""


def checkpoint_folder(
    name: str | Path,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
    force_download: bool = False,
) -> Path:
    """The folder with a checkpoint's files.

    Args:
        name: a folder, or a name on the Hub.
        revision: a branch, tag or commit on the Hub; main unless given.
        token: for what is private on the Hub; the one logged in with unless given.
        cache_dir: the Hub's cache; the usual one unless given.
        local_files_only: take what the cache has.
        force_download: though the cache has it.

    Raises:
        InputError: there is no such checkpoint.
        ConnectionError: the Hub cannot be reached, and the checkpoint is not in the cache.
    """
    here = Path(name).expanduser()
    if here.is_dir():
        return here
    if here.is_file():
        raise InputError(f"checkpoint {name} is a file; name the folder that it lies in")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    expected = "expected a folder that vqa-mc train wrote, or a name on the Hub"
    try:
        found = snapshot_download(
            str(name),
            allow_patterns=list(FILES),
            revision=revision,
            token=token,
            cache_dir=cache_dir,
            local_files_only=local_files_only,
            force_download=force_download,
        )
    except LocalEntryNotFoundError as error:
        raise ConnectionError(
            f"checkpoint {name} is no folder here, not in the cache, and the Hub cannot be reached; {expected}"
        ) from error
    except HFValidationError as error:
        raise InputError(f"checkpoint {name} is no folder here and no name on the Hub; {expected}") from error
    except HfHubHTTPError as error:
        raise InputError(f"checkpoint {name}: {first_line(error)}; {expected}") from error
    return Path(found)


def first_line(error: BaseException) -> str:
    """What an error says first."""
    return (str(error) or type(error).__name__).strip().split("\n")[0].rstrip(".")
