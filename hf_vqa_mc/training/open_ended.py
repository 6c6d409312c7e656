"""Training and evaluation of models that answer from a vocabulary of answers."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from hf_vqa_mc.dataset.loading import load_splits
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.model import IMAGE_INPUTS
from hf_vqa_mc.models.question_words import PADDING, QuestionWords
from hf_vqa_mc.schema import QUESTIONS, checked_columns, checked_rows
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.scoring.statistics import standard_error
from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt
from hf_vqa_mc.sources.open_ended import open_ended_source
from hf_vqa_mc.training.questions import IDS, Order, SplitQuestions, Splits, numbers_of
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.task import Batches, Part, Task, by_blocks, shares

if TYPE_CHECKING:
    import pandas as pd
    from accelerate import Accelerator
    from transformers import PreTrainedModel

AT_ONCE = 1024
"""Questions per forward pass."""
NO_ANSWER = -1
"""Answer index of a question whose answer is not in the vocabulary."""


@dataclass(frozen=True, eq=False)
class AnsweredQuestions(SplitQuestions):
    """The questions of a split with their human answers."""

    targets: list[str]
    """the answer: the annotators' most frequent one, or the only one; "" in all rows if it is not published"""
    answers: list[list[str]]
    """of all annotators, else the target"""
    types: list[str] | None
    """question types; None if the dataset has none"""
    choices: list[list[str]] | None = None
    labels: list[int] | None = None
    """index of the target in the choices of multiple-choice rows"""
    metric: str = "accuracy"
    """one of `METRICS`"""

    @property
    def has_answers(self) -> bool:
        """Whether the answers are known; those of some test splits are not published."""
        return any(self.targets)

    def hashed(self) -> Iterator[bytes | memoryview]:
        """The content that a checksum covers, in addition to ids."""
        yield from super().hashed()
        for texts in [self.targets, *self.answers]:
            yield "\n".join(texts).encode("utf-8", "surrogatepass")


def read_answered(dataset: str, config: str) -> Splits[AnsweredQuestions]:
    """Read the questions of a config with one answer, or several, or of multiple-choice rows, whose target it is."""
    _, loaded = load_splits(dataset, config)
    number_of: dict[str, int] = {}
    splits = {
        str(split): _answered(rows, f"{dataset}, {config}, {split}", number_of) for split, rows in loaded.items()
    }
    return Splits(list(number_of), splits)


def _answered(
    rows: Any,  # noqa: ANN401  a Dataset
    location: str,
    number_of: dict[str, int],
) -> AnsweredQuestions:
    names = rows.column_names
    if "answer" not in names and "choices" not in names:
        raise InputError(f"{location}: no column 'answer', and no choices; columns: {names}")
    checked, columns = (checked_columns, {"answer": "text"}) if "answer" in names else (checked_rows, QUESTIONS)
    wanted = {**IDS, "question": "text", **columns}
    table = checked(
        rows.with_format("arrow").select_columns([*filter(names.__contains__, wanted)])[:], location, wanted
    )
    ids, images = (pc.cast(table[name], pa.string()).to_pylist() for name in IDS)
    choices = table["choices"].to_pylist() if "choices" in wanted else None
    labels = table["label"].to_pylist() if "choices" in wanted else None
    if choices is None or labels is None:
        targets = table["answer"].to_pylist()
    else:
        targets = [texts[label] for texts, label in zip(choices, labels, strict=True)]
    if any(targets) and "" in targets:
        raise InputError(f"{location}, row {targets.index('')}: the answer is empty; expected text")
    other = rows.select_columns([name for name in ("answers", "question_type") if name in names]).with_format("arrow")
    more = other[:] if other.column_names else pa.table({})
    listed = more["answers"].to_pylist() if "answers" in more.column_names else [[]] * len(targets)
    answers = [[_text(one) for one in found] or [target] for found, target in zip(listed, targets, strict=True)]
    types = more["question_type"].to_pylist() if "question_type" in more.column_names else []
    return AnsweredQuestions(
        location,
        ids,
        images,
        numbers_of(table["question"], number_of),
        targets,
        answers,
        types if any(types) else None,
        choices,
        labels,
        metric_of(names, answers),
    )


def _text(answer: str | Mapping[str, str]) -> str:
    """The text of an answer, which is a record with ``answer`` in some configs."""
    return answer if isinstance(answer, str) else answer["answer"]


def most_frequent_answers(targets: Sequence[str], size: int) -> list[str]:
    """The answer vocabulary: the ``size`` most frequent targets, ties by text; all if there are fewer.

    Antol et al. 2015 (section 5.1) take 1,000, which are 82.67% of the answers.
    """
    counts = Counter(targets)
    return sorted(counts, key=lambda text: (-counts[text], text))[:size]


def coverage(vocabulary: Collection[str], train: AnsweredQuestions) -> dict[str, float]:
    """The fractions of the training questions, and of all their human answers, whose answer is in the vocabulary."""
    known = set(vocabulary)
    answers = [text in known for texts in train.answers for text in texts]
    return {
        "questions": float(np.mean([target in known for target in train.targets])),
        "human_answers": float(np.mean(answers)),
    }


