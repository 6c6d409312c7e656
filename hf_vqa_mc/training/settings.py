"""What a training run is told, with the paper's recipe as defaults: options of ``vqa-mc train``, keys of its file."""

import math
import shlex
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from hf_vqa_mc.errors import InputError, shown, unknown_name

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp-a": ("MlpVqaConfig", {"inputs": ["answer"]}),
    "mlp-ia": ("MlpVqaConfig", {"inputs": ["image", "answer"]}),
    "mlp-qa": ("MlpVqaConfig", {"inputs": ["question", "answer"]}),
    "mlp-iqa": ("MlpVqaConfig", {"inputs": ["image", "question", "answer"]}),
    "attention": ("SpatialAttentionVqaConfig", {}),
    "hiecoatt": ("HieCoAttentionVqaConfig", {}),
}
"""Name to configuration class and what it is given: the models of Chao et al. 2018 (sections 5.2 and 6.1)."""
RATES = {"sgd": 0.1, "rmsprop": 4e-4, "adam": 1e-3}
"""Optimizer to the learning rate that it begins with by default: sgd's chosen on COCO-QA's held-out images, rmsprop's
Lu et al. 2016's, adam's torch's."""
PRECISIONS = ("no", "bf16", "fp16")
FINE_TUNING_RATE = 0.001
"""Where training goes on from another checkpoint (Chao et al. 2018, supplement A.4)."""


RECIPE, RUNNING = "Recipe", "Running"


def _told(text: str, panel: str = "") -> dict[str, str]:
    """Of a setting: its help, and the group of options that it is shown in."""
    return {"help": text, "panel": panel}


_POSITIVE = ("more than 0", lambda value: 0 < value < math.inf)
_EPOCHS = ("more than 0, from a millionth to a million", lambda value: 1e-6 <= value <= 1e6)
_COUNT = ("1 or more, up to a million", lambda value: 1 <= value <= 10**6)
_PART = ("0 or more, and less than 1", lambda value: 0 <= value < 1)
_ALLOWED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "epochs": _EPOCHS,
    "evaluate_every": _EPOCHS,
    "learning_rate": _POSITIVE,
    "batch_size": _COUNT,
    "decoys": _COUNT,
    "patience": _COUNT,
    "accumulate": _COUNT,
    "momentum": _PART,
    "held_out": _PART,
    "seed": ("0 or more, and less than 2**63", lambda value: 0 <= value < 2**63),
    "weight_decay": ("0 or more", lambda value: 0 <= value < math.inf),
}


