"""The examples in docstrings are run, so that what they show stays true."""

import doctest
import importlib
from pathlib import Path

import pytest

import hf_vqa_mc

PACKAGE = Path(hf_vqa_mc.__file__).parent
MODULES = sorted(
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for file in PACKAGE.rglob("*.py")
    if ">>> " in file.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted
    assert results.failed == 0
