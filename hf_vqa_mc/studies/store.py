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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.studies import STUDIES
from hf_vqa_mc.studies.kind import Answered, Item, StudyKind

APPLICATION, LAYOUT = 0x76716D63, 1  # marks of SQLite's header: a file of this module, and the layout of its tables
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {LAYOUT};
CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE picture (id INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE item (
  id INTEGER PRIMARY KEY, question_id TEXT NOT NULL, question TEXT NOT NULL, choices TEXT NOT NULL,
  pictures TEXT NOT NULL, caption TEXT NOT NULL, control INTEGER NOT NULL, known TEXT NOT NULL);
CREATE TABLE annotator (id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE, made REAL NOT NULL);
CREATE TABLE page (
  id INTEGER PRIMARY KEY, annotator INTEGER NOT NULL REFERENCES annotator, condition TEXT NOT NULL,
  active REAL NOT NULL);
CREATE TABLE assignment (
  id INTEGER PRIMARY KEY, page INTEGER NOT NULL REFERENCES page, annotator INTEGER NOT NULL REFERENCES annotator,
  item INTEGER NOT NULL REFERENCES item, condition TEXT NOT NULL, returned INTEGER NOT NULL DEFAULT 0,
  answer TEXT, seconds REAL, answered REAL, UNIQUE (item, annotator));
CREATE INDEX assignment_of_item ON assignment (condition, item);
CREATE INDEX assignment_of_page ON assignment (page);
"""
LARGEST = 2**63 - 1  # largest integer of SQLite
ABANDONED = 3600  # seconds without an answer after which the unanswered questions of a page go to others
WAIT = 30  # seconds that a transaction waits for another process


@dataclass(frozen=True)
class Settings:
    """The settings of a study, as stored in its file."""

    study: str  # random id of the study, the same in all copies of its file
    kind: str
    dataset: str  # name of the benchmark with config and split
    annotators: dict[str, int]  # annotators per question, by condition
    per_page: int
    controls_per_page: int
    join: str  # secret of the link with which anyone joins


def new_content(settings: Settings, items: Iterable[Item], pictures: Sequence[bytes]) -> bytes:
    """The content of a new study's file: items in the order in which they are given out, and JPEGs by picture id."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        given = [(name, json.dumps(value)) for name, value in vars(settings).items()]
        connection.executemany("INSERT INTO study VALUES (?, ?)", given)
        connection.executemany("INSERT INTO picture VALUES (?, ?)", enumerate(pictures))
        for one in items:
            texts = one.question_id, one.question, json.dumps(one.choices), json.dumps(one.pictures), one.caption
            clean = (text.encode("utf-8", "replace").decode() for text in texts)
            values = (*clean, one.control, json.dumps(one.known, allow_nan=False))
            connection.execute("INSERT INTO item VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", values)
        connection.commit()
        return connection.serialize()


@dataclass(frozen=True)
class Task:
    """A question given to an annotator."""

    id: int
    item: Item
    answer: Any  # None if there is none yet


@dataclass(frozen=True)
class Page:
    """The questions that an annotator sees together, all in one condition."""

    condition: str
    tasks: list[Task]


class Study:
    """An open study; thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        if not path.is_file():
            raise InputError(f"{path}: no such file; make a study with vqa-mc study create")
        try:
            self._database = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
            names = ("application_id", "user_version", "quick_check(1)")
            *marks, state = (self._database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
            if marks != [APPLICATION, LAYOUT]:
                raise InputError(f"{path}: not a study of vqa-mc study create, or of another version")
            if state != "ok":
                raise InputError(f"{path}: the file is damaged ({state}); restore a copy")
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
                self._database.execute(f"PRAGMA {pragma}")
            rows = self._database.execute("SELECT name, value FROM study")
            self.settings = Settings(**{name: json.loads(value) for name, value in rows})
        except InputError:
            raise
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as a study ({error}); restore a copy") from error
        self.kind: StudyKind = STUDIES.find(self.settings.kind)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Exclude other threads and processes; all changes are on the disk at the end, or none."""
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            yield self._database

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401  as sqlite3
        with self._lock:
            return self._database.execute(query, values).fetchall()

    @cached_property
    def items(self) -> dict[int, Item]:
        """All items by id, in the order in which they are given out."""
        read, found = json.loads, {}
        query = "SELECT id, question_id, question, choices, pictures, caption, control, known FROM item ORDER BY id"
        for key, name, question, choices, pictures, caption, control, known in self._rows(query):
            found[key] = Item(name, question, read(choices), read(pictures), caption, bool(control), read(known))
        return found

    def picture(self, number: int) -> bytes:
        """The content of a picture, a JPEG."""
        return self._rows("SELECT content FROM picture WHERE id = ?", number)[0][0]  # type: ignore[no-any-return]

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
        query = "SELECT id, item, condition, answer FROM assignment WHERE page = ? AND NOT returned ORDER BY id"
        rows = self._rows(query, page)
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
            abandoned = """UPDATE assignment SET returned = 1 WHERE answer IS NULL AND NOT returned
                           AND page IN (SELECT id FROM page WHERE active < ?)"""
            database.execute(abandoned, (time.time() - ABANDONED,))
            condition, items = self._missing(database, annotator)
            if not items:
                return None
            chosen = items[: self.settings.per_page - controls]
            query = """SELECT id FROM item WHERE control AND id NOT IN
                       (SELECT item FROM assignment WHERE annotator = ?) ORDER BY id LIMIT ?"""
            for (check,) in database.execute(query, (annotator, controls)).fetchall():
                rng = SeededRng(0, "attention check", self.settings.study, str(annotator), str(check))
                chosen.insert(1 + rng.below(len(chosen)), check)  # at a random position but the first
            insert = "INSERT INTO page (annotator, condition, active) VALUES (?, ?, ?) RETURNING id"
            made: int = database.execute(insert, (annotator, condition, time.time())).fetchone()[0]
            given = [(made, annotator, item, condition) for item in chosen]
            insert = "INSERT INTO assignment (page, annotator, item, condition) VALUES (?, ?, ?, ?)"
            database.executemany(insert, given)
            return self._page(made)

    def _missing(self, database: sqlite3.Connection, annotator: int) -> tuple[str, list[int]]:
        """The condition of the annotator's next page, and the items that it may have, most urgent first."""
        query = """SELECT item.id, ? - count(assignment.id) AS missing FROM item
                   LEFT JOIN assignment ON assignment.item = item.id AND condition = ? AND NOT returned
                   WHERE NOT control AND item.id NOT IN (SELECT item FROM assignment WHERE annotator = ?)
                   GROUP BY item.id HAVING missing > 0 ORDER BY missing, item.id"""
        found = {condition: database.execute(query, (annotators, condition, annotator)).fetchall()
                 for condition, annotators in self.settings.annotators.items()}  # fmt: skip
        best = max(found, key=lambda condition: sum(missing for _, missing in found[condition]))
        return best, [item for item, _ in found[best]]

    def task(self, annotator: int, task: int) -> tuple[Item, str] | None:
        """The item and condition of a task; None if it is not one of this annotator's."""
        if abs(task) > LARGEST:
            return None
        found = self._rows("SELECT item, condition FROM assignment WHERE id = ? AND annotator = ?", task, annotator)
        return (self.items[found[0][0]], found[0][1]) if found else None

    def save(self, annotator: int, task: int, value: Any, seconds: float) -> bool:  # noqa: ANN401  JSON
        """Store or replace the answer to a task; it is on the disk afterwards."""
        found = self.task(annotator, task)
        if found is None:
            raise InputError(f"task {task} is not one of this annotator's")
        item, condition = found
        answer = json.dumps(self.kind.form.check(value, self.size(item, condition)))
        query = """SELECT returned, page, (SELECT count(*) FROM assignment AS other WHERE other.item = assignment.item
                   AND other.condition = assignment.condition AND NOT other.returned) FROM assignment WHERE id = ?"""
        with self._transaction() as database:
            returned, page, others = database.execute(query, (task,)).fetchone()
            if returned and others >= self.settings.annotators[condition] and not item.control:
                return False
            update = "UPDATE assignment SET answer = ?, seconds = ?, answered = ?, returned = 0 WHERE id = ?"
            database.execute(update, (answer, seconds, time.time(), task))
            database.execute("UPDATE page SET active = ? WHERE id = ?", (time.time(), page))
        return True

    def size(self, item: Item, condition: str) -> int:
        """The number of choices or candidate images of an item."""
        choices = item.pictures[1:] if self.kind.form.candidates else self.kind.condition(condition).choices(item)
        return len(choices)

    def answered_by(self, annotator: int) -> int:
        """The number of questions that an annotator has answered."""
        query = "SELECT count(*) FROM assignment WHERE annotator = ? AND answer IS NOT NULL"
        return self._rows(query, annotator)[0][0]  # type: ignore[no-any-return]

    def progress(self) -> Mapping[str, tuple[int, int]]:
        """Answers so far and answers wanted, attention checks excluded, by condition."""
        done = Counter(one.condition for one in self.answers() if not one.item.control)
        items = sum(not item.control for item in self.items.values())
        return {name: (done[name], items * each) for name, each in self.settings.annotators.items()}

    def answers(self) -> list[Answered]:
        """All answers, attention checks included, in the order in which they came."""
        query = """SELECT item, condition, annotator, answer, seconds, answered FROM assignment
                   WHERE answer IS NOT NULL ORDER BY answered, id"""
        return [
            Answered(self.items[item], condition, annotator, json.loads(answer), *times)
            for item, condition, annotator, answer, *times in self._rows(query)
        ]
