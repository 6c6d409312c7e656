"""Whatever happens to a publisher's file: it is read, or refused in one clear line; never anything else."""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import RELEASED_DECOYS, TRIPLETS, check_triplets
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.open_ended import Reading
from hf_vqa_mc.sources.source import read_triplets
from tests.sources import fixtures, open_ended_files

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

JSON_SOURCES = [name for name in SOURCES if name not in ("cocoqa", "triplets")]
ODD: st.SearchStrategy[Any] = st.sampled_from(
    ["", " ", "\ud800", "\x00", "no", 0, -1, 1.5, 2**70, -(10**40), float("nan"), None, True, [], {}, [[]], [None],
     "é" * 300]
)  # fmt: skip
VALUES = ODD | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of whole files for each source, and one with Visual7W's packed in three ways."""
    base = tmp_path_factory.mktemp("fuzz")
    open_ended_files.write_vqa_open(fixtures.write_vqa(base / "vqa"))
    fixtures.write_vqa_abstract(base / "vqa_abstract")
    open_ended_files.write_vqa2_pairs(base / "vqa2")
    open_ended_files.write_tdiuc(base / "tdiuc")
    open_ended_files.write_gqa(base / "gqa")
    fixtures.write_cocoqa(base / "cocoqa")
    fixtures.write_visual_genome(base / "qavg")
    fixtures.write_easyvqa(base / "easyvqa")
    fixtures.write_triplets(base / "triplets")
    fixtures.write_visual7w(base / "visual7w")
    for split, records in fixtures.visual7w_decoys_json().items():
        (base / "visual7w" / f"v7w_{split}_decoys.json").write_text(json.dumps(records))
    for suffix in (".gz", ".xz", ".zip"):
        fixtures.pack(fixtures.write_visual7w(base / suffix), suffix)
    return {name: base / name.removesuffix("_minus") for name in [*SOURCES, ".gz", ".xz", ".zip"]}


@pytest.mark.parametrize("name", JSON_SOURCES)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_json_with_a_value_changed_is_read_or_refused(
    name: str, folders: dict[str, Path], data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted(folders[name].rglob("*.json"))))
    content = json.loads(path.read_text())
    for _ in range(data.draw(st.integers(1, 2))):
        content = _changed(content, data)
    with _content(path, json.dumps(content).encode("utf-8", "surrogatepass")):
        _read_or_refuse(name, folders[name])


@pytest.mark.parametrize("name", [*SOURCES, ".gz", ".xz", ".zip"])
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_file_with_bytes_changed_is_read_or_refused(
    name: str, folders: dict[str, Path], data: st.DataObject
) -> None:
    path = data.draw(
        st.sampled_from(sorted(path for path in folders[name].rglob("*") if path.suffix != ".png" and path.is_file()))
    )
    content = path.read_bytes()
    start = data.draw(st.integers(0, len(content)) | st.integers(max(len(content) - 150, 0), len(content)))
    end = start + data.draw(st.integers(0, 3) | st.just(len(content)))
    with _content(path, content[:start] + data.draw(st.binary(max_size=4)) + content[end:]):
        _read_or_refuse("visual7w" if name.startswith(".") else name, folders[name])


def _read_or_refuse(name: str, folder: Path) -> None:
    for config in SOURCES[name].open_ended:
        try:
            reading = Reading(config, Folder(folder))
            tables = [table for split in reading.splits for table in reading.tables(split)]
            json.dumps(reading.statistics()).encode()
        except InputError as error:
            _check_message(error)
        else:
            for table in tables:
                table.validate(full=True)
                assert table.schema == config.schema
    released = SOURCES[name].read_released is not None and (folder / "v7w_train_decoys.json").exists()
    try:
        triplets = read_triplets(name, folder, released_decoys=released)
    except InputError as error:
        _check_message(error)
    else:
        check_triplets(triplets, name)
        triplets.validate(full=True)
        assert list(triplets.schema) == [*TRIPLETS, *(RELEASED_DECOYS if released else ())]


def _check_message(error: InputError) -> None:
    assert len(str(error)) > 20
    assert "\n" not in str(error)
    str(error).encode()


@contextmanager
def _content(path: Path, content: bytes) -> Iterator[None]:
    """The file has this content for a while."""
    whole = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(whole)


def _changed(content: Any, data: st.DataObject) -> Any:
    """The content with one value somewhere in it replaced, removed or repeated."""
    keys = (
        list(content) if isinstance(content, dict) else list(range(len(content))) if isinstance(content, list) else []
    )
    if not keys or data.draw(st.integers(0, 9)) == 0:
        return data.draw(VALUES)
    key = data.draw(st.sampled_from(keys))
    action = data.draw(st.sampled_from(["deeper", "deeper", "deeper", "remove", "repeat", "rename"]))
    content = copy.copy(content)
    if action == "remove":
        del content[key]
    elif action == "repeat" and isinstance(content, list):
        content.insert(key, content[key])
    elif action == "rename" and isinstance(content, dict):
        content[data.draw(st.text(max_size=3))] = content.pop(key)
    else:
        content[key] = _changed(content[key], data)
    return content
