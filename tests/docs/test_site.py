"""The documentation builds without warnings, and the notebooks run."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import hf_vqa_mc
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.options import flag_of, spec_of
from hf_vqa_mc.verbs import PANELS, VERBS

DOCS = Path(__file__).parents[2] / "docs"
QUICKSTART = 'vm.quickstart(output="vqa_mc")\n'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages."""
    tmp_path = tmp_path_factory.mktemp("docs")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-b",
        "html",
        "-d",
        tmp_path / "cache",
        DOCS,
        tmp_path / "site",
    ]
    done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tmp_path / "site"


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_links_its_pages(site):
    assert {page.stem for page in site.glob("*.html")} >= {page.stem for page in DOCS.glob("*.md")}
    assert "fail_above" in (site / "api.html").read_text("utf-8")
    models = (site / "models.html").read_text("utf-8")
    assert all(setting in models for model in MODELS.values() for setting in (model.name, *model.defaults()))


@pytest.mark.slow
def test_the_page_of_commands_has_every_verb_and_option_in_the_groups_of_the_help(site):
    page = (site / "cli.html").read_text("utf-8")
    assert [unescape(title) for title in re.findall(r"<h2>(.*?)<a", page)] == [*PANELS]
    for name in VERBS:
        verb = getattr(hf_vqa_mc, name).verb
        anchor = f"vqa-mc-{name.replace('_', '-')}"
        (section,) = re.findall(rf'<section id="{anchor}">(.*?)</section>', page, re.DOTALL)
        text = unescape(re.sub(r"<[^>]+>", "", section))
        assert all(example in text for example in verb.examples), name
        for one in fields(verb.settings):
            assert f"\n{flag_of(one)}" in text, (name, one.name)
            assert spec_of(one).help in text, (name, one.name)


def test_the_index_for_language_models_names_every_page():
    text = (DOCS / "llms.txt").read_text("utf-8")
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md", "notebooks.md"} == {
        word for page in DOCS.glob("*.md") if (word := page.name) and f"]({word})" in text
    }


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("easy_vqa") is None, reason="the package easy-vqa is not installed")
@pytest.mark.parametrize("path", sorted(DOCS.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path, quickstart_dataset, part_of_easy_vqa, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{part_of_easy_vqa}{os.pathsep}{DOCS.parent}")
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if QUICKSTART in cell.source:  # which the tests already have run
            shutil.copytree(quickstart_dataset, tmp_path / "vqa_mc")
            cell.source = cell.source.replace(QUICKSTART, "")
    assert any(cell.get("outputs") for cell in notebook.cells), "stored without outputs: run it and save it"
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert all(output.data["text/plain"] for output in outputs if output.output_type == "execute_result")
    assert len(nbformat.writes(notebook)) < 200_000, "progress or a table floods the notebook"
