"""The store: what goes in comes out, from any file, and whatever else is in the folder is named."""

import errno
import os
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.extraction import store as store_module
from hf_vqa_mc.extraction.backbones import FeatureKind
from hf_vqa_mc.extraction.store import FeatureStore

POOLED = FeatureKind("made", "1", None, 5, "float32")
GRID = FeatureKind("made", "1", 2, 3, "bfloat16")


def filled(folder, kind, n, first=0):
    store = FeatureStore(folder, kind)
    features = np.random.default_rng(first).normal(size=(n, *kind.shape)).astype(np.float32)
    for number, row in enumerate(features, first):
        store.add(hash_of(number), row)
    store.commit()
    return features


def hash_of(number):
    return sha256(str(number).encode()).digest()


def taken(folder, kind, numbers):
    store = FeatureStore(folder, kind)
    return store.take([store.locations[hash_of(number)] for number in numbers])


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_features_come_back_in_the_requested_order_from_whichever_file(tmp_path_factory, sizes, seed):
    folder = tmp_path_factory.mktemp("store")
    starts = np.cumsum([0, *sizes])
    features = np.concatenate([filled(folder, POOLED, n, int(at)) for at, n in zip(starts, sizes, strict=False)])
    assert len(list(folder.glob("*.safetensors"))) == len(sizes)
    rows = np.random.default_rng(seed).integers(0, len(features), 20)
    np.testing.assert_array_equal(taken(folder, POOLED, rows.tolist()), features[rows])


def test_no_rows_give_no_features(tmp_path):
    assert FeatureStore(tmp_path, GRID).take([]).shape == (0, 4, 3)


def test_bfloat16_is_stored_in_two_bytes_and_read_as_float32(tmp_path):
    import torch

    features = filled(tmp_path, GRID, 50)
    expected = torch.from_numpy(features).bfloat16().float().numpy()
    np.testing.assert_array_equal(taken(tmp_path, GRID, range(50)), expected)
    (path,) = tmp_path.glob("*.safetensors")
    assert path.stat().st_size < 50 * (12 * 2 + 32) + 1000


def test_any_reader_of_safetensors_reads_the_files(tmp_path):
    from safetensors.torch import load_file

    features = filled(tmp_path, POOLED, 3)
    (path,) = tmp_path.glob("*.safetensors")
    loaded = load_file(path)
    np.testing.assert_array_equal(loaded["features"].numpy(), features)
    assert loaded["sha256"].numpy().tobytes() == b"".join(map(hash_of, range(3)))


def test_many_files_are_read_without_keeping_them_open(tmp_path):
    for number in range(8):
        filled(tmp_path, POOLED, 1, number)
    before = len(list(Path("/proc/self/fd").iterdir()))
    store = FeatureStore(tmp_path, POOLED)
    locations = [store.locations[hash_of(number)] for number in range(8)]
    np.testing.assert_array_equal(store.take(locations), store.take(locations[::-1])[::-1])
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


@pytest.mark.parametrize(("limit", "value", "files"), [("SHARD_IMAGES", 10, 3), ("SHARD_BYTES", 200, 3),
                                                       ("SHARD_SECONDS", 0.0, 25)])  # fmt: skip
def test_a_file_is_written_when_there_is_enough_for_one(tmp_path, monkeypatch, limit, value, files):
    monkeypatch.setattr(store_module, limit, value)
    filled(tmp_path, POOLED, 25)
    assert len(list(tmp_path.glob("*.safetensors"))) == files


def test_what_another_has_stored_meanwhile_is_not_stored_again(tmp_path):
    one, other = FeatureStore(tmp_path, POOLED), FeatureStore(tmp_path, POOLED)
    for number in range(4):
        one.add(hash_of(number), np.full(5, number, np.float32))
        other.add(hash_of(number + 2), np.full(5, number + 2, np.float32))
    one.commit()
    other.commit()
    assert len(other.locations) == 6
    assert sum(path.stat().st_size for path in tmp_path.glob("*.safetensors")) < 6 * 52 + 2 * 500
    np.testing.assert_array_equal(taken(tmp_path, POOLED, range(6))[:, 0], range(6))


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    filled(tmp_path, POOLED, 3)
    before = {path: path.read_bytes() for path in tmp_path.glob("*.safetensors")}

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        filled(tmp_path, POOLED, 3, first=3)
    assert {path: path.read_bytes() for path in tmp_path.glob("*.safetensors")} == before
    assert not list(tmp_path.glob(".*.partial"))


def test_what_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / ".features-00000.safetensors.abcdefgh.partial").mkdir()
    filled(tmp_path, POOLED, 1)
    assert not list(tmp_path.glob(".*.partial"))
