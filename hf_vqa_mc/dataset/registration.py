"""``register``: the opt-in that lets ``load_dataset("vqa_mc", ...)`` run our builder in datasets 4 and later.

These versions run no loading scripts; the modules they come with are the only builders that a name stands for. The
list of those is private, and so is the class that looks one up, so this may stop working with any release: a test
says so, and ``VqaMc`` used directly does not depend on it.
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
    """From here on ``load_dataset("vqa_mc", CONFIG, data_dir=RAW_FILES)`` builds from the publishers' files.

    Without ``data_dir`` the call still reads a built folder ``./vqa_mc`` where there is one; elsewhere it fetches the
    publishers' files and builds, where it would otherwise have asked the Hub for a dataset of this name. Settings are
    keyword arguments, as in ``load_dataset("vqa_mc", "cocoqa_qou", data_dir=DIR, word_vectors=FILE, seed=1)``.

    Raises:
        RuntimeError: this version of datasets is made in another way.
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
    """A class that finds our module without first listing every file below ``data_dir`` or the working directory."""

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
