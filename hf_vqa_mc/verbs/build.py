"""``hf_vqa_mc.build`` and ``vqa-mc build``: a source's annotation files to a dataset folder."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.dataset.settings import BuildSettings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.result import Frame, Report, Result, frame_of, verb
from hf_vqa_mc.text.counted import counted, percent
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from datasets import DatasetDict


@dataclass(frozen=True, eq=False, repr=False)
class BuildResult(Result):
    """The configs of a source in a dataset folder."""

    output: Path  #: the dataset folder; without an output, a temporary one that is deleted with this object
    source: str
    configs: Mapping[str, Any]  #: the source's configs, as in the folder's statistics.json
    default: str  #: the folder's default config
    removed: tuple[str, ...] = ()  #: configs of the source that an earlier build wrote and this one did not
    temporary: "TemporaryDirectory[str] | None" = None
    url: str | None = None  #: URL of the dataset folder in an object store, which has no ``output``

    def load(self, config: str | None = None) -> "DatasetDict":
        """The rows of a config, as ``load_dataset`` reads them; by default of the folder's default config.

        Raises:
            InputError: there is no such config, or the folder is in an object store.
        """
        from hf_vqa_mc.data.loading import load_splits

        self._check_local()
        return load_splits(str(self.output), config or self.default)[1]

    def report(self) -> Report:
        """A table of the configs, remarks and next steps."""
        from hf_vqa_mc.data.inventory import IMAGES, PREFERRED
        from hf_vqa_mc.dataset.card_text import choices_text, measured_split
        from hf_vqa_mc.schema import SPLITS

        splits = [split for split in SPLITS if any(split in config["splits"] for config in self.configs.values())]
        headings, lines = ("config", *splits, "choices", "answer prior", "chance"), []
        for name, config in self.configs.items():
            cells = [f"{config['splits'][split]['rows']:,}" if split in config["splits"] else "" for split in splits]
            if config["variant"] == IMAGES:
                cells = [f"{config['splits'][IMAGES]['rows']:,} images"]
            elif "open_ended" not in config:
                statistics = config["statistics"]
                measured = measured_split(statistics)
                prior = statistics["prior_rule"][measured] if measured else {}
                cells += [choices_text(statistics), *(percent(prior[key]) for key in ("accuracy", "chance") if prior)]
            lines.append((name, *cells, *[""] * (len(headings) - 1 - len(cells))))
        yield TextTable.of(headings, lines)
        yield from self._remarks()
        if self.removed:
            yield f"Removed, since this build did not make them: {', '.join(self.removed)}"
        if self.url:
            yield f"Output: {self.url}; its README.md describes how it was made and explains the figures."
        elif not self.temporary:
            names = [name for name, config in self.configs.items() if "statistics" in config]
            preferred = [name for name in names if name.endswith(f"_{PREFERRED}")]
            yield next_steps(self.output, next(iter(preferred), self.default if self.default in names else names[0]))

    def _remarks(self) -> Iterator[str]:
        """Remarks on the configs: other splits, rows left out, fallbacks, missing decoys."""
        from hf_vqa_mc.dataset.card_text import sets_in_words
        from hf_vqa_mc.schema import SPLITS

        for name, config in self.configs.items():
            statistics = config.get("statistics", {})
            for split, figures in config["splits"].items():
                if "open_ended" in config and split not in SPLITS:
                    yield f"{name}: with {figures['rows']:,} rows in the split {split}."
            for file, reason in statistics.get("not_read", {}).items():
                yield f"{name}: {file} was not read: {reason}."
            for reason, rows in statistics.get("left_out", {}).items():
                if rows:
                    yield f"{name}: {rows:,} left out: {reason}."
            yield from (f"{name}, {line}" for line in sets_in_words(statistics.get("closed_sets", {})))
            for kind, counts in statistics.get("fallbacks", {}).items():
                missing, all_choices = counts["missing"], max(counts["choices"], 1)
                fallback = counts["fallback"] / all_choices
                if fallback > 1 / 2:
                    yield f"{name}: {percent(fallback)} of its {kind} decoys are fallbacks; it mostly measures these."
                if missing:
                    lacking = f"{counted(missing, f'{kind} decoy')} missing ({percent(missing / all_choices)})"
                    yield f"{name}: {lacking}; such rows have fewer choices."

    def to_dict(self) -> dict[str, Any]:
        """All figures of the configs, as in statistics.json; fractions."""
        return {
            "output": self.url or str(self.output),
            "source": self.source,
            "default": self.default,
            "removed": list(self.removed),
            "configs": {
                name: {key: value for key, value in config.items() if key not in ("example", "files")}
                for name, config in self.configs.items()
            },
        }

    def to_pandas(self) -> Frame:
        """One row per config and split; choices and their figures where a row has choices, fractions in [0, 1].

        ``prior_rule`` and ``chance`` are accuracies on the split, ``fallbacks`` is the share of decoys that could not
        be found and were replaced, over all splits.
        """
        from hf_vqa_mc.dataset.card_text import choices_text

        rows = []
        for name, config in self.configs.items():
            statistics = config.get("statistics", {})
            sets = statistics.get("fallbacks", {}).values()
            decoys = sum(figures["choices"] for figures in sets)
            for split, size in config["splits"].items():
                prior = statistics.get("prior_rule", {}).get(split, {})
                row = {"config": name, "split": split, "rows": size["rows"]}
                row["choices"] = choices_text(statistics) if "choices_per_row" in statistics else None
                row |= {"prior_rule": prior.get("accuracy"), "chance": prior.get("chance")}
                row["fallbacks"] = sum(figures["fallback"] for figures in sets) / decoys if decoys else None
                rows.append(row)
        return frame_of(rows)

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Copy the source's configs into a dataset folder, new or of an earlier build.

        Returns:
            The files of the source.

        Raises:
            InputError: the folder was written by another program.
            OSError: the disk is full or read-only; an existing folder is unchanged.
        """
        from hf_vqa_mc.dataset.folder import copy_source

        self._check_local()
        copy_source(self.output, self.source, Path(path), overwrite)
        return [Path(path) / file for config in self.configs.values() for file in config["files"]]

    def _check_local(self) -> None:
        if self.url:
            raise InputError(f"{self.url}: download this folder first")


