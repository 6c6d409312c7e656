"""Training a model: from settings to a folder with the best checkpoint, gone on with where it was stopped."""

import contextlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate.utils import broadcast

from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.models.checkpoint import load_checkpoint, without_bars
from hf_vqa_mc.training.batches import Ahead, Draws, Part, parts
from hf_vqa_mc.training.evaluation import Picked, picked
from hf_vqa_mc.training.material import gather
from hf_vqa_mc.training.optimizers import optimizer_of, optimizer_tensors, rate_at, restore_optimizer
from hf_vqa_mc.training.processes import accelerator
from hf_vqa_mc.training.record import record_of
from hf_vqa_mc.training.run_folder import (
    BEST,
    LAST,
    PREDICTIONS,
    RECORD,
    RunFolder,
    State,
    check_run_folder,
    damaged,
)
from hf_vqa_mc.training.settings import TrainingSettings, option

if TYPE_CHECKING:
    from accelerate import Accelerator
    from torch import Tensor
    from transformers import PreTrainedModel

LOOKED_AT = 50
"""Steps between two looks at the loss."""
_ELSEWHERE = {"output", "track", "features", "word_vectors", "dataset"}
"""Settings of which a run may go on with others: places."""

Progress = Callable[[str, int, int], None]
Tell = Callable[[dict[str, Any]], None]


class TrainingDiverged(InputError):
    """The loss is no number any more."""


@dataclass(frozen=True)
class Trained:
    """What a run made."""

    output: Path
    """of the run"""
    record: dict[str, Any]
    """what the best checkpoint's training.json says"""
    validated_on: str
    """of its results, those that chose the checkpoint"""
    reported_on: str | None
    """of its results, those of the split that chose nothing; None where the dataset has none"""

    @property
    def folder(self) -> Path:
        """Of the best checkpoint."""
        return self.output / BEST

    @property
    def predictions(self) -> Path | None:
        """The reported split's, as vqa-mc score takes them."""
        return self.output / PREDICTIONS if self.reported_on else None


def train(
    settings: TrainingSettings,
    progress: Progress = lambda step, done, total: None,
    tell: Tell = lambda point: None,
) -> Trained:
    """Train a model, validate it on schedule, and test the best checkpoint once.

    A run that was stopped at any moment goes on from its last validation when it is started again; on a CPU it ends
    with the same numbers as one that was not. With several processes (``torchrun``, ``accelerate launch``) each
    computes its share of every batch; batch normalisation then sees shares.

    Args:
        settings: of the run.
        progress: told (step, done, total).
        tell: told each point of the curve; in the main process only.

    Raises:
        InputError: something given cannot be used, or the loss is no number any more.
        OSError: the disk is full or closed to us; what was saved before still is.
    """
    check_run_folder(settings.output)
    of_run = _checked_accelerator(settings)
    first = of_run.is_main_process
    folder = RunFolder(settings.output) if first else None
    try:
        run = _Run(settings, of_run, folder, progress if first else lambda step, done, total: None, tell)
        return run.to_its_end()
    finally:
        if folder is not None:
            folder.close()


