"""Verbs: public functions that are also commands, and their results, printable in terminals and notebooks."""

import inspect
import io
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from html import escape
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from hf_vqa_mc.errors import InputError, printable, python_names, unknown_name
from hf_vqa_mc.io.outputs import check_output_file, check_report_folder
from hf_vqa_mc.io.packed import reading
from hf_vqa_mc.io.progress import Progress, interactive_progress
from hf_vqa_mc.options import check_options, check_outputs, flag_of, input_paths, listed_options, spec_of

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Report: TypeAlias = "Iterator[RenderableType | Step]"
Frame: TypeAlias = "pd.DataFrame"
"""Names of types for results, whose packages are imported on first use."""
HTML_ROWS = 40
"""Maximum number of rows of a table in a notebook; rows in the middle are left out."""
FAILED = 3
"""Exit code of a command that worked, and found a threshold exceeded or a check failed."""
REPR_WIDTH = 120
"""Columns of a result's ``repr``."""


@dataclass(frozen=True)
class Step:
    """What to do next: why, and a verb with its arguments."""

    why: str
    verb: str
    inputs: tuple[object, ...]
    """positional arguments, a tuple for several paths; a benchmark in memory is called ``dataset``"""
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def command(self) -> str:
        """The command, quoted for a shell; the call of the function for a benchmark in memory."""
        if not all(isinstance(one, str | tuple) for one in self.inputs):
            return self.call
        words = ["vqa-mc", self.verb]
        for given in self.inputs:
            words += given if isinstance(given, tuple) else [str(given)]
        for name, value in self.options.items():
            parts = [f"{key}={one}" for key, one in value.items()] if isinstance(value, dict) else value
            text = ",".join(parts) if isinstance(parts, list | tuple) else str(value)
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [text])]
        return shlex.join(words)

    @property
    def call(self) -> str:
        """The call of the function."""
        inputs = [repr(one) if isinstance(one, str | tuple) else "dataset" for one in self.inputs]
        options = [f"{name}={one!r}" for name, one in self.options.items()]
        return f"hf_vqa_mc.{self.verb}({', '.join([*inputs, *options])})"


class Result(ABC):
    """The result of a verb; the command prints it with `rich`, or `to_dict` as JSON."""

    exit_code = 0
    """exit code of the command; `FAILED` if a threshold is exceeded or a check failed"""

    @abstractmethod
    def report(self) -> Report:
        """Tables (`rich.table.Table`) and lines of text, in order."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All figures, JSON-serializable; fractions, not percent."""

    @abstractmethod
    def to_pandas(self) -> Frame:
        """The main table, one row per item."""

    def _files(self) -> dict[str, bytes]:
        """The files of the result by name, if it is saved to a folder."""
        raise NotImplementedError

    def _content(self, suffix: str) -> bytes:
        """The content of a file of the result; the figures as JSON, unless a subclass has formats by suffix."""
        from hf_vqa_mc.io.atomic import json_bytes

        return json_bytes(self.to_dict(), 1)

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the result to a folder or file, atomically.

        Args:
            path: an existing file, or files changed after they were written to a folder, need ``overwrite``.
            overwrite: replace them; files in a folder that the package did not write are kept.

        Returns:
            The files written.

        Raises:
            InputError: the path is another program's file or folder.
            OSError: the disk is full or read-only; existing files are unchanged.
        """
        from hf_vqa_mc.io.atomic import publish, staged_files, write_bytes

        path, settings = Path(path), getattr(self, "settings", None)
        inputs = input_paths(settings) if settings else ()
        output = next((spec_of(one) for one in fields(settings) if one.name == "output"), None) if settings else None
        if output and output.folder:
            check_report_folder(path, output.folder, "path", inputs, overwrite)
            return publish(staged_files(path, output.folder, self._files(), overwrite))
        if output and output.check and not output.check[1](path):
            raise InputError(f"path {path}: expected {output.check[0]}")
        check_output_file(path, "path", inputs, overwrite)
        write_bytes(path, self._content(path.suffix), overwrite)
        return [path]

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        yield from self._printed(lambda text: text, lambda step: step.command)

    def __repr__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        console = Console(file=text, width=REPR_WIDTH, color_system=None, force_jupyter=False)
        for part in self._printed(python_names, lambda step: step.call):
            console.print(part, soft_wrap=True)
        return text.getvalue().rstrip("\n")

    def _printed(self, text: Callable[[str], str], step: Callable[[Step], str]) -> "Iterator[RenderableType]":
        """The report with its texts and next steps as the command or Python has them."""
        from rich.text import Text

        for part in self.report():
            if isinstance(part, Step):
                yield Text(f"\n{text(part.why)}:")
                yield Text(step(part), no_wrap=True, overflow="ignore")  # one line, to be copied
            else:
                yield Text(printable(text(part))) if isinstance(part, str) else part

    def _repr_html_(self) -> str:
        """The report; without a table in it, the main table first."""
        html = []
        for part in self.report():
            if isinstance(part, Step):
                html.append(f"<p>{escape(python_names(part.why))}: <code>{escape(part.call)}</code></p>")
            elif hasattr(part, "to_html"):  # a `text.tables.TextTable`
                html.append(part.to_html())
            elif isinstance(part, str) and part.strip():
                html.append(f"<p>{escape(python_names(part.strip()))}</p>")
        if not any(part.startswith("<table") for part in html):
            html[:0] = [self.to_pandas().to_html(index=False, max_rows=HTML_ROWS, float_format="{:.4g}".format)]
        return "".join(html)


@dataclass(frozen=True, eq=False, repr=False)
class TableResult(Result):
    """A result that is complete when it is made."""

    lines: Sequence[Any]  #: what is printed, as `report`
    figures: dict[str, Any]
    rows: Any  #: the main table, as `frame_of` or an Arrow table
    columns: Sequence[str] | None = None  #: of the main table, if the rows are lists or may be empty
    exit_code: int = 0

    def report(self) -> Report:
        """The lines."""
        yield from self.lines

    def to_dict(self) -> dict[str, Any]:
        """The figures; fractions, not percent."""
        return self.figures

    def to_pandas(self) -> Frame:
        """The main table."""
        return self.rows.to_pandas() if hasattr(self.rows, "to_pandas") else frame_of(self.rows, self.columns)


@dataclass(frozen=True, eq=False, repr=False)
class OutputResult(Result):
    """The result of a verb that writes it to the option ``output``, if that is given."""

    settings: Any
    written: tuple[Path, ...] = field(default=(), kw_only=True)  #: the files

    def _save(self) -> Iterable[Path]:
        """Write the result to the outputs of the settings; the files."""
        output = self.settings.output
        return () if output is None else self.save(output, getattr(self.settings, "overwrite", False))


def frame_of(rows: Any, columns: Sequence[str] | None = None, dtype: type | None = None) -> Frame:  # noqa: ANN401
    """A data frame of records, lists or columns, as `pandas.DataFrame` takes them."""
    import pandas as pd

    return pd.DataFrame(rows, columns=columns, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb of Python and the command line."""

    name: str
    """name of the Python function and the command (``generate_gqa``: ``generate gqa``)"""
    settings: type
    run: Callable[[Any, Progress], Any]
    examples: tuple[str, ...]
    settings_file: bool = False
    """whether ``--settings FILE`` reads settings from YAML"""

    @property
    def summary(self) -> str:
        """Description from the docstring of the settings."""
        return (inspect.getdoc(self.settings) or "").partition("Raises:")[0].rstrip()


