"""What the scripts in .ci import exists: the tests run none of the benchmarks."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPTS = sorted(
    path for path in (Path(__file__).resolve().parents[1] / ".ci").rglob("*") if path.suffix in (".py", "")
)
SCRIPTS = [path for path in SCRIPTS if path.is_file() and (path.suffix or "python" in path.read_text().split("\n")[0])]


def exists(module: str, name: str) -> bool:
    return hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_imported_name_exists(path):
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if str(node.module).partition(".")[0] in ("hf_vqa_mc", "tests")]
    others = [
        str(node.module) for node in nodes if node not in ours and not path.with_name(f"{node.module}.py").exists()
    ]
    assert [one for one in others if find_spec(one) is None] == []
    assert [one.name for node in ours for one in node.names if not exists(str(node.module), one.name)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_script_that_another_runs_exists_and_has_the_names_it_uses(path):
    source = path.read_text()
    for stem in re.findall(r'with_name\("(\w+)\.py', source):
        other = path.with_name(f"{stem}.py")
        assert set(re.findall(rf'\b{stem}\["(\w+)"\]', source)) <= {*compile(other.read_text(), stem, "exec").co_names}
