"""Options that name a model; shared by all verbs that ask one."""

from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, option, settings

if TYPE_CHECKING:
    from hf_vqa_mc.evaluation.language_model import LanguageModel

EVALUATIONS = Path("vqa_mc_evaluations")
"""The folder of the command's runs, which is created."""


@settings
class ModelOptions:
    """A model of transformers, behind a server, or any object of Python."""

    model: "str | Path | LanguageModel" = option(
        "Folder or name on the Hub of a vision-language or language model, or checkpoint of vqa-mc train; with "
        "--base-url the name that the server uses. In Python also any object with a method generate, letter, "
        "likelihood or scores.",
    )
    base_url: str | None = option(
        "Address of an OpenAI-compatible server, such as http://localhost:8000/v1.", default=None
    )
    device: str | None = option(
        "Device, such as cuda:1 or cpu; auto distributes a model over all GPUs. By default the GPU if there is one.",
        default=None,
        panel=ADVANCED,
    )
    batch_size: int = option("Number of questions per forward pass.", default=8, check=AT_LEAST_ONE, panel=ADVANCED)
    concurrency: int = option(
        "Number of simultaneous requests to a server.", default=16, check=AT_LEAST_ONE, panel=ADVANCED
    )

    def __post_init__(self) -> None:
        """Check the options; a model that is an object has no type to check."""
        model = self.model
        object.__setattr__(self, "model", str(model) if isinstance(model, str | Path) else "object")
        super().__post_init__()  # type: ignore[misc]
        object.__setattr__(self, "model", str(model) if isinstance(model, str | Path) else model)
