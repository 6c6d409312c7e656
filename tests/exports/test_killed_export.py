"""An export that is killed never declares answers hidden that are readable, nor the other way round."""

import json
import signal

import pytest

from tests.exports import small
from tests.killed import die_before, finish, started


def export(parent, folder, hide_answers, step=0):
    benchmark = small.benchmark()
    if step:
        die_before(step)
    if parent:
        parent.send("ready")
    small.export(benchmark, "vlmevalkit", folder, name="small", hide_answers=hide_answers)


def declared_and_found(folder):
    """What the record declares, and what the files hold; "nothing" without files."""
    files = list(folder.glob("small/*.tsv"))
    found = {"in the data" if "\tanswer" in file.read_text("utf-8").partition("\n")[0] else "hidden" for file in files}
    return json.loads((folder / "small" / "export.json").read_text())["answers"], found


@pytest.mark.slow
@pytest.mark.parametrize("hide_answers", [True, False])
def test_hidden_answers_are_hidden_at_any_step(tmp_path, hide_answers):
    was_killed, seen = True, set()
    for step in range(1, 60):
        folder = tmp_path / str(step)
        export(None, folder, not hide_answers)
        was_killed = finish(started(export, folder, hide_answers, step)) == -signal.SIGKILL
        declared, found = declared_and_found(folder)
        seen.add((declared, *found))
        assert found == {declared}, step
        export(None, folder, hide_answers)
        names = {"export.json", ".vqa_mc.json", "small.tsv", "small_CIRCULAR.tsv", "small_TEXT.tsv"}
        assert {path.name for path in (folder / "small").iterdir()} == names
        if not was_killed:
            break
    assert not was_killed
    assert len(seen) == 2
