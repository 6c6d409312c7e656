"""A generated folder appears whole or not at all, and replaces only what its engine wrote."""

import json

import pytest

from hf_vqa_mc.engines.settings import FOLDERS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import new_folder
from hf_vqa_mc.io.outputs import MANIFEST, check_output
from hf_vqa_mc.sources.source import STATISTICS


def write(output, text, engine="gqa", overwrite=False):
    with new_folder(output, FOLDERS[engine], overwrite) as new:
        (new.tree / "questions.json").write_text(text)
        (new.tree / STATISTICS).write_text(json.dumps({"engine": engine}))
        new.publish()


def test_a_folder_is_written_and_written_again(tmp_path):
    for text in ("one", "other"):
        write(tmp_path / "made", text)
        assert (tmp_path / "made" / "questions.json").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_what_others_put_into_it_stays_and_old_files_of_the_engine_go(tmp_path):
    with new_folder(tmp_path / "made", FOLDERS["gqa"]) as new:
        (new.tree / "challenge.json").write_text("{}")
        (new.tree / STATISTICS).write_text(json.dumps({"engine": "gqa"}))
        new.publish()
    (tmp_path / "made" / "notes.txt").write_text("mine")
    write(tmp_path / "made", "one", overwrite=True)
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert names == {"notes.txt", "questions.json", STATISTICS, MANIFEST}
    assert (tmp_path / "made" / "notes.txt").read_text() == "mine"


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "made").mkdir()
    write(tmp_path / "made", "one")
    assert (tmp_path / "made" / "questions.json").exists()


def test_after_an_error_all_is_as_before(tmp_path):
    write(tmp_path / "made", "one")
    with pytest.raises(KeyError), new_folder(tmp_path / "made", FOLDERS["gqa"]) as new:
        (new.tree / "questions.json").write_text("half")
        raise KeyError
    assert (tmp_path / "made" / "questions.json").read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    write(tmp_path / "made", "one")
    (tmp_path / "link").symlink_to("made")
    write(tmp_path / "link", "other")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "made" / "questions.json").read_text() == "other"


@pytest.mark.parametrize("message", ['{"engine": "tdiuc"}', "[]", "{", None])
def test_what_another_wrote_is_left_alone(tmp_path, message):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "mine.txt").write_text("mine")
    if message is not None:
        (tmp_path / "made" / STATISTICS).write_text(message)
    with pytest.raises(InputError, match="vqa-mc generate gqa did not write"):
        write(tmp_path / "made", "one")
    assert (tmp_path / "made" / "mine.txt").read_text() == "mine"


def test_paths_that_cannot_be_written_are_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file; give a folder"):
        check_output(tmp_path / "file", FOLDERS["gqa"])
    with pytest.raises(InputError, match="create it first"):
        check_output(tmp_path / "nowhere" / "made", FOLDERS["gqa"])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="the current directory, which vqa-mc generate gqa would replace"):
        check_output(tmp_path, FOLDERS["gqa"])
