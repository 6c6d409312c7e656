"""``hf_vqa_mc.generate_gqa`` and ``vqa-mc generate gqa``: scene graphs to a dataset in the layout of GQA's files."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.engines.gqa.settings import GqaSettings
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ReadOptions, option, overwrite_option, settings, subset, verb
from hf_vqa_mc.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType


@settings
class GenerateGqaSettings(GqaSettings, ReadOptions):
    """Generate questions from scene graphs: with programs, references, entailment and balanced answers.

    Then `vqa-mc build gqa --data-dir OUTPUT --word-vectors corpus` gives each question decoys.
    """

    scene_graphs: tuple[Path, ...] = option(
        "Files in the layout of GQA's train_sceneGraphs.json, or folders with Visual Genome's scene_graphs.json (or "
        "objects, attributes, relationships) and image_data.json; packed or not.",
        kw_only=False,
    )
    output: Path = option("Folder to write.")
    overwrite: bool = overwrite_option()
    objects: Path | None = option("GQA's ontology of objects (objects.txt); by default our own words.", default=None)
    attributes: Path | None = option("GQA's ontology of attributes (attributes.txt), with --objects.", default=None)


@dataclass(frozen=True, eq=False, repr=False)
class GenerateGqaResult(Result):
    """The generated dataset."""

    output: Path
    statistics: Mapping[str, Any]  # as in the folder's ``statistics.json``

    def report(self) -> "Iterator[RenderableType]":
        """Questions per type and split, omissions, and the command that adds decoys."""
        from rich.table import Table

        table = Table("questions", "all", "balanced")
        for column in table.columns[1:]:
            column.justify = "right"
        for part, rows in self._counts().items():
            for name, count, kept in rows:
                table.add_row(name if part == "split" else f"{part}: {name}", f"{count:,}", f"{kept:,}")
            if part != "structural":
                table.add_section()
        counts = [self.statistics[part]["questions"] for part in ("all", "balanced")]
        table.add_row("all", *(f"{count:,}" for count in counts))
        entropy = self.statistics["entropy"]["global_groups"]
        table.add_row("entropy of a group's answers, bits", f"{entropy['before']:.2f}", f"{entropy['after']:.2f}")
        yield table
        for reason, count in self.statistics["problems"].items():
            if count:
                yield f"left out: {reason}: {count:,}"
        yield f"wrote {self.output}; statistics.json has all counts. Add decoys to each question with"
        yield f"\n  vqa-mc build gqa --data-dir {shlex.quote(str(self.output))} --word-vectors corpus"

    def _counts(self) -> dict[str, list[tuple[str, int, int]]]:
        """Type or split to (name, questions, balanced questions)."""
        everything, balanced = self.statistics["all"], self.statistics["balanced"]
        keys = {"structural": "per_structural_type", "semantic": "per_semantic_type", "split": "per_split"}
        return {
            part: [(name, count, balanced[key].get(name, 0)) for name, count in everything[key].items()]
            for part, key in keys.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """All counts, as in statistics.json; entropies in bits."""
        return dict(self.statistics)

    def to_pandas(self) -> "pd.DataFrame":
        """One row per structural type, semantic type and split: number of questions, all and balanced."""
        import pandas as pd

        rows = [(part, *row) for part, of_part in self._counts().items() for row in of_part]
        return pd.DataFrame(rows, columns=["by", "name", "all", "balanced"])

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Copy the generated folder."""
        from hf_vqa_mc.engines.generated_folder import copy_generated

        return copy_generated(self.output, Path(path), "gqa", overwrite)


@verb(
    GenerateGqaSettings,
    "vqa-mc generate gqa train_sceneGraphs.json --output my_gqa",
    "vqa-mc generate gqa train_sceneGraphs.json val_sceneGraphs.json --keep-splits --output my_gqa",
)
def generate_gqa(settings: GenerateGqaSettings, progress: Progress) -> GenerateGqaResult:
    """Generate questions from scene graphs.

    Returns:
        The folder that was written, in the layout of GQA's files, and its statistics.

    Raises:
        InputError: an input cannot be used; nothing was written.
    """
    from hf_vqa_mc.engines.gqa.generate import generate
    from hf_vqa_mc.engines.gqa.ontology_files import read_ontology

    ontology = read_ontology(settings.objects, settings.attributes)
    statistics = generate(
        settings.scene_graphs,
        settings.output,
        subset(settings, GqaSettings),
        ontology=ontology,
        overwrite=settings.overwrite,
        progress=progress,
    )
    return GenerateGqaResult(settings.output.resolve(), statistics)
