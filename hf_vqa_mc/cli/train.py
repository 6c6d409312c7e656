"""``vqa-mc train``: a model of the papers on a dataset, validated on schedule and tested once."""

import inspect
import json
import os
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.training.settings import TrainingSettings, default_of, read_settings

if TYPE_CHECKING:
    from hf_vqa_mc.training import Trained

ARGUMENTS = ("dataset", "config")


def train(config_file: Path | None, as_json: bool, **given: Any) -> None:  # noqa: ANN401  any setting
    """Train a model, validate it on schedule, keep the best checkpoint and test it once.

    Example: vqa-mc train vqa_mc cocoqa_qou --model mlp-qa --word-vectors glove.6B.100d.txt --output runs/qa

    Example: accelerate launch --num_processes 2 -m hf_vqa_mc train --config run.yaml

    Stopped at any moment, the same command goes on from the last validation. The recipe is that of Chao et al. 2018.
    With several processes each sees its share of a batch, and so does batch normalisation.
    """
    from hf_vqa_mc.io.progress import steps_on_stderr
    from hf_vqa_mc.training import train as run

    settings = read_settings(config_file, {name: _told(name, value) for name, value in given.items()})
    try:
        with steps_on_stderr(quiet=not is_main()) as progress:
            done = run(settings, progress, _say)
    except KeyboardInterrupt:
        _line("stopped; the same command goes on from the last validation")
        raise
    if not is_main():
        return
    if as_json:
        sys.stdout.write(json.dumps(done.record, indent=1) + "\n")
    else:
        show(settings, done)


def is_main() -> bool:
    """Whether this is the only process, or the first of several."""
    return os.environ.get("RANK", "0") == "0"


def show(settings: TrainingSettings, done: "Trained") -> None:
    """What came out, for people: the reported split's scores, and what to do with the checkpoint."""
    from rich.console import Console

    from hf_vqa_mc.scoring.multiple_choice import mc_accuracy_table
    from hf_vqa_mc.training.curve import draw_curve
    from hf_vqa_mc.verbs.score import ScoreTable

    results, record, console = done.record["results"], done.record, Console()
    if done.reported_on is not None:
        console.print(f"{settings.model} on {settings.config}, {done.reported_on}", markup=False, highlight=False)
        reported = results[done.reported_on]
        console.print(ScoreTable(mc_accuracy_table(reported, reported["questions"])), crop=False)
    else:
        console.print(f"{settings.config} has no other split to report", markup=False, highlight=False)
    chosen_on = "training images held out" if done.validated_on == "held_out" else done.validated_on
    lines = [f"best of step {record['best_step']:,}: {results[done.validated_on]['accuracy']:.1%} on {chosen_on}"]
    if record["skipped"]:
        lines.append(f"left out, as their images have no features: {record['skipped']:,} questions of all splits")
    lines.append(f"checkpoint: {done.folder}")
    picture = done.output / "curve.png"
    try:
        draw_curve(record["curve"], results[done.validated_on]["chance"], picture)
        lines.append(f"learning curve: {picture}")
    except MissingExtra as error:
        lines.append(f"no picture of the learning curve: {error}")
    lines.append(f"to share it: vqa-mc push model NAMESPACE/NAME --folder {done.folder} --dry-run")
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _line(text: str) -> None:
    if is_main():
        sys.stderr.write(f"{text}\n")


def _say(point: Mapping[str, Any]) -> None:
    """A validation, on stderr."""
    best = ", the best so far" if point["best"] else ""
    _line(
        f"epoch {point['epoch']:g}, step {point['step']:,} of {point['steps']:,}: loss {point['loss']:.4f}, "
        f"validation {point['accuracy']:.1%}{best}; rate {point['learning_rate']:g}, "
        f"{1000 * point['seconds_a_step']:.0f} ms a step, {point['waited']:.0%} of it waiting for input"
    )


def _told(name: str, value: Any) -> Any:  # noqa: ANN401  any setting
    """An option's value as the setting has it; None where it was not given."""
    if isinstance(value, list):
        if not value:
            return None
        return _named(value) if name == "model_settings" else tuple(value)
    return value


def _named(pairs: list[str]) -> dict[str, Any]:
    import yaml

    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            found[name] = _number(yaml.safe_load(value))
        except (RecursionError, yaml.YAMLError):
            equals = ""
        if not equals or not name:
            raise InputError(f"--model-settings {pair}: expected NAME=VALUE, such as hidden_size=1024")
    return found


def _number(value: object) -> object:
    """What yaml takes for text, such as 1e-3, as the number that it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _signature() -> inspect.Signature:
    """Each setting as an argument or an option that is None unless given, since the file may give it."""
    of_settings = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(one))
        for one in fields(TrainingSettings)
    ]
    file = Annotated[
        Path | None,
        typer.Option("--config", help="Yaml file with any of these by name, such as learning_rate; options win."),
    ]
    told = Annotated[bool, typer.Option("--json", help="Tell what came out as JSON.", rich_help_panel="Running")]
    own = [
        inspect.Parameter("config_file", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=file),
        inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=told),
    ]
    return inspect.Signature([*of_settings[:2], own[0], *of_settings[2:], own[1]])


def _annotation(one: "Field[Any]") -> Any:  # noqa: ANN401  a type
    kinds = get_args(one.type) if get_origin(one.type) in (Union, types.UnionType) else (one.type,)
    kind = next(each for each in kinds if each is not type(None))
    text, default = one.metadata["help"], default_of(one)
    told = default not in (MISSING, None, (), {}) and default is not False
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    if one.name in ARGUMENTS:
        return Annotated[str | None, typer.Argument(help=text, show_default=False)]
    if get_origin(kind) is tuple:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
    elif get_origin(kind) is Mapping:
        kind = list[str]
    return Annotated[
        kind | None,
        typer.Option(help=text, show_default=told and shown, rich_help_panel=one.metadata["panel"] or None),
    ]


train.__signature__ = _signature()  # type: ignore[attr-defined]
train.__annotations__ = {name: one.annotation for name, one in _signature().parameters.items()}
