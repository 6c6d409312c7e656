"""A study in one SQLite file: its questions and images, who was given which question, and the answers.

Every answer is one transaction that is on the disk when it is acknowledged (write-ahead log, ``synchronous=FULL``).
Transactions that hand out questions exclude each other, also between processes, so none is given twice.
"""

import contextlib
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.studies import STUDIES
from hf_vqa_mc.studies.kind import Answered, Item, StudyKind
from hf_vqa_mc.studies.study_file import APPLICATION, LAYOUT, Settings

LARGEST = 2**63 - 1
"""Largest integer of SQLite."""
ABANDONED = 3600
"""Seconds without an answer after which the unanswered questions of a page go to others."""
WAIT = 30
"""Seconds that a transaction waits for another process."""


@dataclass(frozen=True)
class Task:
    """A question given to an annotator."""

    id: int
    item: Item
    answer: Any
    """None if there is none yet"""


@dataclass(frozen=True)
class Page:
    """The questions that an annotator sees together, all in one condition."""

    condition: str
    tasks: list[Task]


class Study:
    """An open study; thread-safe.

    Args:
        path: its file.

    Raises:
        InputError: it does not exist, is not a study, is of another version, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        if not path.is_file():
            raise InputError(f"{path}: no such file; make a study with vqa-mc study create")
        try:
            self._database = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
            found = [
                self._database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            ]
            if found != [APPLICATION, LAYOUT]:
                raise InputError(f"{path}: not a study of vqa-mc study create, or of another version")
            if (state := self._database.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise InputError(f"{path}: the file is damaged ({state}); restore a copy")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("PRAGMA foreign_keys = ON")
            rows = self._database.execute("SELECT name, value FROM study")
            self.settings = Settings(**{name: json.loads(value) for name, value in rows})
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path}: cannot be read as a study ({error}); restore a copy") from error
        self.kind: StudyKind = STUDIES.find(self.settings.kind)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Exclude other threads and processes; all changes are on the disk at the end, or none."""
        with self._lock:
            try:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have ended it already
                    self._database.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401  as sqlite3
        with self._lock:
            return self._database.execute(query, values).fetchall()

    @cached_property
    def items(self) -> dict[int, Item]:
        """All items by id, in the order in which they are given out."""
        rows = self._rows(
            "SELECT id, question_id, question, choices, pictures, caption, control, known FROM item ORDER BY id"
        )
        return {
            key: Item(
                name, question, json.loads(choices), json.loads(pictures), caption, bool(control), json.loads(known)
            )
            for key, name, question, choices, pictures, caption, control, known in rows
        }

    def picture(self, number: int) -> bytes:
        """The content of a picture, a JPEG."""
        content: bytes = self._rows("SELECT content FROM picture WHERE id = ?", number)[0][0]
        return content

    def join(self) -> str:
        """Register an annotator; returns the token of the personal link, 144 random bits."""
        token = secrets.token_urlsafe(18)
        with self._transaction() as database:
            database.execute("INSERT INTO annotator (token, made) VALUES (?, ?)", (token, time.time()))
        return token

    def tokens(self, number: int) -> list[str]:
        """The tokens of the first annotators, who are registered if there are fewer."""
        known = self._rows("SELECT count(*) FROM annotator")[0][0]
        for _ in range(known, number):
            self.join()
        return [token for (token,) in self._rows("SELECT token FROM annotator ORDER BY id LIMIT ?", number)]

    def annotator(self, token: str) -> int | None:
        """The number of the annotator with a personal link; None if there is none."""
        found = self._rows("SELECT id FROM annotator WHERE token = ?", token)
        return found[0][0] if found else None

    def open_page(self, annotator: int) -> Page | None:
        """The annotator's last page if a question of it is unanswered and not given to others."""
        query = """SELECT page FROM assignment WHERE annotator = ? AND answer IS NULL AND NOT returned
                   ORDER BY page DESC LIMIT 1"""
        found = self._rows(query, annotator)
        return self._page(found[0][0]) if found else None

    def _page(self, page: int) -> Page:
        rows = self._rows(
            "SELECT id, item, condition, answer FROM assignment WHERE page = ? AND NOT returned ORDER BY id", page
        )
        tasks = [Task(key, self.items[item], answer and json.loads(answer)) for key, item, _, answer in rows]
        return Page(rows[0][2], tasks)

    def next_page(self, annotator: int) -> Page | None:
        """The annotator's open page, else a new one; None if there is no question left for this annotator.

        All questions of a page have the same condition, the one with most answers missing of those that the annotator
        can help with. A question that the annotator was given before, in whatever condition, is not given again.
        Questions with fewest answers missing come first.
        """
        controls = self.settings.controls_per_page
        with self._transaction() as database:
            if (page := self.open_page(annotator)) is not None:
                return page
            database.execute(
                """UPDATE assignment SET returned = 1 WHERE answer IS NULL AND NOT returned
                   AND page IN (SELECT id FROM page WHERE active < ?)""",
                (time.time() - ABANDONED,),
            )
            condition, items = self._missing(database, annotator)
            if not items:
                return None
            chosen = items[: self.settings.per_page - controls]
            query = """SELECT id FROM item WHERE control AND id NOT IN
                       (SELECT item FROM assignment WHERE annotator = ?) ORDER BY id LIMIT ?"""
            for (check,) in database.execute(query, (annotator, controls)).fetchall():
                rng = SeededRng(0, "attention check", self.settings.study, str(annotator), str(check))
                chosen.insert(1 + rng.below(len(chosen)), check)  # at a random position but the first
            values = (annotator, condition, time.time())
            insert = "INSERT INTO page (annotator, condition, active) VALUES (?, ?, ?) RETURNING id"
            made: int = database.execute(insert, values).fetchone()[0]
            database.executemany(
                "INSERT INTO assignment (page, annotator, item, condition) VALUES (?, ?, ?, ?)",
                [(made, annotator, item, condition) for item in chosen],
            )
            return self._page(made)

    def _missing(self, database: sqlite3.Connection, annotator: int) -> tuple[str, list[int]]:
        """The condition of the annotator's next page, and the items that it may have, most urgent first."""
        query = """SELECT item.id, ? - count(assignment.id) AS missing FROM item
                   LEFT JOIN assignment ON assignment.item = item.id AND condition = ? AND NOT returned
                   WHERE NOT control AND item.id NOT IN (SELECT item FROM assignment WHERE annotator = ?)
                   GROUP BY item.id HAVING missing > 0 ORDER BY missing, item.id"""
        best: tuple[str, list[int]] = "", []
        most = 0
        for condition, annotators in self.settings.annotators.items():
            found = database.execute(query, (annotators, condition, annotator)).fetchall()
            if (total := sum(missing for _, missing in found)) > most:
                best, most = (condition, [item for item, _ in found]), total
        return best

    def task(self, annotator: int, task: int) -> tuple[Item, str] | None:
        """The item and condition of a task; None if it is not one of this annotator's."""
        if abs(task) > LARGEST:
            return None
        found = self._rows("SELECT item, condition FROM assignment WHERE id = ? AND annotator = ?", task, annotator)
        return (self.items[found[0][0]], found[0][1]) if found else None

    def save(self, annotator: int, task: int, value: Any, seconds: float) -> bool:  # noqa: ANN401  JSON
        """Store or replace the answer to a task; it is on the disk afterwards.

        Returns:
            False if the question went to others because of the time limit: nothing was stored.

        Raises:
            InputError: it is not a task of this annotator, or not an answer to it.
        """
        found = self.task(annotator, task)
        if found is None:
            raise InputError(f"task {task} is not one of this annotator's")
        item, condition = found
        answer = json.dumps(self.kind.form.check(value, self.size(item, condition)))
        taken = "SELECT count(*) FROM assignment WHERE item = ? AND condition = ? AND NOT returned"
        with self._transaction() as database:
            row = "SELECT returned, item, page FROM assignment WHERE id = ?"
            returned, item_id, page = database.execute(row, (task,)).fetchone()
            others = database.execute(taken, (item_id, condition)).fetchone()[0]
            if returned and others >= self.settings.annotators[condition] and not item.control:
                return False
            database.execute(
                "UPDATE assignment SET answer = ?, seconds = ?, answered = ?, returned = 0 WHERE id = ?",
                (answer, seconds, time.time(), task),
            )
            database.execute("UPDATE page SET active = ? WHERE id = ?", (time.time(), page))
        return True

    def size(self, item: Item, condition: str) -> int:
        """The number of choices or candidate images of an item."""
        return (
            len(item.pictures) - 1 if self.kind.form.candidates else len(self.kind.condition(condition).choices(item))
        )

    def answered_by(self, annotator: int) -> int:
        """The number of questions that an annotator has answered."""
        query = "SELECT count(*) FROM assignment WHERE annotator = ? AND answer IS NOT NULL"
        found: int = self._rows(query, annotator)[0][0]
        return found

    def progress(self) -> Mapping[str, tuple[int, int]]:
        """Answers so far and answers wanted, attention checks excluded, by condition."""
        query = """SELECT count(*) FROM assignment JOIN item ON item.id = item
                   WHERE condition = ? AND answer IS NOT NULL AND NOT control"""
        items = sum(not item.control for item in self.items.values())
        return {name: (self._rows(query, name)[0][0], items * each) for name, each in self.settings.annotators.items()}

    def answers(self) -> list[Answered]:
        """All answers, attention checks included, in the order in which they came."""
        query = """SELECT item, condition, annotator, answer, seconds, answered FROM assignment
                   WHERE answer IS NOT NULL ORDER BY answered, id"""
        return [
            Answered(self.items[item], condition, annotator, json.loads(answer), seconds, answered)
            for item, condition, annotator, answer, seconds, answered in self._rows(query)
        ]
