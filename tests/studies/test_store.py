"""Who is given which question, and that no answer is lost."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.studies.store import Study
from tests.studies import worlds


@pytest.fixture
def study(tmp_path):
    with closing(Study(worlds.new_study(tmp_path, per_page=5, annotators=3))) as opened:
        yield opened


def later(study, seconds):
    """Let time pass for the pages of a study."""
    study._database.execute("UPDATE page SET active = active - ?", (seconds,))


def given(study):
    """All questions given out and not returned, attention checks excluded: (question, condition, annotator)."""
    rows = study._rows("SELECT item, condition, annotator FROM assignment WHERE NOT returned")
    return [(study.items[item].question_id, *rest) for item, *rest in rows if not study.items[item].control]


@pytest.mark.parametrize("rows", [3, 12])
def test_attention_checks_are_at_different_positions_but_never_first(tmp_path, rows):
    path = worlds.new_study(tmp_path, "ambiguity", rows=rows, annotators=20, per_page=rows + 1)
    with closing(Study(path)) as study:
        pages = [study.next_page(study.annotator(study.join())).tasks for _ in range(20)]
    positions = [[task.item.control for task in tasks].index(True) for tasks in pages]
    assert 0 not in positions and len(set(positions)) > 1


def test_a_page_has_one_condition_and_an_attention_check(study):
    annotator = study.annotator(study.join())
    page = study.next_page(annotator)
    assert sum(task.item.control for task in page.tasks) == 1 and len(page.tasks) == 5
    assert study.next_page(annotator) == page  # until it is answered


def test_two_clicks_at_once_give_one_page(study):
    annotator = study.annotator(study.join())
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: study.next_page(annotator), range(8)))
    assert pages == [pages[0]] * 8 and study._rows("SELECT count(*) FROM page") == [(1,)]


def test_abandoned_questions_go_to_others_and_answered_ones_stay(tmp_path):
    with closing(Study(worlds.new_study(tmp_path, per_page=4, controls=0, annotators=1, conditions="full"))) as study:
        one, other = (study.annotator(study.join()) for _ in range(2))
        page = study.next_page(one)
        first = page.tasks[0]
        assert study.save(one, first.id, 0, 1.0)
        later(study, 59 * 60)
        assert {name for name, _, who in given(study) if who == one} == {task.item.question_id for task in page.tasks}
        later(study, 2 * 60)
        taken = [task.item.question_id for _ in range(3) for task in study.next_page(other).tasks][:4]
        assert study.next_page(other).tasks[0].item.question_id in taken
        assert first.item.question_id not in taken
        assert len({(name, condition) for name, condition, _ in given(study)}) == len(given(study))


def test_a_late_answer_counts_unless_others_have_the_question(tmp_path):
    path = worlds.new_study(tmp_path, rows=2, per_page=2, controls=0, annotators=1, conditions="full")
    with closing(Study(path)) as study:
        one, other, third = (study.annotator(study.join()) for _ in range(3))
        tasks = study.next_page(one).tasks
        later(study, 61 * 60)
        study.next_page(other)
        assert study.save(one, tasks[0].id, 0, 1.0) is False
        later(study, 61 * 60)
        study.next_page(third)
        later(study, 61 * 60)
        study.next_page(third)
        study._database.execute("UPDATE assignment SET returned = 1")
        assert study.save(one, tasks[0].id, 0, 1.0)
        assert [(one.item.question_id, one.value) for one in study.answers()] == [(tasks[0].item.question_id, 0)]


def test_answers_can_be_changed_and_are_checked(study):
    annotator, other = (study.annotator(study.join()) for _ in range(2))
    task = study.next_page(annotator).tasks[0]
    assert study.save(annotator, task.id, 1, 1.0) and study.save(annotator, task.id, 2, 3.0)
    assert [(one.value, one.seconds) for one in study.answers()] == [(2, 3.0)]
    for value in (4, -1, True, "1", None, [1], {"text": "x"}):
        with pytest.raises(InputError, match="expected a number from 0 to 3"):
            study.save(annotator, task.id, value, 1.0)
    with pytest.raises(InputError, match="not one of this annotator's"):
        study.save(other, task.id, 1, 1.0)


def test_a_full_disk_is_reported_and_the_answers_before_stay(study):
    annotator = study.annotator(study.join())
    tasks = study.next_page(annotator).tasks
    assert study.save(annotator, tasks[0].id, 1, 1.0)
    used = study._rows("PRAGMA page_count")[0][0]
    study._database.execute(f"PRAGMA max_page_count = {used}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for _ in range(1000):
            study.join()
    study._database.execute("PRAGMA max_page_count = 100000")
    assert study.save(annotator, tasks[1].id, 2, 1.0)
    assert len(study.answers()) == 2


def test_what_is_not_a_study_is_rejected(tmp_path, study):
    text, other, cut = (tmp_path / f"{name}.sqlite" for name in ("text", "other", "cut"))
    text.write_text("no database")
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE a (b)")
    study.close()
    content = study.path.read_bytes()
    cut.write_bytes(content[: len(content) // 2])
    problems = {text: "cannot be read", other: "not a study", cut: "damaged|malformed", tmp_path: "no such"}
    for path, problem in problems.items():
        with pytest.raises(InputError, match=problem):
            Study(path)


ANNOTATE = """
import sys
from pathlib import Path
from hf_vqa_mc.studies.store import Study
study = Study(Path(sys.argv[1]))
annotator = study.annotator(study.join())
while page := study.next_page(annotator):
    for task in page.tasks:
        study.save(annotator, task.id, 1, 1.0)
        print(annotator, task.id, flush=True)
"""


@pytest.mark.slow
def test_two_processes_share_a_study_and_every_acknowledged_answer_survives_kill_9(tmp_path):
    path = worlds.new_study(tmp_path, rows=400, per_page=20, annotators=2, conditions="full")
    command = [sys.executable, "-c", ANNOTATE, path]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    lines = [process.stdout.readline() for process in running for _ in range(30)]
    for process in running:
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.read().splitlines(keepends=True)
        process.wait()
        process.stdout.close()
    acknowledged = {tuple(map(int, line.split())) for line in lines if line.endswith("\n")}
    with closing(Study(path)) as study:
        stored = set(study._rows("SELECT annotator, id FROM assignment WHERE answer IS NOT NULL"))
        assert len(acknowledged) >= 60 and acknowledged <= stored
        assert len(given(study)) == len(set(given(study)))
        worlds.answer_all(study, 2)
        assert study.progress()["full"][0] <= 800
