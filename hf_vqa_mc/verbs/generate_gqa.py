"""``hf_vqa_mc.generate_gqa`` and ``vqa-mc generate gqa``: scene graphs to a dataset in the layout of GQA's files."""

from pathlib import Path

from hf_vqa_mc.engines.settings import GeneratedResult, GqaSettings
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, overwrite_option, settings, subset, verb
from hf_vqa_mc.result import Frame, Report, frame_of
from hf_vqa_mc.text.tables import TextTable


@settings
class GenerateGqaSettings(GqaSettings):
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
