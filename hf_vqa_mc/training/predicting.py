"""Predictions of a model; blocks of questions are distributed over processes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hf_vqa_mc.data.loading import chosen_split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS
from hf_vqa_mc.io.outputs import check_output_file, check_output_files
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import answers_of, model_of
from hf_vqa_mc.recipe import QuestionForm
from hf_vqa_mc.result import Frame, Result
from hf_vqa_mc.text.word_changes import WordChanges
from hf_vqa_mc.training.inputs import ModelInputs, check_same_features, with_word_vectors
from hf_vqa_mc.training.predictions import Predictions
from hf_vqa_mc.training.questions import ACCURACY, read_questions
from hf_vqa_mc.training.run_folder import best_of_the_choices, picking_the_target
from hf_vqa_mc.training.run_inputs import with_changed_words
from hf_vqa_mc.training.tasks import Task, accelerator_of

if TYPE_CHECKING:
    from hf_vqa_mc.models.model import Model


@dataclass(frozen=True, eq=False, repr=False)
class PredictResult(Result):
    """A model's answers to the questions of a split, and how many are correct."""

    checkpoint: str
    dataset: str
    config: str
    split: str
    found: Predictions
    skipped: int  #: number of questions on images without features or captions
    output: Path | None  #: file of the predictions; None if they were not written
    word_changes: WordChanges  #: changes of the questions' words, as in training

    @property
    def results(self) -> dict[str, Any]:
        """As in training.json."""
        return self.found.results()

    def report(self) -> Iterator[str]:
        """The accuracy, and the command that breaks it down."""
        results, written = self.results, f"; wrote {self.output}" if self.output else ""
        left_out = f", {self.skipped:,} left out" if self.skipped else ""
        where = f"{results['questions']:,} questions{left_out} of {self.config}, {self.split}"
        if "accuracy" not in results:
            yield f"{where} answered; their correct answers are not published{written}"
        else:
            is_plain = results["metric"] == ACCURACY and "chance" in results
            score = f"{results['accuracy']:.1%}"
            measured = f"{score} of" if is_plain else f"{results['metric']} {score} on"
            chance = f" (chance {results['chance']:.1%})" if "chance" in results else ""
            yield f"{measured} {where}{chance}{written}"
        if self.word_changes:
            yield f"words of each question, as in training: {self.word_changes}"
        if "target_accuracy" in results:
            yield picking_the_target(results)
        if "multiple_choice" in results:
            yield best_of_the_choices(results["multiple_choice"])
        if self.output and not self.skipped and "accuracy" in results:
            config = "" if Path(self.dataset).is_file() else f" {self.config}"
            is_open = "multiple_choice" not in results and "answerable" in results
            seen = "the score in detail" if is_open else "which decoys were chosen"
            yield f"to see {seen}: vqa-mc score {self.output} {self.dataset}{config} --split {self.split}"

    def to_dict(self) -> dict[str, Any]:
        """Checkpoint, data and results, as in training.json; ``word_changes`` of the questions, null if none."""
        names = ("checkpoint", "dataset", "config", "split", "skipped", "results")
        return {name: getattr(self, name) for name in names} | {"word_changes": self.word_changes.as_json()}

    def to_pandas(self) -> Frame:
        """One row per question: question_id, answer, target.

        Of multiple-choice models also label (index of the answer), and the probabilities of all choices, which do not
        sum to 1, since choices are scored independently; target is then an index, too. Of open-ended models on
        multiple-choice rows also label, the index of the best choice.
        """
        return self.found.to_pandas()

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the predictions as ``vqa-mc score`` reads them."""
        check_output_file(Path(path), "output", overwrite=overwrite)
        self.found.write(Path(path), overwrite)
        return [Path(path)]


def predict(
    checkpoint: str | Path,
    dataset: str,
    config: str,
    *,
    split: str | None = None,
    features: Path | None = None,
    word_vectors: str | None = None,
    captions: Path | None = None,
    candidates: Path | None = None,
    output: Path | None = None,
    attentions: Path | None = None,
    counterexamples: Path | None = None,
    overwrite: bool = False,
    skip_missing: bool = False,
    progress: Progress = silent,
    rows: Mapping[str, pa.Table] | None = None,
) -> PredictResult:
    """Answer the questions of a split, changed as in training; arguments and errors: ``hf_vqa_mc.predict``."""
    read = (dataset, checkpoint, features, word_vectors, captions, candidates)
    outputs = {"--output": output, "--attentions": attentions, "--counterexamples": counterexamples}
    check_output_files(outputs, [Path(one) for one in read if one is not None], overwrite)
    model, processor = load_checkpoint(checkpoint)
    declared = model_of(model.config)
    check_use(declared, str(checkpoint), word_vectors, attentions)
    if counterexamples is not None and not declared.explains:
        raise InputError(f"--counterexamples: {checkpoint} does not rank images; remove it")
    inputs = ModelInputs(model.config, str(checkpoint), features, captions, candidates, processor.image_kind)
    check_same_features(inputs.images, processor.image_kind, str(checkpoint))
    progress("reading questions", 0, 1)
    is_open, group = declared.open_ended, getattr(model.config, "group", None)
    form: QuestionForm = processor.texts.form if is_open else "text"
    data = read_questions(dataset, config, open_ended=is_open, group=group, form=form, rows=rows)
    data = with_changed_words(data, processor.word_changes)
    progress("reading questions", 1, 1)
    chosen = chosen_split(list(data.splits), split, f"{dataset}, {config}")
    questions, skipped = inputs.of(data.splits[chosen], skip_missing)
    if not is_open:
        processor.text = with_word_vectors(processor.text, word_vectors)
    vocabulary = answers_of(model) if is_open else None
    task = Task(data.texts, questions.used_texts(), processor, inputs.images, vocabulary)
    processes = accelerator_of()
    found = task.evaluate(model.to(processes.device), questions, processes, progress)
    if processes.is_main_process:
        writers = (found.write, found.write_attentions, found.write_counterexamples)
        for write, path in zip(writers, outputs.values(), strict=True):
            if path is not None:
                write(path, overwrite)
    return PredictResult(str(checkpoint), dataset, config, chosen, found, skipped, output, processor.word_changes)


def check_use(model: "Model", checkpoint: str, word_vectors: str | None, attentions: Path | None = None) -> None:
    """Raise InputError if an option is given that a model does not use."""
    if word_vectors is not None and model.open_ended:
        raise InputError(f"--word-vectors: {checkpoint} is an open-ended model, which has its own; remove it")
    if attentions is not None and not (model.open_ended and model.inputs.intersection(IMAGE_INPUTS[1:])):
        raise InputError(
            f"--attentions: {checkpoint} is not an open-ended model that attends to a grid or regions; remove it"
        )