@dataclass(frozen=True)
class TrainingSettings:
    """A training run.

    The numbers are Chao et al. 2018's (supplement, A.4) but for the rate and the epochs, which the paper chose on
    validation and does not tell; ours were chosen on COCO-QA's held-out training images.

    Raises:
        InputError: one of them cannot be; names it as the option.
    """

    dataset: str = field(metadata=_told("A folder of vqa-mc build, or a dataset on the Hub."))
    config: str = field(metadata=_told("Such as cocoqa_iou_qou; trained and tested on the same kind of decoys."))
    output: Path = field(metadata=_told("Folder of the run, made or gone on with."))
    model: str = field(default="mlp-iqa", metadata=_told(f"{', '.join(MODELS)}."))
    features: Path | None = field(
        default=None, metadata=_told("Folder of image features that vqa-mc features made, for models that see images.")
    )
    word_vectors: str | None = field(
        default=None,
        metadata=_told(
            "The word2vec, GloVe or .kv file that the decoys were made with, a gensim-data name, or corpus, which are "
            "trained on the training questions and targets."
        ),
    )
    init_from: str | None = field(
        default=None, metadata=_told("Go on from this checkpoint's weights: a folder, or a name on the Hub.")
    )
    model_settings: Mapping[str, Any] = field(
        default_factory=dict, metadata=_told("Of the model, such as hidden_size=1024; may be repeated.")
    )
    skip_missing: bool = field(
        default=False,
        metadata=_told("Leave questions out whose images vqa-mc features skipped, in all splits, and count them."),
    )
    epochs: float = field(default=40.0, metadata=_told("Passes over the training questions.", RECIPE))
    batch_size: int = field(default=100, metadata=_told("Questions a step, over all processes.", RECIPE))
    decoys: int = field(
        default=3, metadata=_told("Drawn for each question of a step, all of one kind (orig, iou, qou).", RECIPE)
    )
    optimizer: str = field(default="sgd", metadata=_told(f"{', '.join(RATES)}.", RECIPE))
    learning_rate: float | None = field(
        default=None,
        metadata=_told(
            f"By default {', '.join(f'{rate} for {name}' for name, rate in RATES.items())}; {FINE_TUNING_RATE} with "
            "--init-from. The paper trains at 0.01, for up to 600,000 steps.",
            RECIPE,
        ),
    )
    drop_at: tuple[float, ...] = field(
        default=(0.7, 0.9),
        metadata=_told("After this part of the steps the rate is divided by 10; may be repeated; 1: never.", RECIPE),
    )
    momentum: float = field(default=0.9, metadata=_told("Of sgd.", RECIPE))
    weight_decay: float = field(default=0.0, metadata=_told("Per step and unit of rate.", RECIPE))
    centre: bool = field(
        default=False, metadata=_told("Subtract the vocabulary's mean from the word vectors.", RECIPE)
    )
    held_out: float = field(
        default=0.05,
        metadata=_told(
            "Part of the training images, chosen by hash, to validate on where not both other splits are there.",
            RECIPE,
        ),
    )
    evaluate_every: float = field(
        default=1.0, metadata=_told("Epochs from one validation, and checkpoint, to the next.", RECIPE)
    )
    patience: int | None = field(
        default=None, metadata=_told("Stop after so many validations without a better one.", RECIPE)
    )
    seed: int = field(default=0, metadata=_told("Of every random choice.", RECIPE))
    accumulate: int = field(
        default=1, metadata=_told("Parts of a step's batch that are computed one after the other.", RUNNING)
    )
    mixed_precision: str = field(
        default="no", metadata=_told(f"{', '.join(PRECISIONS)}; bf16 and fp16 are for GPUs.", RUNNING)
    )
    track: tuple[str, ...] = field(
        default=(), metadata=_told("A tracker of accelerate, such as tensorboard; may be repeated.", RUNNING)
    )

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise unknown_name("model", self.model, MODELS)
        for name, known in (("optimizer", RATES), ("mixed_precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        for name, (expected, allowed) in _ALLOWED.items():
            value = getattr(self, name)
            if value is not None and not allowed(value):
                raise InputError(f"{option(name)} {value}: expected {expected}")
        if self.accumulate > self.batch_size:
            raise InputError(f"--accumulate {self.accumulate}: more parts than the {self.batch_size} questions a step")
        drops = self.drop_at
        if not drops or any(not 0 < part <= 1 for part in drops) or list(drops) != sorted(set(drops)):
            raise InputError(
                f"{option('drop_at')} {' '.join(map(str, drops))}: expected rising parts from 0 to 1; 1 is never"
            )

    @property
    def rate(self) -> float:
        """The learning rate that training begins with."""
        if self.learning_rate is not None:
            return self.learning_rate
        return RATES[self.optimizer] if self.init_from is None else FINE_TUNING_RATE

    def as_json(self) -> dict[str, Any]:
        """All of them, as json and yaml have them; the rate as it is used."""
        told = asdict(self) | {"learning_rate": self.rate, "output": str(self.output)}
        told["features"] = None if self.features is None else str(self.features)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    def command(self, processes: int = 1) -> str:
        """The command that such a run is started with: what is not as by default."""
        alone, several = ["vqa-mc"], ["torchrun", "--nproc_per_node", str(processes), "-m", "hf_vqa_mc"]
        words = [*(alone if processes == 1 else several), "train", self.dataset, self.config]
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("dataset", "config") or value == default_of(one):
                continue
            name = option(one.name)
            if isinstance(value, bool):
                words.append(name)
            elif isinstance(value, Mapping):
                words += [word for key, each in value.items() for word in (name, f"{key}={each}")]
            elif isinstance(value, tuple):
                words += [word for each in value for word in (name, str(each))]
            else:
                words += [name, str(value)]
        return shlex.join(words)


def option(name: str) -> str:
    """What a setting is called on the command line.

    >>> option("drop_at")
    '--drop-at'
    """
    return f"--{name.replace('_', '-')}"


def default_of(one: "Field[Any]") -> Any:  # noqa: ANN401  a field is anything
    """A setting's default; MISSING for those that have to be given."""
    return one.default if one.default_factory is MISSING else one.default_factory()


def read_settings(file: Path | None, given: Mapping[str, Any]) -> TrainingSettings:
    """The settings of a run: those given, then the file's, then the defaults.

    Args:
        file: yaml, a mapping of settings.
        given: settings by name; None where one is not given.

    Raises:
        InputError: the file is none, holds something else, or a setting is missing or cannot be.
    """
    told = {**(_read_yaml(file) if file else {}), **{name: one for name, one in given.items() if one is not None}}
    needed = {"dataset": "DATASET", "config": "CONFIG", "output": "--output DIR"}
    missing = [shown for name, shown in needed.items() if name not in told]
    if missing:
        raise InputError(f"{', '.join(missing)} not given: name {'it' if len(missing) == 1 else 'them'}")
    return TrainingSettings(**told)


def _read_yaml(file: Path) -> dict[str, Any]:
    import yaml

    try:
        told = yaml.safe_load(file.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"--config {file}: no such file") from None
    except (OSError, UnicodeDecodeError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"--config {file}: no yaml: {' '.join(str(error).split())}") from error
    if not isinstance(told, dict):
        raise InputError(f"--config {file}: expected settings, such as 'model: mlp-qa'; found {shown(told)}")
    known = {one.name: one for one in fields(TrainingSettings)}
    for name in told:
        if name not in known:
            raise InputError(f"--config {file}: {unknown_name('setting', str(name), known)}")
    return {name: _as_typed(known[name], value, file) for name, value in told.items()}


def _as_typed(one: "Field[Any]", value: object, file: Path) -> Any:  # noqa: ANN401  a field is anything
    """A value from yaml as the field has it."""
    kinds = get_args(one.type) if get_origin(one.type) in (Union, types.UnionType) else (one.type,)
    if value is None and type(None) in kinds:
        return None
    kind = next(each for each in kinds if each is not type(None))
    wrong = InputError(f"--config {file}: {one.name} is {shown(value)}; expected {_name_of(kind)}")
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise wrong
        return tuple(_plain(get_args(kind)[0], each, wrong) for each in value)
    if get_origin(kind) is Mapping:
        if not isinstance(value, dict):
            raise wrong
        return {str(key): each for key, each in value.items()}
    return _plain(kind, value, wrong)


def _plain(kind: type, value: object, wrong: InputError) -> Any:  # noqa: ANN401  a field is anything
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)  # yaml takes 1e-3 for text
        except ValueError:
            raise wrong from None
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise wrong


def _name_of(kind: Any) -> str:  # noqa: ANN401  a type
    names = {int: "a whole number", float: "a number", str: "text", Path: "a path", bool: "true or false"}
    return names.get(kind, "a list" if get_origin(kind) is tuple else "names and values")
