"""``VqaMc``: a ``datasets`` builder of the same rows, without a dataset folder; ``register`` for ``load_dataset``."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, make_dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
from datasets import load
from datasets.data_files import DataFilesDict
from datasets.utils.py_utils import classproperty
from datasets.utils.tqdm import tqdm

from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.dataset.build import about_source
from hf_vqa_mc.dataset.build_inputs import fingerprint, gather, input_state, vectors_state
from hf_vqa_mc.dataset.card import multiple_choice_features
from hf_vqa_mc.dataset.settings import DecoySettings
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.variants import build_variants, needs_published
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import progress_bars
from hf_vqa_mc.options import default_of, subset
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.open_ended import Reading
from hf_vqa_mc.sources.source import OpenedSource, OpenEnded, open_source
from hf_vqa_mc.sources.table import regrouped
from hf_vqa_mc.version import code_state

NAME = "vqa_mc"


@dataclass
class _Config(datasets.BuilderConfig):  # type: ignore[misc]
    """Source and variant to build; `VqaMcConfig` has the fields of `DecoySettings` as well."""

    source: str = ""
    variant: str = ""

    def settings(self) -> DecoySettings:
        """Origin of decoys and parameters of the method."""
        return subset(self, DecoySettings)

    def create_config_id(self, config_kwargs: dict[str, Any], custom_features: datasets.Features | None = None) -> str:
        """The name of the cache folder, with a hash of everything on which rows depend, including files and code."""
        source = SOURCES.find(self.source)
        vectors = self.word_vectors or source.default_word_vectors
        parts = {
            "settings": asdict(self.settings()),
            "vectors": vectors_state(vectors) if vectors else None,
            "plausible": vectors_state(str(self.plausible)) if self.plausible else None,
            "input": input_state(source, None if self.data_dir is None else Path(self.data_dir)),
            "code": code_state(),
        }
        return f"{super().create_config_id({}, custom_features)}-{fingerprint(parts)}"


VqaMcConfig = make_dataclass(
    "VqaMcConfig",
    [(one.name, one.type, default_of(one)) for one in fields(DecoySettings)],
    bases=(_Config,),
    namespace={"__module__": __name__, "__doc__": _Config.__doc__},
)


def _configs() -> dict[str, _Config]:
    found = [
        (f"{one.name}_{name}", one.name, name, f"{one.title}, variant {name}")
        for one in SOURCES.values()
        for name, variant in VARIANTS.items()
        if one.has_orig_decoys or not needs_published(variant)
    ]
    found += [(config.name, one.name, config.word, config.description)
              for one in SOURCES.values() for config in one.open_ended]  # fmt: skip
    names = ("name", "source", "variant", "description")
    return {config[0]: VqaMcConfig(**dict(zip(names, config, strict=True))) for config in found}


class VqaMc(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """Build one config directly from the publisher's files.

    ::

        builder = hf_vqa_mc.VqaMc(config_name="cocoqa_iou_qou", data_dir="cocoqa", word_vectors="glove.txt")
        builder.download_and_prepare()          # or (folder, file_format="parquet")
        ds = builder.as_dataset()               # or builder.as_streaming_dataset()

    Raises:
        InputError: an unknown config, or files that cannot be used.
    """

    BUILDER_CONFIG_CLASS = VqaMcConfig
    BUILDER_CONFIGS = classproperty(classmethod(lambda _: [*_configs().values()]))  # sources may be added at any time
    builder_configs = classproperty(classmethod(lambda _: _configs()))

    def __init__(self, *args: Any, data_files: Any = None, **kwargs: Any) -> None:  # noqa: ANN401  as in datasets
        if data_files:
            raise InputError("vqa_mc reads the publishers' files from a folder: give data_dir, not data_files")
        name = kwargs.get("config_name")
        if name is not None and name not in self.builder_configs:
            raise unknown_name("config", name, self.builder_configs)
        self._rows: Mapping[str, pa.Table] = {}
        self._files: Files | None = None
        super().__init__(*args, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        about, opened = about_source(SOURCES.find(self.config.source)), self._open_ended
        content = opened.description if opened else f"Variant {self.config.variant}."
        return datasets.DatasetInfo(
            description=f"{about['description']} {content}",
            features=datasets.Features.from_arrow_schema(opened.schema) if opened else multiple_choice_features(),
            homepage=about["homepage"],
            license=about["licence"],
            citation=about["citation"],
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:  # noqa: ANN401  two classes
        splits: Iterable[str] = self._rows
        if self._open_ended:
            with self._explained():
                self._files = self._opened(dl_manager).files
                splits = Reading(self._open_ended, self._files).splits
        elif not self._rows:
            splits = self._rows = self._build(dl_manager)
        return [datasets.SplitGenerator(name=split, gen_kwargs={"split": split}) for split in splits]

    def _build(self, dl_manager: Any) -> Mapping[str, pa.Table]:  # noqa: ANN401
        """The rows of all splits; not made in `_generate_tables`, whose errors ``datasets`` wraps."""
        settings = self.config.settings()
        with progress_bars(tqdm, least=2) as progress:
            with self._explained():
                inputs, _ = gather(self._opened(dl_manager), [self.config.variant], settings, progress)
            (variant,) = build_variants(*inputs, progress)
        return dict(variant.splits)

    @property
    def _open_ended(self) -> OpenEnded | None:
        """The config's declaration if it is open-ended."""
        source = SOURCES.find(self.config.source)
        return next((one for one in source.open_ended if one.name == self.config.name), None)

    def _opened(self, dl_manager: Any) -> OpenedSource:  # noqa: ANN401
        folder = None if self.config.data_dir is None else Path(self.config.data_dir)
        downloads = dl_manager.download_config if isinstance(dl_manager, datasets.DownloadManager) else None
        return open_source(SOURCES.find(self.config.source), folder, downloads)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Add the alternatives to the error of a failed download."""
        config = self.config
        try:
            yield
        except (InputError, OSError) as error:
            if config.data_dir is not None or SOURCES.find(config.source).default_folder is not None:
                raise
            here = f"there is no built folder ./vqa_mc here ({Path.cwd()})"
            raise InputError(
                f"vqa_mc: no data_dir was given, {here}, and building {config.name} from downloaded files failed: "
                f'{error}. Give data_dir, or load_dataset("NAMESPACE/vqa_mc", ...) from the Hub'
            ) from error

    def _generate_tables(self, split: str) -> Iterator[tuple[int, pa.Table]]:
        if self._open_ended and self._files:
            schema = datasets.Features.from_arrow_schema(self._open_ended.schema).arrow_schema
            for number, piece in enumerate(Reading(self._open_ended, self._files).tables(split)):
                yield number, piece.cast(schema)
            return
        table = self._rows[split].cast(multiple_choice_features().arrow_schema)
        yield from enumerate(regrouped([table]))


def register() -> None:
    """Let ``load_dataset("vqa_mc", CONFIG, data_dir=RAW_FILES)`` build from the publishers' files.

    datasets 4 and later run no loading scripts, only their packaged modules; this adds one to their private list.
    Without ``data_dir`` the call reads a built folder ``./vqa_mc`` if there is one, else downloads the publishers'
    files and builds. Settings are keyword arguments:
    ``load_dataset("vqa_mc", "cocoqa_qou", data_dir=DIR, word_vectors=FILE, seed=1)``.
    """
    load._PACKAGED_DATASETS_MODULES[NAME] = (__name__, code_state())
    if load.PackagedDatasetModuleFactory.__module__ == __name__:
        return

    class Factory(load.PackagedDatasetModuleFactory):  # type: ignore[misc]
        """Finds the module without listing all files below ``data_dir`` or the current directory."""

        def get_module(self) -> load.DatasetModule:
            if self.name != NAME:
                return super().get_module()
            if self.data_files is not None:
                raise InputError("vqa_mc reads the publishers' files from a folder: give data_dir, not data_files")
            if self.data_dir is None and read_inventory(Path(NAME)):
                return load.LocalDatasetModuleFactory(NAME, download_mode=self.download_mode).get_module()
            module, code = load._PACKAGED_DATASETS_MODULES[NAME]
            return load.DatasetModule(module, code, {"data_files": DataFilesDict(), "dataset_name": NAME})

    load.PackagedDatasetModuleFactory = Factory
