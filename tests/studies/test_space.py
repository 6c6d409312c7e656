"""A study on the Hub: the Space, and the private copies of its answers."""

import sqlite3
import time
from contextlib import closing

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.studies.backup import backing_up, restore
from hf_vqa_mc.studies.store import Study
from tests.hub.conftest import hub as hub
from tests.hub.conftest import hub_here as hub_here
from tests.studies import worlds

BACKUP = "ada/answers"


def annotated(path):
    """One page of answers."""
    with closing(Study(path)) as study:
        annotator = study.annotator(study.join())
        for task in study.next_page(annotator).tasks:
            study.save(annotator, task.id, 1, 1.0)
        return study.answers()


@pytest.mark.slow
def test_a_space_has_the_pages_but_neither_labels_nor_people(tmp_path, hub_here):
    path = worlds.new_study(tmp_path, conditions="full")
    annotated(path)
    vm.push("study", "ada/my-study", folder=path)
    space = hub_here.repositories["space", "ada/my-study"]
    assert space.sdk == "docker" and b"sdk: docker" in space.files["README.md"]
    assert b"starlette==" in space.files["requirements.txt"] and b"--open" in space.files["Dockerfile"]
    sent = tmp_path / "sent.sqlite"
    sent.write_bytes(space.files["study.sqlite"])
    with closing(Study(sent)) as study, closing(Study(path)) as own:
        assert study.answers() == [] and {str(item.known) for item in study.items.values()} == {"{}"}
        assert study.picture(0) == own.picture(0) and study.settings.join != own.settings.join
    annotated(sent)
    assert vm.study_results(path, answers=sent, passed=0).to_dict()["conditions"][0]["questions"] > 0


@pytest.mark.slow
def test_answers_are_copied_to_a_private_repository_and_restored(tmp_path, hub_here):
    path, empty = worlds.new_study(tmp_path, conditions="full"), tmp_path / "empty.sqlite"
    empty.write_bytes(path.read_bytes())
    assert restore(path, BACKUP) is False  # there is no copy yet
    with closing(Study(path)) as study, backing_up(study, BACKUP, every=0.05):
        annotator = study.annotator(study.join())
        for task in study.next_page(annotator).tasks:
            study.save(annotator, task.id, 1, 1.0)
        end = time.monotonic() + 30
        while len(hub_here.repositories["dataset", BACKUP].commits) < 3:
            assert time.monotonic() < end
            time.sleep(0.05)
        answers = study.answers()
    assert hub_here.repositories["dataset", BACKUP].private
    assert restore(empty, BACKUP) and restore(empty, BACKUP) is False
    with closing(Study(empty)) as study:
        assert study.answers() == answers


@pytest.mark.slow
def test_what_must_not_be_restored(tmp_path, hub_here):
    path = worlds.new_study(tmp_path, conditions="full")
    (tmp_path / "other").mkdir()
    behind, other = tmp_path / "behind.sqlite", worlds.new_study(tmp_path / "other")
    behind.write_bytes(path.read_bytes())
    annotated(path)
    with closing(Study(path)) as study, backing_up(study, BACKUP):
        pass
    with pytest.raises(InputError, match=r"ada/answers.* is another study"):
        restore(other, BACKUP)
    with closing(sqlite3.connect(behind)) as database:
        database.execute("DELETE FROM picture")
    with closing(Study(behind)) as study:
        annotator = study.annotator(study.join())
        study.save(annotator, study.next_page(annotator).tasks[0].id, 2, 1.0)
    with pytest.raises(InputError, match="more answers than"):
        restore(behind, BACKUP)
    hub_here.repositories["dataset", BACKUP].private = False
    with closing(Study(path)) as study, pytest.raises(InputError, match="is public"), backing_up(study, BACKUP):
        pass
