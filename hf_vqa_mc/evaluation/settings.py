"""The settings of ``vqa-mc evaluate`` and ``vqa-mc judge``."""

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions, folder_name
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.methods import INPUTS, METHODS
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, SEED, VECTORS, option, settings

if TYPE_CHECKING:
    from hf_vqa_mc.evaluation.language_model import LanguageModel, Prompt

VERDICTS, RESULTS = "verdicts.csv", "judge.json"
EVALUATIONS = Path("vqa_mc_evaluations")  # the folder of the command's runs, which is created


@settings
class ModelOptions:
    """A model of transformers, behind a server, or any object of Python, and the questions that it is asked."""

    model: "str | Path | LanguageModel | Callable[[Prompt], str | int]" = option(
        "Folder or name on the Hub of a vision-language or language model, or checkpoint of vqa-mc train; with "
        "--base-url the name that the server uses. In Python also a function from a prompt (text, choices, images) "
        "to an answer or the index of a choice, or any object with a method generate, letter, likelihood or scores.",
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
    sample: int | None = option(
        "Ask a random sample of this many questions, with the benchmark's shares of question types.",
        default=None,
        check=AT_LEAST_ONE,
    )

    @property
    def model_options(self) -> dict[str, Any]:
        """The arguments of `open_model` that all models have."""
        names = ("base_url", "device", "batch_size", "concurrency", "max_tokens")
        return {name: getattr(self, name) for name in names}


def default_folder(given: Mapping[str, Any], suffix: str = "") -> Path:
    """The output folder of the command: ``vqa_mc_evaluations/NAME-MODEL``."""
    name = folder_name(given["dataset"], given.get("config"), given.get("split"))
    return EVALUATIONS / (file_name(f"{name}-{str(given['model']).strip('./')}") + suffix)


@settings
class EvaluateSettings(ModelOptions, BenchmarkOptions):
    """Evaluate a model on a multiple-choice benchmark, and again without the image, the question or the choices.

    Each input asks the same questions with the same words, except for what it hides. The model is one of transformers,
    a checkpoint of vqa-mc train, or with --base-url one behind an OpenAI-compatible server (key: OPENAI_API_KEY).
    Every answer is stored as it comes; the same command resumes a run that was stopped.
    """

    word_vectors: str | None = option(
        "File of the word vectors of a checkpoint of vqa-mc train, for words that were not in training.",
        default=None,
        check=VECTORS,
        panel=ADVANCED,
    )
    inputs: tuple[str, ...] = option(
        f"What the model is shown: {', '.join(INPUTS)}.", default=("full", "no-image"), separator=","
    )
    method: str | None = option(
        "How the model answers: letter (the most probable letter), likelihood (the most probable choice), generate "
        "(the choice that the generated text names), or scores (of checkpoints of vqa-mc train). By default generate "
        "with --base-url, scores for checkpoints, else letter; for a Python object the first that it implements.",
        default=None,
    )
    rotations: str = option(
        "Ask each question with this number of orders of its choices: a number, or all.",
        default="1",
        check=("a number of 1 or more, or all", lambda text: text == "all" or (text.isdecimal() and int(text) >= 1)),
        panel=ADVANCED,
    )
    samples: int = option(
        "Number of texts that are generated per prompt, to report how far the answers vary.",
        default=1,
        check=AT_LEAST_ONE,
        panel=ADVANCED,
    )
    temperature: float | None = option(
        "Temperature of generated texts; by default 0, the most probable text, and 1 with several samples.",
        default=None,
        check=("a number of 0 or more", lambda value: 0 <= value < inf),
        panel=ADVANCED,
    )
    seed: int = option(
        "Random seed of the sample, and of the images of other questions.", default=0, check=SEED, panel=ADVANCED
    )
    instruction: str | None = option(
        "Last line of each prompt; by default it asks for the letter of the correct choice.",
        default=None,
        panel=ADVANCED,
    )
    max_tokens: int = option("Maximum number of generated tokens.", default=64, check=AT_LEAST_ONE, panel=ADVANCED)
    output: Path | None = option(
        "Folder for report.html, results.json, rows.parquet and the answers; resumed if it has a run with the same "
        "settings. By default vqa_mc_evaluations/NAME-MODEL for the command.",
        default=None,
        cli_default=default_folder,
    )

    def __post_init__(self) -> None:
        """Check the options."""
        object.__setattr__(self, "rotations", str(self.rotations))
        super().__post_init__()
        if not self.inputs:
            raise InputError(f"--inputs: expected one or more of {', '.join(INPUTS)}")
        for name in self.inputs:
            INPUTS.find(name)
        if self.method is not None:
            METHODS.find(self.method)
        if self.samples > 1 and self.temperature == 0:
            raise InputError("--temperature 0: all samples of a prompt would be the same; expected more than 0")


@settings
class JudgeSettings(ModelOptions, BenchmarkOptions):
    """Ask a model, for each question, which other choices are also correct.

    The model is shown the image if there is one, the question, the choices and the correct one. With --model wordnet,
    choices are flagged that the audit counts as ambiguous. The verdicts are for vqa-mc remedy --reject. Every reply is
    stored as it comes; the same command resumes a run that was stopped.
    """

    model: "str | Path | LanguageModel | Callable[[Prompt], str | int]" = option(
        "wordnet, which needs no model; or a folder or name on the Hub of a language model that generates text; with "
        "--base-url the name that the server uses. In Python also any object with a method generate.",
    )
    labels: Path | None = option(
        "Table of people's verdicts on these rows, such as a study's: reports precision, recall and F1 of the model.",
        default=None,
    )
    max_tokens: int = option("Maximum number of generated tokens.", default=256, check=AT_LEAST_ONE, panel=ADVANCED)
    output: Path | None = option(
        f"Folder for {VERDICTS}, {RESULTS} and the replies; resumed if it has a run with the same settings. By "
        "default vqa_mc_evaluations/NAME-MODEL-judge for the command.",
        default=None,
        cli_default=partial(default_folder, suffix="-judge"),
    )
