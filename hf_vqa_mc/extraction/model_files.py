"""Models of transformers that read images: their files, revision, image processor and weights."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.hub_folder import first_line, hub_folder

FILES = ["config.json", "preprocessor_config.json", "processor_config.json", "model*.safetensors", "model*.json"]
"""Files read of a model; pickles are never loaded."""
NEEDED = ("config.json", "preprocessor_config.json", "model*.safetensors")
_NOT_LEARNT = ("position_ids", "num_batches_tracked")  # tensors that older checkpoints lack and that need no weights


class ModelFiles:
    """The files of a model, a folder or a name on the Hub; the other arguments are for messages.

    Raises InputError if there is no such model or files are missing, ConnectionError if the Hub cannot be reached.
    """

    def __init__(
        self, option: str, given: str, what: str, built_in: Sequence[str] = (), needed: Sequence[str] = NEEDED
    ) -> None:
        self._called, self._what = f"{option} {given}", what
        local = Path(given).expanduser()
        if local.is_dir():
            self.folder = local.resolve()
            self.name, self.revision = self.folder.name, folder_version(self.folder)
        else:
            near = get_close_matches(given, built_in, n=1, cutoff=0.7)
            known = "".join(f"{one}, " for one in built_in) + "a folder, or a name on the Hub"
            expected = f"did you mean {near[0]}?" if near else f"expected {known}"
            self.folder = hub_folder(option, given, FILES, expected)
            self.name, self.revision = given, self.folder.name  # that of a cached snapshot is its commit
        for file in needed:
            other = file.removeprefix("pre")  # processor_config.json
            if not any(self.folder.glob(file)) and not any(self.folder.glob(other)):
                raise InputError(
                    f"{self._called} has no {file}; expected {what} written by save_pretrained, with its image "
                    "processor and safetensors weights (pickled weights are never loaded)"
                )

    def load(self, model_class: Any, device: torch.device) -> tuple[Any, Any, list[str]]:  # noqa: ANN401  untyped
        """Image processor (PIL's; torchvision's differs by more than rounding), model, names of missing weights."""
        from transformers import AutoImageProcessor

        processors: Any = AutoImageProcessor  # without types
        with quiet():
            processor = processors.from_pretrained(self.folder, backend="pil")
            model, about = model_class.from_pretrained(self.folder, use_safetensors=True, output_loading_info=True)
        missing = [name for name in about["missing_keys"] if not name.endswith(_NOT_LEARNT)]
        return processor, model.eval().requires_grad_(False).to(device), sorted(missing)

    @contextlib.contextmanager
    def as_input_errors(self) -> Iterator[None]:
        """Raise any error of a model's files as an InputError that names the model."""
        try:
            yield
        except InputError as error:
            message = str(error)
            named = message if message.startswith("--") else f"{self._called}: {message}"
            raise InputError(named) from error
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except ImportError as error:  # such as timm, with the line to install it
            raise InputError(f"{self._called}: {' '.join(str(error).split())}") from error
        except Exception as error:
            expected = f"expected {self._what} of transformers"
            raise InputError(
                f"{self._called} cannot be used to encode images: {first_line(error)}; {expected}"
            ) from error


def check_weights(missing: Sequence[str]) -> None:
    """Raise InputError if weights of these names are missing."""
    if missing:
        raise InputError(f"its weights lack {len(missing)} tensors, the first {missing[0]}")


def folder_version(folder: Path, patterns: Sequence[str] = FILES) -> str:
    """Checksum of all files that are read, so that different models never share features or answers."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        with path.open("rb") as file:
            digest.update(f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide transformers' progress bars and warnings about missing weights, which the callers check."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
