"""gensim's .kv files are pickles; nothing in one is ever run."""

import builtins
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.vector_files import read_keyed_vectors


def keyed_vectors(**attributes):
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(2)
    vectors.add_vectors(["cat", "dog"], np.array([[1, 2], [3, 4]], np.float32))
    vars(vectors).update(attributes)
    return vectors


class Call:
    """Pickled, it says: call this function with these arguments when you are loaded."""

    def __init__(self, function, *arguments):
        self._call = (function, arguments)

    def __reduce__(self):
        return self._call


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_malicious_pickle_runs_nothing(tmp_path, protocol):
    bait = tmp_path / "bait"
    attacks = [
        Call(Path.touch, bait),
        Call(builtins.exec, f"open({str(bait)!r}, 'w')"),
        Call(builtins.getattr, Call(builtins.__import__, "os"), "mkdir"),
        keyed_vectors(norms=Call(Path.touch, bait)),
        keyed_vectors(lifecycle_events=[{"event": Call(builtins.open, str(bait), "w")}]),
        keyed_vectors(vectors=np.array([[Call(Path.touch, bait)], [None]], dtype=object)),
    ]
    for attack in attacks:
        path = tmp_path / "attack.kv"
        path.write_bytes(pickle.dumps(attack, protocol))
        with pytest.raises(InputError, match=r"attack\.kv: expected gensim KeyedVectors of plain words and numbers"):
            read_keyed_vectors(path)
        assert not bait.exists()
    path.write_bytes(pickle.dumps(attacks[0], protocol))
    pickle.loads(path.read_bytes())
    assert bait.exists(), "the attack works where pickles are trusted"


def test_a_dotted_name_reaches_nothing_behind_an_allowed_class(tmp_path):
    path = tmp_path / "attack.kv"
    path.write_bytes(b"\x80\x04\x8c\x05numpy\x8c\x16ndarray.__subclasses__\x93)R.")
    with pytest.raises(InputError, match=r"found numpy\.ndarray\.__subclasses__"):
        read_keyed_vectors(path)


def test_a_file_cannot_change_how_the_next_one_is_read(tmp_path):
    good, attack = tmp_path / "good.kv", tmp_path / "attack.kv"
    keyed_vectors().save(str(good))
    known = b"cgensim.models.keyedvectors\nKeyedVectors\n"
    for state in (b"}\x8c\x0c__setstate__Ns", b"N}\x8c\x0c__setstate__Ns\x86"):
        attack.write_bytes(b"\x80\x04" + known + state + b"b.")
        with pytest.raises(InputError, match=r"attack\.kv"):
            read_keyed_vectors(attack)
        assert read_keyed_vectors(good).words == ["cat", "dog"]


def test_an_array_file_with_pickled_objects_is_refused(tmp_path):
    path = tmp_path / "a.kv"
    keyed_vectors().save(str(path), sep_limit=1)
    np.save(f"{path}.vectors.npy", np.array([[Call(print, "run")], [1]], dtype=object))
    with pytest.raises(ValueError, match="Python objects"):
        read_keyed_vectors(path)


def test_other_models_are_refused_by_name(tmp_path):
    from gensim.models import FastText, Word2Vec

    path = tmp_path / "a.model"
    for model in (Word2Vec, FastText):
        model([["a", "b"]], vector_size=2, min_count=1, workers=1, epochs=1).save(str(path))
        with pytest.raises(InputError, match=f"found .*{model.__name__}"):
            read_keyed_vectors(path)
    path.write_bytes(pickle.dumps({"cat": [1.0, 2.0]}))
    with pytest.raises(InputError, match="there is no list of words"):
        read_keyed_vectors(path)


def test_a_truncated_array_next_to_it_is_reported(tmp_path):
    path = tmp_path / "cut.kv"
    keyed_vectors().save(str(path), sep_limit=0)
    array = path.with_name("cut.kv.vectors.npy")
    array.write_bytes(array.read_bytes()[:-4])
    with pytest.raises(InputError, match=r"cut\.kv: expected gensim KeyedVectors"):
        read_keyed_vectors(path)


def test_a_file_of_gensim_3_is_read():
    from gensim.test.utils import datapath

    words, vectors, _ = read_keyed_vectors(Path(datapath("old_keyedvectors_320.dat")))
    assert len(words) == len(vectors) > 0
    assert vectors.dtype == np.float32


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(st.data())
def test_a_damaged_file_raises_input_error_and_nothing_else(tmp_path, data):
    whole = pickle.dumps(keyed_vectors(lifecycle_events=[]), 4)
    at = data.draw(st.integers(2, len(whole) - 1))
    damage = data.draw(st.binary(max_size=3))
    path = tmp_path / "damaged.kv"
    path.write_bytes(whole[:at] + damage + whole[at + data.draw(st.integers(0, 5)) :])
    try:
        words, vectors, _ = read_keyed_vectors(path)
    except InputError as error:
        assert "damaged.kv" in str(error)
    else:
        assert len(words) == len(vectors)
