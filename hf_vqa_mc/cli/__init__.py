"""``vqa-mc``: a command for every verb; what a verb needs is imported when it runs."""

import os
import sys
import warnings
from collections import UserDict
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from traceback import extract_tb
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hf_vqa_mc.cli.command import command
from hf_vqa_mc.errors import InputError, MissingExtra, printable
from hf_vqa_mc.io.interruption import is_interruption, report_interruption
from hf_vqa_mc.io.redaction import redacted
from hf_vqa_mc.verbs import PANELS, VERBS

OK, ENVIRONMENT, INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: success; environment error (disk, network); invalid input; Ctrl-C. 143 is for SIGTERM, 3 for
`Result.exit_code`."""
LESS_MEMORY = "close other programs, or read less of the data"  # what to do without enough memory
GROUPS = {
    "generate": "Generate questions as the makers of TDIUC, GQA and VQA2 did, for your own images.",
    "study": "Study a benchmark with people: a web page asks, answers become scores, verdicts and annotations.",
}
"""Verbs of these names have commands of two words: ``generate_gqa`` is ``generate gqa``."""

PANEL_OF = {verb.partition("_")[0]: panel for panel, verbs in PANELS.items() for verb in verbs}
"""Command or group to its group in the help."""


class PlainFlags:
    """Show flags without a value in the help, where typer shows ``<bool>``."""

    def get_params(self, ctx: Any) -> Any:  # noqa: ANN401  as in typer
        """The parameters of the command."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(PlainFlags, TyperCommand):
    """The command of a verb."""


class Commands(UserDict[str, Any]):
    """Commands by name; that of a verb is made when it is used."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  a command or a group
        if isinstance(verb := self.data[name], str):
            function = getattr(import_module("hf_vqa_mc"), verb)
            alone, panel = typer.Typer(add_completion=False), PANEL_OF.get(name)
            alone.command(name, cls=Command, rich_help_panel=panel)(with_exit_code(command(function.verb)))
            self.data[name] = typer.main.get_command(alone)
        return self.data[name]


class Group(PlainFlags, TyperGroup):
    """A group of commands: one of `GROUPS`, or ``vqa-mc`` itself."""

    def __init__(self, *, name: str, commands: dict[str, Any], **given: Any) -> None:  # noqa: ANN401  as in typer
        prefix = f"{name}_" if name in GROUPS else ""
        in_groups = tuple(f"{group}_" for group in GROUPS)
        verbs = [verb for verb in VERBS if verb.startswith(prefix or in_groups) == bool(prefix)]
        known = Commands({verb.removeprefix(prefix): verb for verb in verbs} | commands)
        super().__init__(name=name, commands=known, **given)  # type: ignore[arg-type]

    def list_commands(self, ctx: object) -> list[str]:
        """The names, without making the commands; as in `verbs.PANELS`."""
        order = list(PANEL_OF)
        return sorted(self.commands, key=lambda name: order.index(name) if name in order else len(order))


app = typer.Typer(
    name="vqa-mc",
    cls=Group,
    help="Multiple-choice VQA without shortcuts: audit, remedy, evaluate, score, rebuild, train.",
    epilog="Example: vqa-mc audit benchmark.csv",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, _help in GROUPS.items():
    _settings = {"help_option_names": ["-h", "--help"]}
    app.add_typer(
        typer.Typer(name=_name, cls=Group, help=_help, context_settings=_settings, no_args_is_help=True),
        rich_help_panel=PANEL_OF[_name],
    )


def _print_version(wanted: bool) -> None:
    if wanted:
        from hf_vqa_mc.version import __version__

        print(f"vqa-mc {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def vqa_mc(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """The options of vqa-mc itself."""


def main() -> None:
    """Run ``vqa-mc``; characters that the terminal's encoding lacks are printed as "?"."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's idle threads would take the processors from others
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


def with_exit_code(run: Callable[..., int]) -> Callable[..., None]:
    """Wrap a command: each warning or error is one line on stderr, errors have an exit code, never a traceback."""

    @wraps(run)
    def wrapped(*arguments: Any, **options: Any) -> None:  # noqa: ANN401  whatever the verb takes
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: _print_line(f"warning: {message}")
                warnings.filterwarnings("ignore", module=r"PIL\.")  # about unusual images
                code = run(*arguments, **options)
        except (Exception, KeyboardInterrupt) as error:
            code = _reported(error)
        if code != OK:
            raise typer.Exit(code)

    return wrapped


def _reported(error: BaseException) -> int:
    """Print an exception in one line; return its exit code."""
    if is_interruption(error):
        return report_interruption()
    if isinstance(error, InputError | MissingExtra):
        return _print_error(str(error), INPUT)
    if isinstance(error, OSError):
        path = f"{error.filename}: " if error.filename else ""
        code = INPUT if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError) else ENVIRONMENT
        return _print_error(path + (error.strerror or str(error) or type(error).__name__), code)
    if isinstance(error, MemoryError):
        return _print_error(f"out of memory{f' ({error})' if str(error) else ''}: {LESS_MEMORY}", ENVIRONMENT)
    package = Path(__file__).parents[1]
    frames = [one for one in extract_tb(error.__traceback__) if Path(one.filename).is_relative_to(package)]
    passed = ", ".join(f"{Path(one.filename).relative_to(package)}:{one.lineno}" for one in frames[:0:-1][:3])
    unexpected = f"unexpected {type(error).__name__}: {error} (at {passed}); please report this message"
    return _print_error(unexpected, ENVIRONMENT)  # a fault of ours


def _print_error(message: str, code: int) -> int:
    _print_line(" ".join(message.split()))
    return code


def _print_line(text: str) -> None:
    print(f"vqa-mc: {printable(redacted(text))}", file=sys.stderr)  # noqa: T201  this is the command line
