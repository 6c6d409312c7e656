"""Folders of generated files, written atomically; only the same engine replaces one."""

import contextlib
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hf_vqa_mc.io.atomic import new_folder
from hf_vqa_mc.io.outputs import MANIFEST, FolderKind, check_output
from hf_vqa_mc.result import Result


def check_generated_folder(output: Path, engine: str, overwrite: bool = False) -> None:
    """Raise InputError unless the path is free, an empty folder or one of this engine, in an existing folder."""
    check_output(output, FolderKind(f"vqa-mc generate {engine}"), overwrite)


@contextlib.contextmanager
def generated_folder(output: Path, engine: str, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder next to the output, which replaces it atomically when the block ends without an error.

    The block must write ``statistics.json`` with ``"engine": engine``, such as ``gqa``, and ``"version"``.
    """
    with new_folder(output, FolderKind(f"vqa-mc generate {engine}"), overwrite) as new:
        yield new.tree
        new.publish()


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedResult(Result):
    """A generated dataset."""

    engine: ClassVar[str]
    output: Path
    statistics: Mapping[str, Any]  # as in the folder's ``statistics.json``

    def next_steps(self) -> Iterator[str]:
        """The folder, and the command that adds decoys."""
        yield f"wrote {self.output}; statistics.json has all counts. Add decoys to each question with"
        yield f"\n  vqa-mc build {self.engine} --data-dir {shlex.quote(str(self.output))} --word-vectors corpus"

    def to_dict(self) -> dict[str, Any]:
        """All counts, as in statistics.json, and the output folder; entropies in bits."""
        return {**self.statistics, "output": str(self.output)}

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Copy the generated folder; returns the files written."""
        with generated_folder(Path(path), self.engine, overwrite) as copy:
            names = sorted(one.name for one in self.output.iterdir() if one.is_file() and one.name != MANIFEST)
            for name in names:
                shutil.copyfile(self.output / name, copy / name)
        return [Path(path) / name for name in names]