class AnswerInputs:
    """Converts questions to a model's tensors; the words of all texts are looked up once."""

    def __init__(
        self, texts: list[str], words: QuestionWords, needed: Collection[str], images: ImageFeatures | None
    ) -> None:
        self._images, self._needed = images, frozenset(needed)
        self._indices = words.indices(texts) if "question_indices" in needed else None
        self._lengths = None if self._indices is None else (self._indices != PADDING).sum(1)
        self._bags = words.bags(texts) if "question_bags" in needed else None

    def tensors(self, questions: AnsweredQuestions, rows: NDArray[np.int64]) -> dict[str, Tensor]:
        """The tensors of the questions at ``rows``."""
        found = {}
        texts = questions.texts[rows]
        if self._indices is not None and self._lengths is not None:
            found["question_indices"] = torch.from_numpy(self._indices[texts, : self._lengths[texts].max()])
        if self._bags is not None:
            found["question_bags"] = torch.from_numpy(self._bags[texts].toarray())
        if self._images is not None:
            (name,) = self._needed.intersection(IMAGE_INPUTS)
            found[name] = torch.from_numpy(self._images.take([questions.image_ids[row] for row in rows]))
        return found


@dataclass(frozen=True, eq=False)
class Answered:
    """A model's answers to the questions of a split."""

    questions: AnsweredQuestions
    vocabulary: Sequence[str]
    best: NDArray[np.int64]
    """(questions,): index of the answer with the highest score"""
    picked: NDArray[np.int64] | None
    """(questions,): index of the choice with the highest score, the first if none is in the vocabulary"""

    @property
    def score(self) -> float:
        """See `Evaluation`."""
        return METRICS[self.questions.metric](self)[0]

    def results(self) -> dict[str, Any]:
        """See `Evaluation`; also the fraction of questions whose answer is in the vocabulary."""
        given = self.questions
        if not given.has_answers:
            return {"questions": len(given)}
        score, figures = METRICS[given.metric](self)
        known = set(self.vocabulary)
        found = {"metric": given.metric, "accuracy": score, **figures, "questions": len(given)}
        found["answerable"] = float(np.mean([target in known for target in given.targets]))
        if given.choices is not None and given.labels is not None and self.picked is not None:
            picking = mc_accuracy(self.picked.tolist(), given.labels, choices=given.choices, image_ids=given.image_ids)
            found["multiple_choice"] = {name: picking[name] for name in ("accuracy", "stderr", "chance")}
        return found

    def to_pandas(self) -> "pd.DataFrame":
        """See `Evaluation`: question_id, answer and target; of multiple-choice rows also label (the picked choice)."""
        import pandas as pd

        given = self.questions
        columns = {"question_id": given.question_ids, "answer": self.texts(), "target": given.targets}
        return pd.DataFrame(columns if self.picked is None else columns | {"label": self.picked})

    def texts(self) -> list[str]:
        """The answer to each question."""
        return [self.vocabulary[index] for index in self.best.tolist()]

    def write(self, path: Path, overwrite: bool = True) -> None:
        """See `Evaluation`; of multiple-choice rows the indices of the best choices."""
        ids = self.questions.question_ids
        if self.picked is not None:
            rows: list[dict[str, Any]] = [
                {"question_id": name, "label": label} for name, label in zip(ids, self.picked.tolist(), strict=True)
            ]
        else:
            rows = [{"question_id": name, "answer": text} for name, text in zip(ids, self.texts(), strict=True)]
        write_json(path, rows, None, overwrite)


Measured = tuple[float, Mapping[str, Any]]
"""The score, and other figures."""


def _accuracy(found: Answered) -> Measured:
    given = found.questions
    correct = np.array([text == target for text, target in zip(found.texts(), given.targets, strict=True)], np.float64)
    return float(correct.mean()), {"stderr": standard_error(correct, given.image_ids)}


def _consensus(found: Answered) -> Measured:
    given = found.questions
    scored = vqa_accuracy(
        found.texts(), given.answers, question_types=given.types, image_ids=given.image_ids, per_question=False
    )
    return scored["accuracy"], {"stderr": scored["stderr"]}


def _mean_per_type(found: Answered) -> Measured:
    given = found.questions
    scored = tdiuc_mpt(found.texts(), given.targets, given.types or [""] * len(given))
    figures = {"plain_accuracy": scored["accuracy"], "harmonic_mpt": scored["harmonic_mpt"]}
    return scored["arithmetic_mpt"], {**figures, "per_question_type": scored["per_type"]}


METRICS: Mapping[str, Callable[[Answered], Measured]] = {
    "accuracy": _accuracy,
    "consensus accuracy": _consensus,
    "arithmetic mean per type": _mean_per_type,
}
"""A dataset's own metric; the best checkpoint has the highest score."""


