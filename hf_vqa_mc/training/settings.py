"""Settings of a training run; the defaults are the paper's recipe."""

import shlex
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.options import (
    ADVANCED,
    AT_LEAST_ONE,
    FOLDER,
    POSITIVE,
    VECTORS,
    Check,
    check_options,
    default_of,
    flag_of,
    option,
    settings,
)
from hf_vqa_mc.recipe import CHAO, OPEN_ENDED, PAPER_RATE, PAPER_STEPS, Optimizer, QuestionForm, Recipe
from hf_vqa_mc.text.word_changes import WordChanges

RATES: Mapping[Optimizer, float] = {
    "sgd": CHAO.learning_rate,
    "rmsprop": 4e-4,
    "adam": 1e-3,
    "adamax": 2e-3,
    "adadelta": 1.0,
}
"""Learning rates of other optimizers than the model's own: rmsprop's of Lu et al. 2016, the others' of torch."""
FINE_TUNING_RATE = 0.001  # default learning rate with --init-from (Chao et al. 2018, supplement A.4)
DROPS = {"package": (0.7, 0.9), "paper": (1 / 3, 2 / 3)}
"""Recipe to the fractions of the steps after which the rate is divided by 10; 0.7 and 0.9 are ours."""
UNUSED = {
    True: {"recipe"},
    False: {"answers", "targets", "questions", "captions", "first_layers", "candidates"},
}
"""Settings that open-ended models (True) and multiple-choice models (False) do not use."""

EPOCHS: Check = ("more than 0, from a millionth to a million", lambda value: 1e-6 <= value <= 1e6)
_COUNT: Check = ("1 or more, up to a million", lambda value: 1 <= value <= 10**6)
_SHARE: Check = ("0 or more, and less than 1", lambda value: 0 <= value < 1)
_SEED: Check = ("0 or more, and less than 2**63", lambda value: 0 <= value < 2**63)


def defaults() -> dict[str, Any]:
    """The default of each setting that has one."""
    of_each = {one.name: default_of(one) for one in fields(TrainingSettings)}
    return {name: value for name, value in of_each.items() if value is not MISSING}


