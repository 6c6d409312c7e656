"""``hf_vqa_mc.generate_gqa`` and ``vqa-mc generate gqa``: scene graphs to a dataset in the layout of GQA's files."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hf_vqa_mc.engines.settings import SHARES, SPLITS
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, SEED, check_options, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.text.tables import TextTable


@settings
class GenerateGqaSettings:
    """Generate questions from scene graphs: with programs, references, entailment and balanced answers.

    Then `vqa-mc build gqa --data-dir OUTPUT --word-vectors corpus` gives each question decoys, or with
    `--variants sets_latin` and others closed answer sets.

    Raises:
        InputError: an option is out of range; names it.
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
    splits: Mapping[str, float] = option(
        "Fraction of the images per split: train, val, test, challenge.", factory=lambda: dict(SPLITS), separator=","
    )
    keep_splits: bool = option(
        "Use the split in each file's name, such as train in train_sceneGraphs.json.", default=False
    )
    shares: Mapping[str, float] = option(
        "Fraction of the balanced questions per structural type, such as query=0.4,verify=0.3; others have no limit.",
        factory=lambda: dict(SHARES),
        separator=",",
        panel=ADVANCED,
    )
    seed: int = option("Random seed.", default=0, check=SEED)

    def __post_init__(self) -> None:
        from hf_vqa_mc.scoring.gqa_types import STRUCTURAL_TYPES

        check_options(self)
        _check_fractions("--splits", "split", self.splits, SPLITS)
        if abs(sum(self.splits.values()) - 1) > 1e-6:
            listed = ", ".join(f"{name} {share:g}" for name, share in self.splits.items()) or "none"
            raise InputError(f"--splits: {listed}; expected fractions that add up to 1")
        _check_fractions("--shares", "structural type", self.shares, STRUCTURAL_TYPES)
        if (total := sum(self.shares.values())) > 1 + 1e-9:
            raise InputError(f"--shares: they add up to {total:g}, expected 1 at most")


def _check_fractions(flag: str, what: str, given: Mapping[str, float], known: Iterable[str]) -> None:
    for name, fraction in given.items():
        if name not in known:
            raise unknown_name(what, name, known)
        if not 0 < fraction <= 1:
            raise InputError(f"{flag}: {name} is {fraction}, expected above 0 and up to 1")


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


class GenerateGqaResult(GeneratedResult):
    """The generated dataset."""

    engine = "gqa"

    def report(self) -> Report:
        """Questions per type and split, omissions, and the command that adds decoys."""
        lines: list[tuple[str, ...]] = [
            (name if part == "split" else f"{part}: {name}", f"{count:,}", f"{kept:,}")
            for part, rows in self._counts().items()
            for name, count, kept in rows
        ]
        lines.append(("all", *(f"{self.statistics[part]['questions']:,}" for part in ("all", "balanced"))))
        entropy = self.statistics["entropy"]["global_groups"]
        bits = (f"{entropy[moment]:.2f}" for moment in ("before", "after"))
        lines.append(("entropy of a group's answers, bits", *bits))
        yield TextTable.of(("questions", "all", "balanced"), lines)
        for reason, count in self.statistics["problems"].items():
            if count:
                yield f"left out: {reason}: {count:,}"
        yield from self.next_steps()

    def _counts(self) -> dict[str, list[tuple[str, int, int]]]:
        """Type or split to (name, questions, balanced questions)."""
        everything, balanced = self.statistics["all"], self.statistics["balanced"]
        keys = {"structural": "per_structural_type", "semantic": "per_semantic_type", "split": "per_split"}
        return {
            part: [(name, count, balanced[key].get(name, 0)) for name, count in everything[key].items()]
            for part, key in keys.items()
        }

    def to_pandas(self) -> Frame:
        """One row per structural type, semantic type and split: number of questions, all and balanced."""
        rows = [(part, *row) for part, of_part in self._counts().items() for row in of_part]
        return frame_of(rows, columns=["by", "name", "all", "balanced"])


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

    given = dict(vars(settings))
    ontology = read_ontology(given.pop("objects"), given.pop("attributes"))
    statistics = generate(**given, ontology=ontology, progress=progress)
    return GenerateGqaResult(settings.output.resolve(), statistics)
