"""Commands from verbs: every field of a settings dataclass becomes an argument or an option."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import is_first_process, steps_on_stderr
from hf_vqa_mc.options import default_of, flag_of, inner_type, listed_options, read_settings_file, spec_of
from hf_vqa_mc.result import Verb

JSON_OPTION = Annotated[bool, typer.Option("--json", help="Print results as JSON.")]
FILE_OPTION = Annotated[
    Path | None, typer.Option("--settings", help="YAML file of settings by name; options on the command line win.")
]


def command(verb: Verb) -> Callable[..., int]:
    """A function for typer that runs a verb, prints its result and returns the exit code."""

    def run(context: typer.Context, **given: Any) -> int:  # noqa: ANN401  any setting
        as_json, file = given.pop("as_json"), given.pop("settings_file", None)
        sources = {name: context.get_parameter_source(name) for name in given}
        defaults = {name for name, of in sources.items() if of is None or of.name in ("DEFAULT", "DEFAULT_MAP")}
        named = {name: value for name, value in given.items() if name not in defaults}
        settings = _settings(verb, file, named)
        first = is_first_process()
        with steps_on_stderr(quiet=not first) as progress:
            result = verb.run(settings, progress)
        if first and as_json:
            sys.stdout.write(json.dumps(result.to_dict(), indent=1) + "\n")
        elif first:
            from rich.console import Console

            Console(soft_wrap=not sys.stdout.isatty()).print(result, crop=False)
        code: int = result.exit_code
        return code

    options = [_parameter(one, verb) for one in listed_options(verb.settings)]
    if verb.settings_file:
        options.append(_keyword("settings_file", FILE_OPTION))
    context = _keyword("context", typer.Context, inspect.Parameter.empty)
    signature = inspect.Signature([context, *options, _keyword("as_json", JSON_OPTION, False)])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    run.__name__ = verb.name
    examples = "".join(f"\n\nExample: {example}" for example in verb.examples)
    summary, *details = [" ".join(part.split()) for part in verb.summary.split("\n\n")]
    run.__doc__ = "\n\n".join([f"{summary}{examples}", *details])
    return run


def _keyword(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:  # noqa: ANN401  any type
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parameter(one: "Field[Any]", verb: Verb) -> inspect.Parameter:
    """The argument or option of a field."""
    spec, kind, default = spec_of(one), _option_type(inner_type(one)), default_of(one)
    required = default is MISSING and spec.cli_default is None and not verb.settings_file  # may be in the file
    if default in (None, MISSING) and spec.cli_default is not None and not callable(spec.cli_default):
        default = spec.cli_default
    if not one.kw_only:
        declared = typer.Argument(help=spec.help, metavar=one.name.upper(), show_default=False)
    else:
        names = [flag_of(one)] if kind is bool and default is False else []  # no --no-X for flags that are off
        displayed = default not in (MISSING, None, (), {}) and kind is not bool
        declared = typer.Option(*names, help=spec.help, show_default=displayed, rich_help_panel=spec.panel or None)
    if required:
        default = inspect.Parameter.empty
    elif default is MISSING or default == {}:
        default = None
    elif isinstance(default, tuple):
        default = list(default)
    elif isinstance(default, Mapping):
        default = [(spec.separator or ",").join(f"{name}={value}" for name, value in default.items())]
    annotation: Any = Annotated[kind if required else kind | None, declared]
    return _keyword(one.name, annotation, default)


def _option_type(kind: Any) -> Any:  # noqa: ANN401  a type
    """The type that typer parses for a field."""
    if get_origin(kind) is tuple:
        return list[get_args(kind)[0]]  # type: ignore[misc]
    if get_origin(kind) in (dict, Mapping):
        return list[str]
    return kind if kind in (str, int, float, bool, Path) else str


def _settings(verb: Verb, file: Path | None, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  any settings
    """The settings of a run: those given, then the file's, then the defaults."""
    known = {one.name: one for one in fields(verb.settings)}
    values = read_settings_file(file, verb.settings) if file else {}
    for name, value in given.items():
        values[name] = _pairs(known[name], value) if get_origin(inner_type(known[name])) in (dict, Mapping) else value
    defaults = {name: spec_of(one).cli_default for name, one in known.items() if values.get(name) is None}
    missing = [known[name] for name, default in defaults.items() if default is None and name not in values]
    if named := [f"{flag_of(one)} ({spec_of(one).help})" for one in missing if default_of(one) is MISSING]:
        raise InputError(f"missing: {', '.join(named)}")
    for name, default in defaults.items():
        if default is not None:
            values[name] = default(values) if callable(default) else default
    return verb.settings(**values)


def _pairs(one: "Field[Any]", given: list[str]) -> dict[str, Any]:
    """``NAME=VALUE`` texts as a dictionary; values that are no texts are read as YAML, ``1e-3`` also as a number."""
    import yaml

    if separator := spec_of(one).separator:
        given = [part.strip() for text in given for part in text.split(separator) if part.strip()]
    is_text = get_args(inner_type(one))[1] not in (int, float, Any)
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        try:
            found[name] = text if is_text else yaml.safe_load(text)
        except yaml.YAMLError:
            equals = ""
        if not equals or not name:
            raise InputError(f"{flag_of(one)} {pair}: expected NAME=VALUE ({spec_of(one).help})")
        if not is_text and isinstance(found[name], str):
            with suppress(ValueError):
                found[name] = float(found[name])
    return found
