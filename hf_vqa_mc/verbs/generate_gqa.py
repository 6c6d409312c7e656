"""``hf_vqa_mc.generate_gqa`` and ``vqa-mc generate gqa``: scene graphs to a dataset in the layout of GQA's files."""

from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.engines.generated_folder import GeneratedResult
from hf_vqa_mc.engines.gqa.settings import SHARES, GqaSettings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import (
    Check,
    option,
    overwrite_option,
    settings,
    subset,
    verb,
)
from hf_vqa_mc.result import Frame, Report, frame_of
from hf_vqa_mc.text.tables import TextTable
from hf_vqa_mc.verbs.build import BuildResult

if TYPE_CHECKING:
    from hf_vqa_mc.engines.gqa.ontology import Ontology

_SIZE: Check = ("an integer from 2 to 7", lambda value: 2 <= value <= 7)
_GRID_SIZE: Check = ("4 or 6", lambda value: value in (4, 6))
_SETS = ("latin", "same_question", "grid")
"""Options that ask for closed answer sets."""
_OF_SETS = ("keep_splits", "depth", "most")
"""Settings of the engine that closed answer sets depend on, for the dataset card."""


@settings
class GenerateGqaSettings(GqaSettings):
    """Generate questions from scene graphs: with programs, references, entailment and balanced answers.

    Then `vqa-mc build gqa --data-dir OUTPUT --word-vectors corpus` gives each question decoys. With --latin,
    --same-question or --grid, the output is a folder for load_dataset with closed answer sets instead, in which the
    same questions are asked about several images.

    Raises:
        InputError: an option is out of range, or two exclude each other; names them.
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
    latin: int | None = option(
        "Make Latin squares: K questions about each of K images with K answers, each once per question and image.",
        default=None,
        check=_SIZE,
    )
    same_question: int | None = option(
        "Make sets of one question about K images with K different answers; fewer where it has fewer answers.",
        default=None,
        check=_SIZE,
    )
    grid: int | None = option(
        "Make grids of similar questions about the same images, with K = 4 or 6 different answers.",
        default=None,
        check=_GRID_SIZE,
    )

    def __post_init__(self) -> None:
        """Convert and validate."""
        super().__post_init__()
        given = [f"--{name.replace('_', '-')}" for name in _SETS if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} exclude each other; remove one of them")
        if given and self.shares != SHARES:
            raise InputError("--shares: closed answer sets are not balanced; remove it")

    @property
    def sets(self) -> tuple[str, int] | None:
        """The variant and size of the closed answer sets; None for questions without choices."""
        sizes = {name: getattr(self, name) for name in _SETS}
        return next(((f"sets_{name}", size) for name, size in sizes.items() if size is not None), None)


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
    "vqa-mc generate gqa train_sceneGraphs.json --latin 2 --output vqa_mc",
)
def generate_gqa(settings: GenerateGqaSettings, progress: Progress) -> GenerateGqaResult | BuildResult:
    """Generate questions from scene graphs.

    Returns:
        The folder that was written, in the layout of GQA's files, and its statistics. With closed answer sets, the
        config as `build` returns it.

    Raises:
        InputError: an input cannot be used; nothing was written.
    """
    from hf_vqa_mc.engines.gqa.generate import generate
    from hf_vqa_mc.engines.gqa.ontology_files import read_ontology

    ontology = read_ontology(settings.objects, settings.attributes)
    if settings.sets is not None:
        return _write_sets(settings, *settings.sets, ontology, progress)
    statistics = generate(
        settings.scene_graphs,
        settings.output,
        subset(settings, GqaSettings),
        ontology=ontology,
        overwrite=settings.overwrite,
        progress=progress,
    )
    return GenerateGqaResult(settings.output.resolve(), statistics)


def _write_sets(
    settings: GenerateGqaSettings, variant: str, size: int, ontology: "Ontology | None", progress: Progress
) -> BuildResult:
    """Write a dataset folder with closed answer sets of a variant."""
    from hf_vqa_mc.dataset.build import about_source, made_with
    from hf_vqa_mc.dataset.build_inputs import VariantInputs
    from hf_vqa_mc.dataset.folder import BUILT, write_folder
    from hf_vqa_mc.dataset.variants import build_variants
    from hf_vqa_mc.decoys.crossed_sets import QUESTION_SETS
    from hf_vqa_mc.decoys.settings import Settings
    from hf_vqa_mc.engines.gqa.crossed import crossed_questions
    from hf_vqa_mc.engines.gqa.own_ontology import own_ontology
    from hf_vqa_mc.io.outputs import check_output, check_outside
    from hf_vqa_mc.sources import SOURCES
    from hf_vqa_mc.sources.source import as_generated
    from hf_vqa_mc.version import __version__

    check_output(settings.output, BUILT, settings.overwrite)
    check_outside(settings.output, "output", settings.scene_graphs)
    words = ontology or own_ontology()
    triplets = crossed_questions(
        settings.scene_graphs,
        subset(settings, GqaSettings),
        ontology=words,
        per_answer=QUESTION_SETS if settings.same_question else None,
        progress=progress,
    )
    inputs = VariantInputs(triplets, (variant,), None, Settings(set_size=size, seed=settings.seed))
    made = made_with("generated", inputs.settings, triplets.num_rows)
    splits = ", ".join(f"{name}={share:g}" for name, share in settings.splits.items())
    made["settings"] |= {name: getattr(settings, name) for name in _OF_SETS} | {
        "splits": splits,
        "ontology": words.name,
    }
    source = as_generated(SOURCES["gqa"], __version__)
    inventory = write_folder(
        settings.output,
        source.name,
        build_variants(triplets, inputs.names, None, inputs.settings, progress),
        about=about_source(source),
        made_with=made,
        overwrite=settings.overwrite,
        progress=progress,
    )
    configs = inventory["sources"][source.name]["configs"]
    return BuildResult(settings.output.absolute(), source.name, configs, inventory["default"])
