"""The result of every verb: printable in terminals and notebooks, convertible to a table and a dictionary."""

import io
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from hf_vqa_mc.errors import printable, python_names

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType

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

    @property
    def _inputs(self) -> Iterable[Path]:
        """Files and folders that were read, which `save` does not replace: those of the settings, if there are any."""
        paths: Iterable[Path] = getattr(getattr(self, "settings", None), "paths", ())
        return paths

    def _content(self, path: Path) -> bytes:
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
        from hf_vqa_mc.io.atomic import write_bytes
        from hf_vqa_mc.io.outputs import check_output_file

        check_output_file(Path(path), "path", self._inputs, overwrite)
        write_bytes(Path(path), self._content(Path(path)), overwrite)
        return [Path(path)]

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
class OutputResult(Result):
    """The result of a verb that writes it to the option ``output``, if that is given."""

    written: tuple[Path, ...] = field(default=(), kw_only=True)  #: the files

    def saved(self, settings: Any) -> Self:  # noqa: ANN401  of any verb
        """This result after it was written to the ``output`` of the settings, if there is one."""
        if settings.output is None:
            return self
        return replace(self, written=tuple(self.save(settings.output, getattr(settings, "overwrite", False))))


def frame_of(rows: Any, columns: Sequence[str] | None = None, dtype: type | None = None) -> Frame:  # noqa: ANN401
    """A data frame of records, lists or columns, as `pandas.DataFrame` takes them."""
    import pandas as pd

    return pd.DataFrame(rows, columns=columns, dtype=dtype)
