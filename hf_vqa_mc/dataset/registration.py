"""``register``: opt in to building with ``load_dataset("vqa_mc", ...)`` in datasets 4 and later.

These versions run no loading scripts, only their packaged modules. The list of these and the class that looks them up
are private, so any release may break this; a test fails then. ``VqaMc`` does not depend on it.
"""

from pathlib import Path

import datasets
from datasets import load
from datasets.data_files import DataFilesDict

from hf_vqa_mc.dataset.fingerprint import code_state
from hf_vqa_mc.dataset.inventory import read_inventory
from hf_vqa_mc.errors import InputError

NAME = "vqa_mc"
_MODULE = "hf_vqa_mc.dataset.builder"
_PRIVATE = ("_PACKAGED_DATASETS_MODULES", "PackagedDatasetModuleFactory", "LocalDatasetModuleFactory", "DatasetModule")


def register() -> None:
    """Let ``load_dataset("vqa_mc", CONFIG, data_dir=RAW_FILES)`` build from the publishers' files.

    Without ``data_dir`` the call reads a built folder ``./vqa_mc`` if there is one, else downloads the publishers'
    files and builds. Settings are keyword arguments:
    ``load_dataset("vqa_mc", "cocoqa_qou", data_dir=DIR, word_vectors=FILE, seed=1)``.

    Raises:
        RuntimeError: this version of datasets is not supported.
    """
    missing = [name for name in _PRIVATE if not hasattr(load, name)]
    if missing:
        raise RuntimeError(
            f"datasets {datasets.__version__} has no {', '.join(missing)} in datasets.load; use hf_vqa_mc.VqaMc("
            'config_name=..., data_dir=...) or build a folder with "vqa-mc build" instead'
        )
    load._PACKAGED_DATASETS_MODULES[NAME] = (_MODULE, code_state())
    if load.PackagedDatasetModuleFactory.__module__ != __name__:
        load.PackagedDatasetModuleFactory = _factory()


def _factory() -> type:
    """A class that finds the module without listing all files below ``data_dir`` or the current directory."""

    class Factory(load.PackagedDatasetModuleFactory):  # type: ignore[misc]
        def get_module(self) -> load.DatasetModule:
            if self.name != NAME:
                return super().get_module()
            if self.data_files is not None:
                raise InputError("vqa_mc reads the publishers' files from a folder: give data_dir, not data_files")
            if self.data_dir is None and read_inventory(Path(NAME)):
                return load.LocalDatasetModuleFactory(NAME, download_mode=self.download_mode).get_module()
            module, code = load._PACKAGED_DATASETS_MODULES[NAME]
            return load.DatasetModule(module, code, {"data_files": DataFilesDict(), "dataset_name": NAME})

    return Factory