def next_steps(output: Path, config: str) -> str:
    """The path of the folder and commands that load it."""
    return "\n".join(
        [
            f"Output: {output}; its README.md describes how it was made and explains the figures.",
            "",
            f"  cd {shlex.quote(str(output.parent))}",
            f"""  python -c 'from datasets import load_dataset; print(load_dataset("{output.name}", "{config}"))'""",
            "",
            f'load_dataset("{output.name}", ...) finds this folder only in {output.parent}. In other directories it '
            f'looks for "{output.name}" on the Hugging Face Hub (offline: in its cache); use the full path there: '
            f'load_dataset("{output}", "{config}").',
        ]
    )


@verb(
    BuildSettings,
    "vqa-mc build cocoqa --data-dir cocoqa --word-vectors glove.6B.100d.txt",
    "vqa-mc build gqa --data-dir gqa --variants balanced",
)
def build(settings: BuildSettings, progress: Progress) -> BuildResult:
    """The configs with their statistics.

    ``.load(config)`` gives the rows, ``.save(folder)`` keeps them where no ``output`` was given.

    Raises:
        InputError: an input or option cannot be used; nothing was written.
        OSError: the output cannot be written (disk full, no permission); no partial output is left.
    """
    from tempfile import TemporaryDirectory

    from hf_vqa_mc.data.inventory import read_inventory
    from hf_vqa_mc.dataset.build import build_folder
    from hf_vqa_mc.io.cluster import is_url

    temporary = TemporaryDirectory(prefix="hf_vqa_mc-") if settings.output is None else None
    output = settings.output or str(Path(temporary.name if temporary else "", "vqa_mc"))
    sources = (read_inventory(Path(output)) or {"sources": {}})["sources"]
    before = sources.get(settings.source, {"configs": {}})["configs"]
    inventory = build_folder(settings, output, progress)
    configs = inventory["sources"][settings.source]["configs"]
    removed = tuple(sorted(before.keys() - configs.keys()))
    url = output if is_url(output) else None
    path = Path(output).absolute()
    return BuildResult(path, settings.source, configs, inventory["default"], removed, temporary, url)
