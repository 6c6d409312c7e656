"""The training loop: from settings to a folder with the best checkpoint; interrupted runs are resumed."""

import contextlib
import json
import logging
import math
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from hf_vqa_mc.data.inventory import WRITTEN_BY
from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.model_files import quiet
from hf_vqa_mc.io.atomic import remove_leftovers, write_json
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.outputs import check_outside, sha256_of
from hf_vqa_mc.io.prefetch import ahead
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.model_listing import checkpoint_folder
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import FittedModel
from hf_vqa_mc.recipe import Optimizer, Recipe
from hf_vqa_mc.training.inputs import provenance
from hf_vqa_mc.training.predictions import Predictions
from hf_vqa_mc.training.run_folder import (
    BEST,
    LAST,
    PREDICTIONS,
    RECORD,
    State,
    TrainResult,
    check_run_folder,
    config_of,
    lock_folder,
    read_state,
    replace_folder,
    write_log,
    write_state,
)
from hf_vqa_mc.training.run_inputs import prepare_inputs
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.tasks import accelerator_of
from hf_vqa_mc.version import __version__

LOSS_CHECKED = 50  # steps between two checks that the loss is finite
AHEAD = 4  # batches prepared in advance
PACKAGES = ("torch", "transformers", "accelerate", "datasets")  # packages whose versions are recorded
_MAY_CHANGE = {"output", "features", "word_vectors", "captions", "candidates", "dataset"}
"""Settings that may differ when a run is resumed; the contents of paths are compared instead."""
_PATHS = (*sorted(_MAY_CHANGE), "init_from")  # settings with paths, of which only the name is published

MOMENTUM = 0.9  # of sgd (Chao et al. 2018, supplement A.4)
DECAY = 0.55  # exponent by which the variance of the noise falls (Neelakantan et al. 2015, section 3)
WARM_UP = 10
"""The decay of averages at step t, from 0, is at most (1 + t) / (10 + t), as in TensorFlow, so that the random weights
of the beginning are soon forgotten."""
Tensors = list[Tensor] | tuple[Tensor, ...]

_OPTIMIZERS: Mapping[Optimizer, Callable[..., torch.optim.Optimizer]] = {
    "sgd": partial(torch.optim.SGD, momentum=MOMENTUM, fused=True),
    "rmsprop": torch.optim.RMSprop,  # alpha 0.99: Lu et al. 2016's decay
    "adam": partial(torch.optim.Adam, fused=True),
    "adamax": torch.optim.Adamax,
    "adadelta": partial(torch.optim.Adadelta, rho=0.95, eps=1e-6),  # Zeiler 2012, section 4.1
}

logger = logging.getLogger(__name__)


def train(
    settings: TrainingSettings, progress: Progress = silent, rows: Mapping[str, pa.Table] | None = None
) -> TrainResult:
    """Train a model, validate it on schedule, and test the best checkpoint once; errors as ``hf_vqa_mc.train``.

    A resumed run gives the same results on a CPU. The main process logs each validation, with the figures in the log
    record's ``validation``. ``rows`` are the splits of the config if they were read already.
    """
    check_run_folder(settings.output)
    check_outside(settings.output, "--output", filter(None, [settings.dataset, settings.features]))
    accelerator = accelerator_of()
    is_main = accelerator.is_main_process
    with lock_folder(settings.output, "training") if is_main else contextlib.nullcontext():
        for name in (BEST, LAST) if is_main else ():
            remove_leftovers(settings.output / name)
        return _Run(settings, accelerator, progress if is_main else silent, rows).run()