class _Run:
    """A run and how far it is; the same in every process, but only the main one has the folder."""

    def __init__(
        self,
        settings: TrainingSettings,
        accelerator: "Accelerator",
        folder: RunFolder | None,
        progress: Progress,
        tell: Tell,
    ) -> None:
        self.settings, self.accelerator, self.folder = settings, accelerator, folder
        self.progress, self.tell = progress, tell
        self.material = gather(settings, progress)
        self.state = State(self._identity())
        self._draws = Draws(self.material.train, settings.batch_size, settings.decoys, settings.seed)
        count, size = len(self.material.train), settings.batch_size
        self.steps = max(1, round(settings.epochs * count / size))
        self.steps_an_epoch = count / size
        self.model, self.optimizer = self.material.model, optimizer_of(settings, self.material.model)
        self._resume()

    def to_its_end(self) -> Trained:
        """Train what is left, then test."""
        if not self.state.finished:
            self._train()
        record = self._tested()
        self.accelerator.end_training()
        return Trained(self.settings.output, record, self.material.validated_on, self.material.reported_on)

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on."""
        kept = {name: value for name, value in self.settings.as_json().items() if name not in _ELSEWHERE}
        return {**kept, **self.material.what(), "processes": self.accelerator.num_processes}

    def _resume(self) -> None:
        """Take up what an earlier sitting left."""
        self.accelerator.wait_for_everyone()
        found = RunFolder.read(self.settings.output)
        if found is not None:
            state, tensors = found
            told = json.loads(json.dumps(self.state.settings))
            differing = [name for name in told if told[name] != state.settings.get(name)]
            if differing:
                name = differing[0]
                raise InputError(
                    f"--output {self.settings.output} holds a run whose {name} is {state.settings.get(name)}, "
                    f"not {told[name]}; name another folder (and --init-from to go on from that run), or remove it"
                )
            self.state = state
            weights = {name.removeprefix("model."): one for name, one in tensors.items() if name.startswith("model.")}
            try:
                self.model.load_state_dict(weights)
                restore_optimizer(self.optimizer, tensors)
            except (RuntimeError, ValueError) as error:
                raise damaged(self.settings.output / LAST, error) from error
            if self.folder is not None:
                self.folder.write_log(state)  # a kill may have come before the last line
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)
        if self.state.scaler is not None and self.accelerator.scaler is not None:
            self.accelerator.scaler.load_state_dict(self.state.scaler)

    def _train(self) -> None:
        first, since = self.state.step, time.perf_counter()
        self._track_from_here()
        ahead = Ahead(self._parts, first, self.steps)
        losses, looked, waited = self._nothing(), 0, 0.0
        started = time.perf_counter()
        try:
            for number, made in enumerate(ahead, start=first):
                losses += self._step(number, made)
                looked += 1
                done = number + 1
                self.progress("training", done, self.steps)
                if done % LOOKED_AT == 0 or self._is_validated_after(done):
                    loss = self._checked(losses / looked, done)
                if self._is_validated_after(done):
                    took = time.perf_counter() - started
                    self.state.seconds += time.perf_counter() - since
                    since = time.perf_counter()
                    pace = {"seconds_a_step": took / looked, "waited": (ahead.waited - waited) / took}
                    self._validate(done, loss, pace)
                    losses, looked, waited, started = self._nothing(), 0, ahead.waited, time.perf_counter()
                    if self.state.finished:
                        return
        finally:
            ahead.close()

    def _parts(self, number: int) -> list[Part]:
        made = self.accelerator
        return parts(
            self._draws.step(number),
            self.material.train,
            self.material.inputs,
            made.process_index,
            made.num_processes,
            self.settings.accumulate,
        )

    def _step(self, number: int, made: list[Part]) -> "Tensor":
        """One step; this process's part of its loss."""
        accelerator = self.accelerator
        # The coins of dropout depend on step and process alone, so that nothing of them has to be kept.
        torch.manual_seed(int(purpose_hash(self.settings.seed, f"step {number} {accelerator.process_index}")) >> 1)
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.settings, number, self.steps)
        self.model.train()
        total = self._nothing()
        for place, part in enumerate(made):
            last = place == len(made) - 1
            with contextlib.nullcontext() if last else accelerator.no_sync(self.model):
                tensors = {name: tensor.to(accelerator.device) for name, tensor in part.tensors.items()}
                loss = self.model(**tensors).loss * (part.weight * accelerator.num_processes)
                accelerator.backward(loss)
            total += loss.detach()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total

    def _nothing(self) -> "Tensor":
        return torch.zeros((), device=self.accelerator.device)

    def _checked(self, mean: "Tensor", done: int) -> float:
        """The mean loss over all processes, if it is a number."""
        loss = float(self.accelerator.reduce(mean, "mean"))
        if not math.isfinite(loss):
            saved = f"; {self.settings.output / BEST} holds the best checkpoint before" if self.state.curve else ""
            raise TrainingDiverged(
                f"the loss is {loss} by step {done}, at a rate of {rate_at(self.settings, done - 1, self.steps):g}; "
                f"train with a lower {option('learning_rate')} into another --output{saved}"
            )
        return loss

    def _is_validated_after(self, done: int) -> bool:
        every = self.settings.evaluate_every * self.steps_an_epoch
        return done == self.steps or int(done / every) > int((done - 1) / every)

    def _validate(self, done: int, loss: float, pace: dict[str, float]) -> None:
        """Validate, keep what is best, and how far the run is."""
        for buffer in self._plain_model().buffers():
            buffer.copy_(broadcast(buffer))  # each process counted its own share
        found = picked(self._plain_model(), self.material.validation, self.material.inputs, self.accelerator)
        state = self.state
        point = {
            "step": done,
            "epoch": round(done / self.steps_an_epoch, 2),
            "loss": loss,
            "learning_rate": float(f"{rate_at(self.settings, done - 1, self.steps):.6g}"),
            "accuracy": found.accuracy,
        }
        better = found.accuracy > state.best
        state.curve.append(point)
        state.step, state.since_best = done, 0 if better else state.since_best + 1
        if better:
            state.best, state.best_step = found.accuracy, done
        patience = self.settings.patience
        state.finished = done == self.steps or (patience is not None and state.since_best >= patience)
        scaler = self.accelerator.scaler
        state.scaler = scaler.state_dict() if scaler is not None else None
        self.accelerator.log({name: value for name, value in point.items() if name != "step"}, step=done)
        if self.folder is not None:
            if better:
                self.folder.write_best(lambda place: self._save(place, found))
            self.folder.write(state, self._tensors())
            self.tell({**point, **pace, "steps": self.steps, "best": better})
        self.accelerator.wait_for_everyone()

    def _plain_model(self) -> "PreTrainedModel":
        model: PreTrainedModel = self.accelerator.unwrap_model(self.model)
        return model

    def _save(self, place: Path, found: Picked) -> None:
        """Write a whole checkpoint into an empty folder."""
        with without_bars():
            self._plain_model().save_pretrained(place)
        self.material.processor.save_pretrained(place)
        write_json(place / RECORD, self._record({self.material.validated_on: found.results()}), indent=1)

    def _tensors(self) -> dict[str, "Tensor"]:
        weights = {f"model.{name}": tensor for name, tensor in self._plain_model().state_dict().items()}
        both = weights | optimizer_tensors(self.optimizer)
        return {name: tensor.detach().cpu().contiguous() for name, tensor in both.items()}

    def _tested(self) -> dict[str, Any]:
        """Ask the best checkpoint the reported split's questions, once; what training.json then says."""
        place, material = self.settings.output / BEST, self.material
        model, _ = load_checkpoint(place)
        try:
            told = json.loads((place / RECORD).read_text("utf-8"))
            results = dict(told["results"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, error) from error
        is_written = (self.settings.output / PREDICTIONS).exists()
        self.accelerator.wait_for_everyone()
        if material.reported is not None and not (material.reported_on in results and is_written):
            model = model.to(self.accelerator.device)
            found = picked(model, material.reported, material.inputs, self.accelerator, self.progress)
            results[material.reported_on] = found.results()
            if self.folder is not None:
                write_predictions(self.settings.output / PREDICTIONS, found)
        record: dict[str, Any] = json.loads(json.dumps(self._record(results)))
        if self.folder is not None and record != told:
            self.folder.write_record(record)
        self.accelerator.wait_for_everyone()
        return record

    def _record(self, results: dict[str, Any]) -> dict[str, Any]:
        what = {**self.material.what(), "processes": self.accelerator.num_processes}
        return record_of(self.settings, self.state, what, results, self.accelerator.device.type)

    def _track_from_here(self) -> None:
        """Start the trackers that were asked for."""
        if self.settings.track:
            told = self.settings.as_json().items()
            plain = {name: value for name, value in told if isinstance(value, int | float | str)}
            self.accelerator.init_trackers("vqa_mc", config=plain)


def write_predictions(path: Path, found: Picked) -> None:
    """Write what was picked, as ``vqa-mc score`` takes it: the places of the picked choices.

    Raises:
        OSError: the disk is full or closed to us.
    """
    ids = found.questions.question_ids
    rows = [{"question_id": name, "label": place} for name, place in zip(ids, found.places.tolist(), strict=True)]
    write_json(path, rows)


def _checked_accelerator(settings: TrainingSettings) -> "Accelerator":
    made = accelerator(settings.mixed_precision, settings.track, settings.output / "trackers")
    wanted = made.num_processes * settings.accumulate
    if settings.batch_size < wanted:
        raise InputError(
            f"--batch-size {settings.batch_size}: fewer questions than the {wanted} parts of {made.num_processes} "
            f"processes with --accumulate {settings.accumulate}"
        )
    return made
