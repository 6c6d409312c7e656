"""The examples in docstrings are run, so that what they show stays true."""

import doctest
import importlib
import pkgutil

import pytest

import hf_vqa_mc

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(hf_vqa_mc.__path__, "hf_vqa_mc.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) > 10