@settings
class TrainingSettings:
    """Train a model, validate it on schedule, keep the best checkpoint and test it once.

    The same call resumes an interrupted run from its last validation. The recipe of multiple-choice models
    is that of Chao et al. 2018 (supplement, A.4), except for learning rate and epochs, which were tuned on held-out
    training images of COCO-QA; --recipe paper has the paper's. With several processes (torchrun, accelerate
    launch) each computes its share of a batch, and batch normalisation sees that share.
    """

    dataset: str = option(
        "Folder written by vqa-mc build or remedy, dataset on the Hub, or any benchmark that vqa-mc audit reads.",
        kw_only=False,
    )
    config: str = option(
        "Config of a dataset with several, such as cocoqa_iou_qou, to train and test on.", default="", kw_only=False
    )
    output: Path = option("Folder of the run, created or resumed.")
    model: str = option(f"{', '.join(MODELS)}.", default="mlp-iqa")
    features: Path | None = option(
        "Folder of image features written by vqa-mc features, for models with images.", default=None, check=FOLDER
    )
    word_vectors: str | None = option(
        "Word vectors that the decoys were made with: word2vec, GloVe or .kv file, gensim-data name, or corpus "
        "to train vectors on the training questions and targets.",
        default=None,
        check=VECTORS,
    )
    init_from: str | None = option(
        "Checkpoint to initialise the weights from: a folder, or a name on the Hub.", default=None
    )
    model_settings: Mapping[str, Any] = option(
        "Setting of the model, such as hidden_size=1024; may be repeated. The documentation's page \"Models and their "
        'settings" lists them; so does the error for an unknown one.',
        factory=dict,
    )
    answers: int = option(
        "Size of the answer vocabulary of open-ended models: the most frequent training answers.",
        default=1000,
        check=_COUNT,
    )
    targets: Literal["answer", "soft", "annotator"] = option(
        "What open-ended models learn: the answer; soft scores by the number of annotators who agree; or the answer "
        "of an annotator, drawn anew in each epoch.",
        default="answer",
        panel=ADVANCED,
    )
    questions: QuestionForm = option(
        "What open-ended models read as the question: its text, or GQA's functional program (programs).",
        default="text",
        panel=ADVANCED,
    )
    captions: Path | None = option(
        "COCO captions file, for models that read captions; the first caption of each image is used.",
        default=None,
        panel=ADVANCED,
    )
    candidates: Path | None = option(
        "File of vqa-mc generate complementary (.jsonl), for the counter-example model: images that it ranks.",
        default=None,
        panel=ADVANCED,
    )
    first_layers: tuple[str, ...] = option(
        "Checkpoint whose first hidden layer concat-q-i, concat-q-c and concat-q-i-c take; may be repeated.",
        default=(),
        panel=ADVANCED,
    )
    skip_missing: bool = option("Skip and count questions whose images have no features.", default=False)
    recipe: Literal["package", "paper"] = option(
        f"paper: Chao et al.'s (supplement, A.4), a rate of {PAPER_RATE} ({FINE_TUNING_RATE} with --init-from) for "
        f"{PAPER_STEPS:,} or other --steps, divided by 10 after each third; the paper tunes both on validation data.",
        default="package",
    )
    steps: int | None = option("Number of steps, instead of --epochs.", default=None, check=AT_LEAST_ONE)
    epochs: float | None = option(
        f"Passes over the training questions; by default the model's own: {CHAO.epochs:g} of multiple-choice models, "
        f"{OPEN_ENDED.epochs:g} of most others.",
        default=None,
        check=EPOCHS,
    )
    batch_size: int | None = option(
        f"Questions per step, over all processes; by default the model's own: {CHAO.batch_size}, or "
        f"{OPEN_ENDED.batch_size}.",
        default=None,
        check=_COUNT,
    )
    optimizer: Optimizer | None = option(
        f"{', '.join(RATES)}; by default the model's own: {CHAO.optimizer}, or {OPEN_ENDED.optimizer}.",
        default=None,
    )
    learning_rate: float | None = option(
        f"Initial learning rate; by default the model's own, {FINE_TUNING_RATE} with --init-from; with another "
        f"optimizer {', '.join(f'{rate} for {name}' for name, rate in RATES.items())}. Chao et al. train at 0.01 for "
        "up to 600,000 steps.",
        default=None,
        check=("more than 0", POSITIVE[1]),
    )
    held_out: float = option(
        "Fraction of the training images held out for validation if the dataset lacks a validation or test split.",
        default=0.05,
        check=_SHARE,
        panel=ADVANCED,
    )
    seed: int = option("Random seed.", default=0, check=_SEED)
    train_splits: tuple[str, ...] = option(
        "Split to train on; may be repeated, such as for train and validation, before a test server's split (Antol et "
        "al. 2015, Goyal et al. 2017). Images of these splits are held out for validation.",
        default=("train",),
        panel=ADVANCED,
    )
    train_rows: int | None = option(
        "Train on a random sample of this many questions; balanced pairs and closed answer sets are not split.",
        default=None,
        check=AT_LEAST_ONE,
        panel=ADVANCED,
    )
    without_types: tuple[str, ...] = option(
        "Question type to leave out of all splits, such as absurd; may be repeated.", default=(), panel=ADVANCED
    )
    first_words: int | None = option(
        "Cut questions of all splits after this many words.", default=None, check=AT_LEAST_ONE, panel=ADVANCED
    )
    shuffle_words: bool = option(
        "Put the words of each question of all splits in a random order.", default=False, panel=ADVANCED
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.model not in MODELS:  # finding it imports torch
            MODELS.find(self.model)
        if self.steps is not None and self.epochs is not None:
            raise InputError(f"--steps {self.steps}: --epochs {self.epochs:g} is given, too; remove one of them")
        if self.questions != "text" and self.word_changes:
            raise InputError(
                f"--questions {self.questions}: --first-words and --shuffle-words change the text; remove them"
            )

    @property
    def word_changes(self) -> WordChanges:
        """The changes of the questions' words."""
        return WordChanges(self.first_words, self.shuffle_words, self.seed)

    @property
    def effective(self) -> Recipe:
        """The model's recipe, with what these settings change."""
        own: Recipe = MODELS.find(self.model).recipe
        optimizer, rate = self.optimizer or own.optimizer, self.learning_rate
        if rate is None and self.init_from is not None:
            rate = FINE_TUNING_RATE
        if rate is None and self.recipe == "paper":
            rate = PAPER_RATE
        if rate is None:
            rate = own.learning_rate if optimizer == own.optimizer else RATES[optimizer]
        return own._replace(
            optimizer=optimizer,
            learning_rate=rate,
            batch_size=self.batch_size or own.batch_size,
            epochs=self.epochs or own.epochs,
        )

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step, from 0, of a run of ``steps`` steps."""
        return float(self.effective.learning_rate * 0.1 ** sum(step >= part * steps for part in DROPS[self.recipe]))

    def steps_of(self, questions: int) -> int:
        """The number of steps of a run with so many training questions."""
        if self.steps is not None or (self.recipe == "paper" and self.epochs is None):
            return self.steps or PAPER_STEPS
        return max(1, round(self.effective.epochs * questions / self.effective.batch_size))

    def as_json(self) -> dict[str, Any]:
        """All settings as JSON values, with the effective recipe."""
        given = vars(self) | self.effective._asdict()
        if self.steps is not None or self.recipe == "paper":
            given["epochs"] = self.epochs
        return {
            name: list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
            for name, value in given.items()
        }

    def command(self, processes: int = 1) -> str:
        """The command line of this run, without default options."""
        alone, several = ["vqa-mc"], ["torchrun", "--nproc_per_node", str(processes), "-m", "hf_vqa_mc"]
        words = [*(alone if processes == 1 else several), "train", self.dataset, self.config]
        for one in (one for one in fields(self) if one.kw_only and getattr(self, one.name) != default_of(one)):
            value, name = getattr(self, one.name), flag_of(one)
            if isinstance(value, Mapping):
                value = tuple(f"{key}={each}" for key, each in value.items())
            values = value if isinstance(value, tuple) else (value,)
            words += [name] if value is True else [word for each in values for word in (name, str(each))]
        return shlex.join(words)


RECIPE_SETTINGS = {
    "recipe", "steps", "epochs", "batch_size", "optimizer", "learning_rate", "held_out", "seed",
}  # fmt: skip
"""Settings of gradient descent, which models that are fitted in one pass do not use (except the seed)."""
