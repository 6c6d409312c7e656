"""``vqa-mc``: one verb a file; what a verb needs is imported when it runs."""

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, TextIO

import typer

from hf_vqa_mc.cli.command import command
from hf_vqa_mc.cli.quickstart import quickstart
from hf_vqa_mc.errors import InputError, MissingExtra

OK, ENVIRONMENT, INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: done; the machine's fault (disk, network); the input's fault; Ctrl-C. 3 is ``audit --fail-above``'s."""

app = typer.Typer(
    name="vqa-mc",
    help="Multiple-choice VQA that is harder to game: rebuild datasets with decoys that shut shortcuts out.",
    epilog="Example: vqa-mc build cocoqa --data-dir cocoqa --word-vectors glove.6B.100d.txt",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from hf_vqa_mc.version import __version__

        print(f"vqa-mc {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def vqa_mc(
    version: Annotated[
        bool, typer.Option("--version", help="Tell the version and exit.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    """The options of vqa-mc itself."""


generate = typer.Typer(
    name="generate",
    help="Make questions, as the makers of TDIUC, GQA and VQA2 made theirs, for your own images.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)


def register(name: str, group: typer.Typer = app) -> None:
    """Add the command of a verb of ``verbs.VERBS``."""
    declared = getattr(import_module(f"hf_vqa_mc.verbs.{name}"), name).verb
    verb(command(declared), group, name.removeprefix("generate_"))


def verb(function: Callable[..., int | None], group: typer.Typer = app, name: str | None = None) -> None:
    """Makes a function a command whose errors are one line on stderr and an exit code, never a traceback.

    Args:
        function: what the command does.
        group: what it is a command of.
        name: as users type it; by default the function's.
    """

    @wraps(function)
    def told(*arguments: Any, **options: Any) -> None:  # noqa: ANN401  whatever the verb takes
        with warnings.catch_warnings():
            warnings.showwarning = _one_line
            code = _exit_code(partial(function, *arguments, **options))
        if code != OK:
            raise typer.Exit(code)

    group.command(name)(told)


def main() -> None:
    """Run ``vqa-mc``; what the terminal's encoding lacks is shown as "?"."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's idle threads would take the processors from others
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


def _exit_code(run: Callable[[], int | None]) -> int:
    try:
        return run() or OK
    except (InputError, MissingExtra) as error:
        return _say(str(error), INPUT)
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        return _say((error.strerror or str(error) or type(error).__name__) + place, ENVIRONMENT)
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)


def _say(message: str, code: int) -> int:
    print(f"vqa-mc: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201  this is the command line
    return code


def _one_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"vqa-mc: warning: {message}", file=sys.stderr)  # noqa: T201


verb(quickstart)
register("build")
register("audit")
register("remedy")
register("preview")
register("export")
register("score")
register("features")
register("train")
register("predict")
register("transfer")
register("push")
register("generate_tdiuc", generate)
register("generate_complementary", generate)
register("generate_gqa", generate)
app.add_typer(generate)
