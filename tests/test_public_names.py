"""What can be imported from the package, and how little is loaded for it."""

import dataclasses
import inspect
import json
import subprocess
import sys

import pytest

import hf_vqa_mc
from hf_vqa_mc.verbs import VERBS

HEAVY = ("torch", "datasets", "transformers", "gensim", "numba", "numpy", "pyarrow", "nltk", "evaluate", "PIL")


def loaded_by(code: str) -> set[str]:
    """The heavy packages that a fresh Python has loaded after this code."""
    report = f"\nimport json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code + report], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def commands() -> list[str]:
    """Every command of vqa-mc, "" for vqa-mc itself."""
    import typer

    from hf_vqa_mc.cli import app

    return ["", *typer.main.get_group(app).commands]


def test_every_verb_is_a_function_with_its_settings_as_arguments():
    for name in VERBS:
        function = getattr(hf_vqa_mc, name)
        assert function.__name__ == name and name in hf_vqa_mc.__all__
        fields = dataclasses.fields(function.verb.settings)
        assert set(inspect.signature(function).parameters) == {field.name for field in fields}
        for field in fields:
            assert f"{field.name}: " in function.__doc__


@pytest.mark.slow
def test_no_module_replaces_a_public_function(preloaded):
    code = """
import importlib, pkgutil, types, hf_vqa_mc
for module in pkgutil.walk_packages(hf_vqa_mc.__path__, "hf_vqa_mc."):
    if not module.name.endswith(("__main__", ".app")):
        importlib.import_module(module.name)
for name in hf_vqa_mc.__all__:
    assert not isinstance(getattr(hf_vqa_mc, name), types.ModuleType), name
"""
    subprocess.run([preloaded / "python", "-c", code], check=True)


def test_all_is_what_can_be_imported():
    assert sorted(hf_vqa_mc.__all__) == hf_vqa_mc.__all__
    for name in hf_vqa_mc.__all__:
        assert getattr(getattr(hf_vqa_mc, name), "__name__", name) == name
    assert set(hf_vqa_mc.__all__) <= set(dir(hf_vqa_mc))
    assert {name for name in dir(hf_vqa_mc) if not name.startswith("__")} == set(hf_vqa_mc.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'hf_vqa_mc' has no attribute 'VqaMcc'"):
        _ = hf_vqa_mc.VqaMcc


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_by("import hf_vqa_mc; hf_vqa_mc.InputError") == set()


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert hf_vqa_mc.__version__ == version("hf_vqa_mc")
    done = subprocess.run([sys.executable, "-m", "hf_vqa_mc", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"vqa-mc {hf_vqa_mc.__version__}\n"


def test_completion_loads_nothing_heavy():
    words = {"_VQA_MC_COMPLETE": "complete_bash", "COMP_WORDS": "vqa-mc build --deco", "COMP_CWORD": "2"}
    code = f"""
import os, sys
os.environ |= {words!r}
sys.argv = ["vqa-mc"]
from hf_vqa_mc.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
    assert loaded_by(code) == set()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) == {"--decoys", "--decoys-from", "--decoys-per-set"}


@pytest.mark.slow
def test_every_help_has_its_examples_and_loads_nothing_heavy():
    code = f"""
import io, json, os, sys
from contextlib import redirect_stdout
from hf_vqa_mc.cli import main

os.environ |= {{"COLUMNS": "200", "TERM": "dumb"}}
for command in {commands()!r}:
    sys.argv = ["vqa-mc", *command.split(), "-h"]
    try:
        with redirect_stdout(io.StringIO()) as text:
            main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
    assert command in ("", "generate", "study") or f"Example: vqa-mc {{command}}" in text.getvalue(), command
    assert "<bool>" not in text.getvalue(), command
    assert not [name for name in {HEAVY!r} if name in sys.modules], command
"""
    subprocess.run([sys.executable, "-c", code], check=True)