class _Run:
    """A run and its state, the same in all processes; only the main process writes to the folder."""

    def __init__(
        self,
        settings: TrainingSettings,
        accelerator: Accelerator,
        progress: Progress,
        rows: Mapping[str, pa.Table] | None,
    ) -> None:
        self.settings, self.accelerator, self.progress = settings, accelerator, progress
        found = prepare_inputs(settings, progress, rows)
        self.plain, self.processor, self.task, self.splits, self.validated_on, self.reported_on, about = found
        self.data = {**about, "processes": accelerator.num_processes}
        kept = {name: value for name, value in settings.as_json().items() if name not in _MAY_CHANGE}
        if settings.init_from is not None:
            weights = sorted(checkpoint_folder(settings.init_from).glob("model*.safetensors"))
            kept["init_from_sha256"] = [sha256_of(path) for path in weights]
        self.state = State(json.loads(json.dumps({**kept, **self.data})))
        self.recipe, self.device = settings.effective, accelerator.device
        self.steps_per_epoch = len(self.splits["train"]) / self.recipe.batch_size
        self.fitted = isinstance(self.plain, FittedModel)
        self.steps = 0 if self.fitted else settings.steps_of(len(self.splits["train"]))
        self.optimizer = optimizer_of(self.recipe, self.plain)
        accelerator.wait_for_everyone()
        tensors = self._resumed()
        if self.fitted:  # without gradients
            self.model = self.plain.to(self.device)
        else:
            self.model, self.optimizer = accelerator.prepare(self.plain, self.optimizer)
        decay = self.recipe.average_weights
        self.averages = averaged_weights(self.plain, decay) if decay else None
        if self.averages is not None and tensors:
            self.averages.load_state_dict(with_prefix(tensors, "average."))
        self.evaluated: Any = self.plain if self.averages is None else self.averages.module
        """what is validated and saved"""

    def run(self) -> TrainResult:
        """Train the remaining steps, then test."""
        if self.fitted and not self.state.finished:
            self._validate(0, None, {})
        elif not self.state.finished:
            self._train()
        return TrainResult(self.settings, self._tested(), self.validated_on, self.reported_on)

    def _resumed(self) -> dict[str, Tensor]:
        """The tensors of the run in the folder, of which model and optimizer take theirs; none if there is no run."""
        if (found := read_state(self.settings.output)) is None:
            return {}
        state, tensors = found
        for name, value in self.state.settings.items():
            if value != (before := state.settings.get(name)):
                raise InputError(
                    f"--output {self.settings.output} is a run whose {name} is {before}, not {value}; choose another "
                    "folder (and --init-from to start from it), or remove it"
                )
        self.state = state
        self.plain.load_state_dict(with_prefix(tensors, "model."))
        if not self.fitted:
            restore_optimizer(self.optimizer, tensors)
        if self.accelerator.is_main_process:
            write_log(self.settings.output, state)  # the last line is missing if the run was killed before
        return tensors

    def _train(self) -> None:
        """Train to the last step, and validate at the end of each epoch."""
        self.model.train()
        started = since = time.perf_counter()
        zero = torch.zeros((), device=self.device)
        losses, summed, waited = zero, 0, 0.0
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        make = self.task.batches(self.splits["train"], self.settings)
        parts = ahead(lambda step: make(step, process, processes), range(self.state.step, self.steps), AHEAD)
        with contextlib.closing(parts) as batches:
            for number in range(self.state.step, self.steps):
                before = time.perf_counter()
                made = next(batches)
                waited += time.perf_counter() - before
                losses = losses + self._step(number, made)
                summed, done = summed + 1, number + 1
                self.progress("training", done, self.steps)
                every = self.steps_per_epoch
                validated = done == self.steps or int(done / every) > int((done - 1) / every)
                if validated or done % LOSS_CHECKED == 0:
                    loss = self._checked(losses / summed, done)
                if validated:
                    elapsed = time.perf_counter() - started
                    self.state.seconds += time.perf_counter() - since
                    since = time.perf_counter()
                    self._validate(done, loss, {"seconds_per_step": elapsed / summed, "waited": waited / elapsed})
                    self.model.train()
                    losses, summed, waited, started = zero, 0, 0.0, time.perf_counter()

    def _step(self, number: int, made: tuple[dict[str, Tensor], float]) -> Tensor:
        """Run a step on this process's share of the batch; return the share's part of the loss."""
        accelerator, (given, weight), seed = self.accelerator, made, self.settings.seed
        # Dropout depends only on step and process, so that no generator state is saved.
        # torch.manual_seed takes up to a millisecond: for other devices it keeps the stack of each call.
        seed_all = torch.default_generator.manual_seed if self.device.type == "cpu" else torch.manual_seed
        seed_all(int(purpose_hash(seed, f"step {number} {accelerator.process_index}")) >> 1)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate_at(number, self.steps)
        tensors = {name: tensor.to(self.device) for name, tensor in given.items()}
        loss: Tensor = self.model(**tensors).loss
        if (weight := weight * accelerator.num_processes) != 1.0:
            loss = loss * weight
        loss.backward()  # type: ignore[no-untyped-call]  # there is nothing to scale in full precision
        change_gradients(accelerator, self.optimizer, self.recipe, seed, number)
        self.optimizer.step()
        if self.averages is not None:
            self.averages.update_parameters(self.plain)
        self.optimizer.zero_grad()
        return loss.detach()

    def _checked(self, mean: Tensor, done: int) -> float:
        """The mean loss over all processes; raise InputError unless it is finite."""
        loss = float(self.accelerator.reduce(mean, "mean"))
        if not math.isfinite(loss):
            saved = f"; {self.settings.output / BEST} has the best checkpoint before" if self.state.curve else ""
            rate = self.settings.rate_at(done - 1, self.steps)
            raise InputError(
                f"the loss is {loss} at step {done} with a learning rate of {rate:g}; train with a lower "
                f"--learning-rate and another --output{saved}"
            )
        return loss

    def _validate(self, done: int, loss: float | None, timing: dict[str, float]) -> None:
        """Validate, and save the best checkpoint and the state."""
        for buffer in dict.fromkeys([*self.plain.buffers(), *self.evaluated.buffers()]):
            buffer.copy_(broadcast(buffer))  # running statistics differ between processes
        found = self.task.evaluate(self.evaluated, self.splits[self.validated_on], self.accelerator)
        state, better = self.state, found.score > self.state.best
        point = {
            "step": done,
            "epoch": round(done / self.steps_per_epoch, 2),
            "loss": loss,
            "learning_rate": None if loss is None else float(f"{self.settings.rate_at(done - 1, self.steps):.6g}"),
            "accuracy": found.score,
        }
        state.curve.append(point)
        state.step, state.finished = done, done == self.steps
        if better:
            state.best, state.best_step = found.score, done
        if self.accelerator.is_main_process:
            if better:
                replace_folder(self.settings.output / BEST, lambda folder: self._save(folder, found))
            tensors = {f"model.{name}": tensor for name, tensor in self.plain.state_dict().items()}
            tensors |= optimizer_tensors(self.optimizer)
            if self.averages is not None:
                tensors |= {f"average.{name}": tensor for name, tensor in self.averages.state_dict().items()}
            stored = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            write_state(self.settings.output, state, stored)
            message = f"fitted: validation {found.score:.1%}"
            if loss is not None:
                message = (
                    f"epoch {point['epoch']:g}, step {done:,} of {self.steps:,}: loss {loss:.4f}, validation "
                    f"{found.score:.1%}{', the best so far' if better and found.score else ''}; rate "
                    f"{point['learning_rate']:g}, {1000 * timing['seconds_per_step']:.0f} ms per step, "
                    f"{timing['waited']:.0%} of it waiting for input"
                )
            logger.info(message, extra={"validation": {**point, **timing}})
        self.accelerator.wait_for_everyone()

    def _save(self, folder: Path, found: Predictions) -> None:
        with quiet():
            self.evaluated.save_pretrained(folder)
        self.processor.save_pretrained(folder)
        write_json(folder / RECORD, self._record({self.validated_on: found.results()}), indent=1)

    def _tested(self) -> dict[str, Any]:
        """Score the test split with the best checkpoint, once; return the final training.json."""
        folder, split, predictions = self.settings.output / BEST, self.reported_on, self.settings.output / PREDICTIONS
        before = read_json(folder / RECORD)
        results = dict(before["results"])
        is_written = predictions.exists()
        self.accelerator.wait_for_everyone()
        if split is not None and not (split in results and is_written):
            model = load_checkpoint(folder)[0].to(self.device)
            found = self.task.evaluate(model, self.splits[split], self.accelerator, self.progress)
            results[split] = found.results()
            if self.accelerator.is_main_process:
                found.write(predictions)
        record: dict[str, Any] = json.loads(json.dumps(self._record(results)))
        if self.accelerator.is_main_process and record != before:
            write_json(folder / RECORD, record, indent=1)
        self.accelerator.wait_for_everyone()
        return record

    def _record(self, results: dict[str, Any]) -> dict[str, Any]:
        """The content of training.json; ``results`` are by split."""
        settings, state = self.settings, self.state
        about, made = provenance(settings.dataset, settings.config)
        given = {name: value for name in _PATHS if (value := getattr(settings, name)) is not None}
        short: dict[str, Any] = {name: public_name(str(value)) for name, value in given.items()}
        public = replace(settings, first_layers=tuple(map(public_name, settings.first_layers)), **short)
        return {
            "written_by": WRITTEN_BY,
            "version": __version__,
            "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
            "dataset": public.dataset,
            "config": settings.config,
            "source": about,
            "made_with": made,
            "model": settings.model,
            "settings": public.as_json(),
            "command": public.command(self.data["processes"]),
            "init_from": settings.init_from and {"name": public.init_from, "config": config_of(settings.init_from)},
            **self.data,
            "device": self.device.type,
            "seconds": round(state.seconds, 1),
            "steps": state.step,
            "best_step": state.best_step,
            "finished": state.finished,
            "results": results,
            "curve": state.curve,
        }


