"""Every command and code block of README and docs runs, page by page, in the order in which a reader meets them."""

import ast
import csv
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from hf_vqa_mc.cli import GROUPS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FIRST_PAGES = {"README": pytest.mark.slow, "getting_started": pytest.mark.slow}  # the others take minutes
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*) -->\n)?```(?P<language>sh|python)\n(?P<code>.*?)```", re.DOTALL)

RUN_PAGE = """\
import json, subprocess, sys
namespace = {"__name__": "__main__"}
for language, code in json.load(open(sys.argv[1])):
    print(f"--- {language}\\n{code}", flush=True)
    if language == "sh":
        # remedy ends with 3 if its result is not better: a result, not an error
        remedy = 'vqa-mc() { command vqa-mc "$@" || [ "$1 $?" = "remedy 3" ]; }; '
        subprocess.run(["bash", "-euo", "pipefail", "-c", remedy + code], check=True)
    else:
        exec(compile(code, "block", "exec"), namespace)
"""


def blocks_of(page):
    """(note, language, code) of each block."""
    return [
        (match["note"] or "", match["language"], match["code"]) for match in BLOCK.finditer(page.read_text("utf-8"))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_parses_and_commands_have_their_options(page):
    from typer.main import get_command

    from hf_vqa_mc.cli import app

    group = get_command(app)
    for _, language, code in blocks_of(page):
        if language == "python":
            ast.parse(code)
        for line in code.replace("\\\n", " ").splitlines() if language == "sh" else ():
            if line.startswith("vqa-mc "):
                words = shlex.split(line, comments=True)
                end = next((at for at, word in enumerate(words) if word in ("|", "||", "&&", ">", ";")), None)
                name, *arguments = words[1:end]
                context = group.make_context("vqa-mc", [name, *arguments])
                resolved, command, rest = group.resolve_command(context, [name, *arguments])
                if resolved in GROUPS:
                    context = command.make_context(resolved, list(rest), parent=context)
                    resolved, command, rest = command.resolve_command(context, list(rest))
                command.make_context(resolved, list(rest), parent=context)


@pytest.mark.skipif(find_spec("easy_vqa") is None, reason="the package easy-vqa is not installed")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=pytest.mark.slow if page.stem in FIRST_PAGES else pytest.mark.exhaustive, id=page.name
        )
        for page in PAGES
        if blocks_of(page)
    ],
)
def test_every_block_runs(page, quickstart_dataset, part_of_easy_vqa, preloaded, tmp_path, request):
    blocks = [block for block in blocks_of(page) if not block[0].startswith("not run: ")]
    if any(note == "needs real data: cocoqa" for note, *_ in blocks):
        real_data = request.getfixturevalue("real_data")
        write_part(request.getfixturevalue("real_cocoqa"), tmp_path / "cocoqa", 3000)
        vectors = real_data / "word_vectors" / "glove.6B.100d.subset.txt.xz"
        (tmp_path / "glove.6B.100d.txt").write_bytes(lzma.decompress(vectors.read_bytes()))
    shutil.copytree(quickstart_dataset, tmp_path / "vqa_mc")
    shutil.copy(ROOT / "tests/engines/gqa/example_sceneGraphs.json", tmp_path)
    write_benchmark(tmp_path / "benchmark.csv")
    code = [(language, without_install(text)) for _, language, text in blocks]
    (tmp_path / "blocks.json").write_text(json.dumps(code))
    environment = os.environ | {
        "PATH": os.pathsep.join([str(preloaded), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": f"{part_of_easy_vqa}{os.pathsep}{ROOT}",
        "HF_HUB_OFFLINE": "1",
    }
    command = [preloaded / "python", "-c", RUN_PAGE, "blocks.json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def without_install(code):
    """The block without the installation and the quickstart, which the tests already have."""
    known = ("python3 -m venv ", "pip install ", "vqa-mc quickstart")
    lines = [line for line in code.splitlines() if not line.startswith(known)]
    assert all(shlex.split(line, comments=True) or not line.strip() for line in lines if not line.endswith("\\"))
    return "\n".join(lines)


def write_part(cocoqa, path, questions):
    """The first questions of each split of COCO-QA."""
    for file in cocoqa.glob("*/*.txt"):
        part = path / file.parent.name / file.name
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:questions]), "utf-8")


def write_benchmark(path):
    """A benchmark as a reader would have one: a column per choice, letters as labels, four questions per image."""
    answers = ["red", "two", "dog", "a bus", "snow", "tennis", "pizza", "kitchen", "blue", "three"]
    questions = ["what color is the sign", "how many people are there", "what animal is this", "what is on the road"]
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "question", "A", "B", "C", "D", "answer"])
        for row in range(400):
            choices = [answers[(row + 3 * shift) % len(answers)] for shift in range(4)]
            table.writerow([f"{row // 4}.jpg", f"{questions[row % 4]}?", *choices, "ABCD"[row % 7 % 4]])