class PublicFunction(Protocol[P, R_co]):
    """A function of the package that is also a command."""

    verb: Verb

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Takes the fields of the settings."""


def verb(
    settings: Callable[P, S], *examples: str, settings_file: bool = False
) -> Callable[[Callable[[S, Progress], R]], PublicFunction[P, R]]:
    """Make a public function of one that takes settings and progress: its arguments are the fields of the settings.

    Its docstring begins with what it returns, followed by the section ``Raises``.

    Args:
        settings: dataclass whose docstring describes the verb.
        examples: command lines.
        settings_file: whether the command also reads a YAML file of settings.
    """

    def decorated(run: Callable[[S, Progress], R]) -> PublicFunction[P, R]:
        def reported(made: S, progress: Progress) -> R:
            check_options(made, inputs=True)
            check_outputs(made)
            with reading(progress):
                done = run(made, progress)
                return replace(done, written=tuple(done._save())) if isinstance(done, OutputResult) else done

        @wraps(run)
        def function(*args: P.args, **kwargs: P.kwargs) -> R:
            known = inspect.signature(settings)
            if unknown := next((name for name in kwargs if name not in known.parameters), None):
                within = [one.name for one in fields(declared.settings) if f"{unknown}=" in spec_of(one).help]
                why = f"unknown argument {unknown!r}; give {within[0]}={{{unknown!r}: ...}}" if within else ""
                raise TypeError(f"{run.__name__}(): {why or unknown_name('argument', unknown, known.parameters)}")
            known.bind(*args, **kwargs)  # names a missing argument
            try:
                with interactive_progress() as progress:
                    return reported(settings(*args, **kwargs), progress)
            except InputError as error:
                every = fields(declared.settings)
                flags = {flag_of(one): f"{one.name}=True" if one.type is bool else one.name for one in every}
                error.args = (python_names(str(error), flags),)
                raise

        declared = Verb(run.__name__, settings, reported, examples, settings_file)  # type: ignore[arg-type]
        arguments = [f"    {one.name}: {spec_of(one).help}" for one in listed_options(declared.settings)]
        returns, _, errors = (inspect.getdoc(run) or "").partition("\n\nRaises:")
        sections = [declared.summary, "\n".join(["Args:", *arguments]), f"Returns:\n{indent(returns, '    ')}"]
        function.__doc__ = "\n\n".join([*sections, f"Raises:{errors}"] if errors else sections)
        annotation = inspect.signature(run).return_annotation
        signature = inspect.signature(settings).replace(return_annotation=annotation)
        function.__signature__ = signature  # type: ignore[attr-defined]
        function.verb = declared  # type: ignore[attr-defined]
        del function.__wrapped__
        return cast(PublicFunction[P, R], function)

    return decorated
