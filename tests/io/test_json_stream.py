"""Reading a list piece by piece gives what json.loads gives, for any list and any size of the pieces."""

import io
import json
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import json_stream
from hf_vqa_mc.io.json_stream import items_of_lists, list_items, object_items

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class InMemory:
    """A file of these bytes."""

    location = "x.json"

    def __init__(self, content: bytes | io.BytesIO) -> None:
        self.stream = io.BytesIO(content) if isinstance(content, bytes) else content

    def open(self) -> AbstractContextManager[io.BytesIO]:
        return nullcontext(self.stream)


def _items(content: bytes, key: str | None = None) -> list[Any]:
    return [item for batch in list_items(InMemory(content), key) for item in batch]


@given(st.lists(VALUES, max_size=8), st.integers(1, 12), st.booleans(), st.sampled_from([None, 1, 24]))
def test_a_list_is_read_as_json_reads_it(items: list[Any], chunk: int, ascii_only: bool, indent: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        patch.setattr(json_stream, "BATCH", 1 + chunk % 3)
        assert _items(json.dumps(items, ensure_ascii=ascii_only, indent=indent).encode()) == items


@given(VALUES, st.lists(VALUES, max_size=5), VALUES, st.integers(1, 12))
def test_the_list_of_a_field_is_found_between_others(before: Any, items: list[Any], after: Any, chunk: int) -> None:
    content = json.dumps({"info": before, "items": items, "license": {"items": after}}).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        assert _items(content, "items") == items


@given(VALUES, st.lists(VALUES, max_size=5), VALUES, st.integers(1, 12))
def test_other_fields_are_kept_on_request(before: Any, items: list[Any], after: Any, chunk: int) -> None:
    content = json.dumps({"info": before, "items": items, "license": after}).encode()
    others: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        found = [item for batch in list_items(InMemory(content), "items", others) for item in batch]
    assert (found, others) == (items, {"info": before, "license": after})


LISTS = ("images", "annotations", "categories")


def _items_of_lists(content: bytes) -> dict[str, list[Any]]:
    """Each list that gave items, in the order of their first."""
    found: dict[str, list[Any]] = {}
    for key, batch in items_of_lists(InMemory(content), LISTS):
        found.setdefault(key, []).extend(batch)
    return found


@given(st.permutations([*LISTS, "info"]), st.lists(st.lists(VALUES, max_size=4), min_size=4, max_size=4), st.data())
def test_several_lists_are_read_in_the_order_of_the_file(
    order: list[str], lists: list[list[Any]], data: st.DataObject
) -> None:
    content = dict(zip(order, lists, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", data.draw(st.integers(1, 12)))
        patch.setattr(json_stream, "BATCH", data.draw(st.integers(1, 12)))
        found = _items_of_lists(json.dumps(content).encode())
    wanted = {key: items for key, items in content.items() if items and key != "info"}
    assert (list(found), found) == (list(wanted), wanted)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[1]", "expected a JSON object with the lists 'images', 'annotations', 'categories', found '.1.'"),
        (b'{"images": [], "categories": []}', "field 'annotations', found the fields 'images', 'categories'$"),
        (b'{"images": [1], "annotations": [2], "images": [3], "categories": []}', "field 'images' occurs twice"),
        (b'{"images": [1], "annotations": {}, "categories": []}', "field 'annotations': expected a list, found"),
        (b'{"images": [1], "annotations": [2', "truncated .expected ','"),
        (b'{"images": [], "annotations": [], "categories": []} 1', "expected nothing after the end of the JSON"),
    ],
)
def test_a_file_without_each_list_once_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"^x\.json: .*{message}"):
        _items_of_lists(content)


@given(st.dictionaries(st.text(), VALUES, max_size=8), st.integers(1, 12), st.sampled_from([None, 1, 24]))
def test_an_object_is_read_as_json_reads_it(content: dict[str, Any], chunk: int, indent: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        patch.setattr(json_stream, "BATCH", 1 + chunk % 3)
        file = InMemory(json.dumps(content, indent=indent).encode())
        assert [pair for batch in object_items(file) for pair in batch] == list(content.items())


def test_a_field_that_occurs_twice_is_given_twice() -> None:
    assert list(object_items(InMemory(b'{"a": 1, "b": 2, "a": 3}'))) == [[("a", 1), ("b", 2), ("a", 3)]]


@given(st.lists(VALUES, min_size=1, max_size=5), st.data())
def test_a_truncated_file_is_refused_wherever_it_ends(items: list[Any], data: st.DataObject) -> None:
    content = json.dumps({"items": items}).encode()
    end = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(InputError, match=r"^x\.json: "):
        _items(content[:end], "items")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"items": [1, 2', "truncated .expected ','.; download or write it again"),
        (b'{"items": [1, {"a": "b', "truncated"),
        (b'{"items": [1]', "truncated"),
        (b'{"items": [1 2]}', "not JSON at character 13: expected ','"),
        (b'{"items": [1, nix]}', "not JSON at character 14: Expecting value"),
        (b'{"items": [1,]}', "not JSON at character 13"),
        (b'{"items": [1]} {}', "expected nothing after the end of the JSON, found '{}'"),
        (b'{"items": [1], "items": [2]}', "field 'items' occurs twice"),
        (b"{items: []}", "expected a field's name in quotes, found 'items"),
        (b"", "truncated .expected a JSON object with a list 'items'"),
        (b"[1, 2]", "expected a JSON object with a list 'items', found '.1, 2.'"),
        (b"<html>", "expected a JSON object with a list 'items', found '<html>'"),
        (b'{"items": ["\xff"]}', "expected UTF-8 text, found 0xff after character"),
        (b'{"items": ["\xc3', "expected UTF-8 text, found 0xc3 after character"),
    ],
)
def test_invalid_json_is_reported_with_its_location(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _items(content, "items")


def test_a_malformed_record_is_found_before_the_rest_of_the_file_is_read() -> None:
    stream = io.BytesIO(b'[{"a" 1}, ' + b'{"a": 1}, ' * 1_000_000 + b"]")
    with pytest.raises(InputError, match="not JSON at character 6"):
        list(list_items(InMemory(stream)))
    assert stream.tell() <= json_stream.CHUNK


def test_records_longer_than_a_piece_are_read() -> None:
    items = ["x" * (3 * json_stream.CHUNK), 1]
    assert _items(json.dumps(items).encode()) == items


def test_a_very_long_record_is_not_scanned_again_at_every_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", 10)
    reads = []

    class Counted(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            reads.append(size)
            return super().read(size)

    assert next(list_items(InMemory(Counted(json.dumps(["x" * 100_000]).encode())))) == ["x" * 100_000]
    assert len(reads) < 20


@pytest.mark.slow
def test_only_a_window_of_the_file_is_in_memory() -> None:
    record = json.dumps({"question": "what is this", "choices": ["a", "b"]})
    content = f"[{', '.join([record] * 200_000)}]".encode()
    largest = max(sum(map(sys.getsizeof, batch)) for batch in list_items(InMemory(content)))
    assert len(content) > 10_000_000
    assert largest < 1_000_000