def optimizer_of(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    """Create the optimizer."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    weights = weights or [nn.Parameter(torch.zeros(0))]  # of a fitted model; torch refuses an empty list
    return _OPTIMIZERS[recipe.optimizer](weights, lr=recipe.learning_rate)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state tensors of an optimizer by name, without hyperparameters."""
    return {
        f"optimizer.{number}.{name}": torch.as_tensor(value)
        for number, moments in optimizer.state_dict()["state"].items()
        for name, value in moments.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the result of ``optimizer_tensors``."""
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in with_prefix(tensors, "optimizer.").items():
        number, name = key.split(".", 1)
        moments.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})


def with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors with a prefix, by names without it."""
    return {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}


def change_gradients(
    accelerator: Accelerator, optimizer: torch.optim.Optimizer, recipe: Recipe, seed: int, step: int
) -> None:
    """Add noise to the gradients, then clip them, in the order of the code of Noh and Han 2016.

    Noise depends only on the seed and the step, so all processes add the same and resumed runs repeat it.
    """
    weights = [one for group in optimizer.param_groups for one in group["params"] if one.grad is not None]
    if recipe.gradient_noise:
        rng = torch.Generator(accelerator.device)
        rng.manual_seed(int(purpose_hash(seed, f"gradient noise {step}")) >> 1)
        deviation = (recipe.gradient_noise / (1 + step) ** DECAY) ** 0.5
        for one in weights:
            noise = torch.randn(one.grad.shape, generator=rng, device=accelerator.device, dtype=one.grad.dtype)
            one.grad.add_(noise, alpha=deviation)
    if recipe.clip_norm:
        torch.nn.utils.clip_grad_norm_(weights, recipe.clip_norm)
    if recipe.clip_value:
        torch.nn.utils.clip_grad_value_(weights, recipe.clip_value)


def averaged_weights(model: nn.Module, decay: float) -> AveragedModel:
    """Moving averages of weights from the given ones on."""

    def mean(averages: Tensors, weights: Tensors, updates: Tensor | int) -> None:
        torch._foreach_lerp_(averages, weights, 1 - min(decay, int(updates) / (int(updates) + WARM_UP - 1)))

    found = AveragedModel(model, multi_avg_fn=mean)
    found.update_parameters(model)  # the first update copies the weights
    return found