def metric_of(columns: Collection[str], answers: Sequence[Sequence[str]]) -> str:
    """The metric of a dataset's rows, one of `METRICS`."""
    if max(map(len, answers)) > 1:
        return "consensus accuracy"
    found = open_ended_source(columns)
    return "arithmetic mean per type" if found is not None and found[1].scored_as == "tdiuc" else "accuracy"


class OpenEnded(Task[AnsweredQuestions]):
    """Answering from a vocabulary."""

    def __init__(self, inputs: AnswerInputs, vocabulary: Sequence[str]) -> None:
        self._inputs, self._vocabulary = inputs, list(vocabulary)
        self._index = {text: number for number, text in enumerate(vocabulary)}

    def batches(self, train: AnsweredQuestions, settings: TrainingSettings) -> Batches:
        """See `Task`."""
        order = Order(len(train), settings.batch_size, settings.seed)
        labels = _Labels(train, self._index, settings.targets)

        def parts_of(number: int, process: int, processes: int) -> list[Part]:
            rows = order.rows(number)
            of_step = labels.of(rows, order.rng(number))
            return [
                Part(self._inputs.tensors(train, rows[share]) | {"labels": of_step[share]}, len(share) / len(rows))
                for share in shares(len(rows), process, processes, settings.accumulate)
            ]

        return parts_of

    @torch.no_grad()
    def evaluate(
        self,
        model: "PreTrainedModel",
        questions: AnsweredQuestions,
        accelerator: "Accelerator",
        progress: Progress = silent,
    ) -> Answered:
        """See `Task`."""
        model.train(False)
        of_choices = self._of_choices(questions)

        def answered(block: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            rows = np.arange(block.start, block.stop)
            tensors = self._inputs.tensors(questions, rows)
            logits = model(**{name: tensor.to(accelerator.device) for name, tensor in tensors.items()}).logits
            if not logits.isfinite().all():
                raise InputError(
                    f"{questions.location}: the model's scores are not all finite; check its weights and the image "
                    "features"
                )
            picked = np.empty(0, np.int64)
            if of_choices is not None:
                scores = logits.float().cpu().numpy()
                known = np.take_along_axis(scores, of_choices[rows].clip(0), 1)
                picked = np.where(of_choices[rows] == NO_ANSWER, -np.inf, known).argmax(1)
            return logits.argmax(1).cpu().numpy(), picked

        found = by_blocks(len(questions), AT_ONCE, answered, accelerator, progress)
        best, picked = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Answered(questions, self._vocabulary, best, None if of_choices is None else picked)

    def _of_choices(self, questions: AnsweredQuestions) -> NDArray[np.int64] | None:
        """(questions, choices): answer index of each choice, padded with NO_ANSWER; None without choices."""
        if questions.choices is None:
            return None
        found = np.full((len(questions), max(map(len, questions.choices))), NO_ANSWER, np.int64)
        for row, texts in enumerate(questions.choices):
            found[row, : len(texts)] = [self._index.get(text, NO_ANSWER) for text in texts]
        return found


class _Labels:
    """The labels of training questions: indices of answers, or scores of all answers."""

    def __init__(self, train: AnsweredQuestions, index: Mapping[str, int], targets: str) -> None:
        self._targets, self._size = targets, len(index)
        self._index = np.array([index[text] for text in train.targets], np.int64)
        self._known = [
            [index[text] for text in texts if text in index] or [index[target]]
            for texts, target in zip(train.answers, train.targets, strict=True)
        ]
        self._annotators = [len(texts) for texts in train.answers]

    def of(self, rows: NDArray[np.int64], rng: np.random.Generator) -> Tensor:
        """The labels of some questions."""
        if self._targets == "answer":
            return torch.from_numpy(self._index[rows])
        known = [self._known[row] for row in rows.tolist()]
        if self._targets == "annotator":  # the target is always among the known answers
            drawn = [of_row[int(at * len(of_row))] for of_row, at in zip(known, rng.random(len(rows)), strict=True)]
            return torch.tensor(drawn)
        scores = np.zeros((len(rows), self._size), np.float32)
        for at, (row, of_row) in enumerate(zip(rows.tolist(), known, strict=True)):
            answers, counts = np.unique(of_row, return_counts=True)
            scores[at, answers] = soft_scores(counts, self._annotators[row])
        return torch.from_numpy(scores)


def soft_scores(counts: NDArray[np.int64], annotators: int) -> NDArray[np.float64]:
    """The consensus accuracy of answers that so many annotators gave: of ten, 0.3, 0.6, 0.9, 1.0 from four on.

    As VQA's program does, the mean over the annotators of min(1, matches among the others / 3); 1 for one annotator.
    """
    if annotators == 1:
        return np.ones(len(counts))
    of_those = counts * np.minimum((counts - 1) / 3, 1.0)
    of_others = (annotators - counts) * np.minimum(counts / 3, 1.0)
    found: NDArray[np.float64] = (of_those + of_others) / annotators
    return found
