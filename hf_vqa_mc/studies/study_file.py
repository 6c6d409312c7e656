"""The file of a study: its tables, its settings, and the content of a new one."""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hf_vqa_mc.studies.kind import Item

APPLICATION, LAYOUT = 0x76716D63, 1
"""Marks of SQLite's header: a file of this module, and the layout of its tables."""
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


@dataclass(frozen=True)
class Settings:
    """The settings of a study, as stored in its file."""

    study: str
    """random id of the study, the same in all copies of its file"""
    kind: str
    dataset: str
    """name of the benchmark with config and split"""
    annotators: dict[str, int]
    """annotators per question, by condition"""
    per_page: int
    controls_per_page: int
    join: str
    """secret of the link with which anyone joins"""


def new_content(settings: Settings, items: Iterable[Item], pictures: Sequence[bytes]) -> bytes:
    """The content of a new study's file.

    Args:
        settings: of the study.
        items: in the order in which they are given out.
        pictures: content of the JPEG of each picture id.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        connection.executemany(
            "INSERT INTO study VALUES (?, ?)", [(name, json.dumps(value)) for name, value in vars(settings).items()]
        )
        connection.executemany("INSERT INTO picture VALUES (?, ?)", enumerate(pictures))
        connection.executemany("INSERT INTO item VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", map(_item_row, items))
        connection.commit()
        return connection.serialize()


def _item_row(item: Item) -> tuple[Any, ...]:
    texts = item.question_id, item.question, json.dumps(item.choices), json.dumps(item.pictures), item.caption
    clean = (text.encode("utf-8", "replace").decode() for text in texts)
    return (*clean, item.control, json.dumps(item.known, allow_nan=False))
