"""Word vectors of every format equal those of gensim, and malformed files are named with the location."""

import gzip
import lzma
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.vector_files import BLOCK
from hf_vqa_mc.text.word_vectors import load_word_vectors

WORDS = ["the", "cat", "schön", "日本", '"', "nan", "NA"]
NUMBERS = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


def glove(words=WORDS, numbers=NUMBERS) -> bytes:
    rows = [" ".join([word, *map(str, row.tolist())]) for word, row in zip(words, numbers, strict=True)]
    return "\n".join([*rows, ""]).encode()


def binary(words=WORDS, numbers=NUMBERS, end=b"\n") -> bytes:
    header = "{} {}\n".format(*numbers.shape).encode()
    return header + b"".join(
        word.encode() + b" " + row.tobytes() + end for word, row in zip(words, numbers, strict=True)
    )


def saved(folder: Path, content: bytes, name: str = "vectors.txt") -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


def keyed_vectors(words=WORDS, numbers=NUMBERS):
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(numbers.shape[1])
    vectors.add_vectors(words, numbers)
    return vectors


def all_formats(folder: Path) -> dict[str, str]:
    header = "{} {}\n".format(*NUMBERS.shape).encode()
    with zipfile.ZipFile(folder / "packed.zip", "w") as archive:
        archive.writestr("glove.txt", glove())
        archive.writestr("__MACOSX/._glove.txt", "")
    keyed_vectors().save(str(folder / "inside.kv"))
    keyed_vectors().save(str(folder / "beside.kv"), sep_limit=1)
    keyed_vectors().save(str(folder / "packed.kv.gz"), sep_limit=1)
    keyed_vectors().save(str(folder / "old.kv"), pickle_protocol=2)
    return {
        "glove": saved(folder, glove()),
        "glove without last line end": saved(folder, glove().rstrip(), "cut.txt"),
        "glove of Windows": saved(folder, glove().replace(b"\n", b"\r\n"), "windows.txt"),
        "word2vec text": saved(folder, header + glove(), "word2vec.txt"),
        "word2vec text as word2vec.c ends lines": saved(folder, header + glove().replace(b"\n", b" \n"), "c.txt"),
        "word2vec binary": saved(folder, binary(), "word2vec.bin"),
        "word2vec binary of gensim": saved(folder, binary(end=b""), "gensim.bin"),
        "misleading name": saved(folder, binary(), "binary.txt"),
        "gz": saved(folder, gzip.compress(glove()), "glove.txt.gz"),
        "xz": saved(folder, lzma.compress(glove()), "glove.txt.xz"),
        "binary gz": saved(folder, gzip.compress(binary()), "word2vec.bin.gz"),
        "zip": str(folder / "packed.zip"),
        "kv": str(folder / "inside.kv"),
        "kv with its array next to it": str(folder / "beside.kv"),
        "kv packed": str(folder / "packed.kv.gz"),
        "kv of an old pickle": str(folder / "old.kv"),
    }


def test_every_format_gives_the_same_rows(tmp_path):
    for what, path in all_formats(tmp_path).items():
        vectors = load_word_vectors(path)
        rows, found = vectors.rows([*reversed(WORDS), "dog", "cat", ""])
        assert vectors.dim == 4, what
        assert vectors.name == Path(path).name, "the card shows no folder of somebody's machine"
        assert found.tolist() == [True] * len(WORDS) + [False, True, False], what
        assert rows.dtype == np.float32
        assert np.array_equal(rows[: len(WORDS)], NUMBERS[::-1]), what
        assert np.array_equal(rows[len(WORDS) :], [np.zeros(4), NUMBERS[1], np.zeros(4)]), what


def test_the_checksum_is_that_of_the_unpacked_file(tmp_path):
    from hashlib import sha256

    assert load_word_vectors(saved(tmp_path, glove())).sha256 == sha256(glove()).hexdigest()
    assert load_word_vectors(saved(tmp_path, lzma.compress(glove()), "a.xz")).sha256 == sha256(glove()).hexdigest()
    assert load_word_vectors(saved(tmp_path, binary(), "a.bin")).sha256 == sha256(binary()).hexdigest()


def test_the_checksum_of_a_kv_file_depends_on_words_and_vectors_only(tmp_path):
    paths = [str(tmp_path / name) for name in ("a.kv", "b.kv", "other.kv")]
    keyed_vectors().save(paths[0])
    keyed_vectors().save(paths[1], sep_limit=1)
    keyed_vectors(numbers=NUMBERS + 1).save(paths[2])
    first, second, other = (load_word_vectors(path).sha256 for path in paths)
    assert first == second != other


def test_large_kv_arrays_are_memory_mapped(tmp_path):
    keyed_vectors().save(str(tmp_path / "a.kv"), sep_limit=1)
    matrix = load_word_vectors(str(tmp_path / "a.kv"))._vectors
    assert isinstance(matrix.base, np.memmap)


def test_the_first_of_two_vectors_of_a_word_counts(tmp_path):
    for content in (glove(["a", "b", "a", "c", "b", "d", "e"]), binary(["a", "b", "a", "c", "b", "d", "e"])):
        rows, _ = load_word_vectors(saved(tmp_path, content)).rows(["a", "b", "c"])
        assert np.array_equal(rows, NUMBERS[[0, 1, 3]])


def test_words_with_spaces_inside_are_read(tmp_path):
    vectors = load_word_vectors(saved(tmp_path, b"cat 1 2\n. . . 3 4\nat name@domain.com 5 6\n"))
    rows, found = vectors.rows(["cat", ". . .", "at name@domain.com"])
    assert found.all()
    assert rows.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_words_that_are_not_utf8_stay_distinct(tmp_path):
    rows, found = load_word_vectors(saved(tmp_path, b"\xe9 1 2\ncat 3 4\n")).rows(["cat", "é", "\ufffd"])
    assert found.tolist() == [True, False, False]
    assert rows[0].tolist() == [3, 4]


@pytest.mark.slow
def test_files_longer_than_a_block_are_read_whole_and_lines_counted(tmp_path):
    line = b" ".join([b"0.123456789"] * 100)
    count = 2 * BLOCK // len(line)
    lines = [b"w%d %s" % (number, line) for number in range(count)]
    vectors = load_word_vectors(saved(tmp_path, b"\n".join(lines)))
    assert vectors.rows([f"w{number}" for number in range(count)])[1].all()
    lines[count - 2] += b" 1"
    with pytest.raises(InputError, match=rf"line {count - 1}: expected a word and 100 numbers"):
        load_word_vectors(saved(tmp_path, b"\n".join(lines)))
    wide = np.ones((3, BLOCK // 8), np.float32)
    assert load_word_vectors(saved(tmp_path, binary("abc", wide))).rows(["a", "b", "c"])[1].all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n", "line 1: not a vector file"),
        (b"<html>\n<body>no vectors</body>", "line 1: not a vector file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "line 1: not a vector file"),
        (bytes(range(11, 256)) * 20, "line 1: not a vector file"),
        (b"cat 1 2 3\ndog 1 2\n", "line 2: expected a word and 3 numbers"),
        (b"cat 1 2 3\ndog 1 2 3 4\n", "line 2: expected a word and 3 numbers"),
        (b"cat 1 2 3\ndog 1 two 3\n", "line 2: expected a word and 3 numbers: .*two"),
        (b"3 2\ncat 1 2\ndog 1 2\n", r"header \(line 1\) declares 3 vectors, the file holds 2"),
        (b"1 2\ncat 1 2\ndog 1 2\n", r"header \(line 1\) declares 1 vectors, the file holds 2"),
        (b"2 3\ncat 1 2\ndog 1 2\n", "line 2: expected a word and 3 numbers"),
        (b"3 2\n", "expected a word and 2 numbers"),
        (binary()[:-2], "declares 7 vectors of 4 numbers, the file ends inside vector 7"),
        (binary()[: len(binary()) // 2], "ends inside vector 4"),
        (binary().replace(b"7 4", b"8 4"), "declares 8 vectors of 4 numbers, the file ends inside vector 8"),
        (gzip.compress(glove())[:-9], "damaged or truncated"),
        (lzma.compress(glove())[:-20], "damaged or truncated"),
        (b"\x1f\x8b not gzip", "damaged or truncated"),
        (b"PK\x03\x04 not zip", "damaged or truncated"),
    ],
    ids=lambda part: part if isinstance(part, str) else "file",
)
def test_a_malformed_file_is_named_with_the_location(tmp_path, content, message):
    path = saved(tmp_path, content)
    with pytest.raises(InputError, match=message) as error:
        load_word_vectors(path)
    assert path in str(error.value)


@SAME_FOLDER
@example(b"1 1\n")
@example(struct.pack("<4B", 0x80, 4, 0x95, 0))
@given(st.one_of(st.binary(max_size=200), st.binary(max_size=60).map(lambda tail: b"2 1\n" + tail)))
def test_no_bytes_at_all_raise_anything_but_input_error(tmp_path, content):
    try:
        vectors = load_word_vectors(saved(tmp_path, content))
    except InputError as error:
        assert "vectors.txt" in str(error)
    else:
        assert np.isfinite(vectors._vectors).all()


@SAME_FOLDER
@given(st.data())
def test_a_file_cut_anywhere_is_never_taken_for_whole(tmp_path, data):
    text = b"7 4\n" + glove()
    contents = [(binary(), len(binary()) - 2), (text, text.rindex(b" ")), (gzip.compress(glove()), 100)]
    whole, last = data.draw(st.sampled_from(contents))
    cut = whole[: data.draw(st.integers(0, last))]
    with pytest.raises(InputError):
        load_word_vectors(saved(tmp_path, cut))


@pytest.mark.slow
def test_real_glove_is_read_as_gensim_reads_it(real_glove, real_data, tmp_path):
    from gensim.models import KeyedVectors

    lines = real_glove.read_bytes().splitlines(keepends=True)[:5000]
    expected = KeyedVectors.load_word2vec_format(saved(tmp_path, b"5000 100\n" + b"".join(lines)))
    vectors = load_word_vectors(str(real_data / "word_vectors" / f"{real_glove.name}.xz"))
    rows, found = vectors.rows(expected.index_to_key)
    assert vectors.dim == 100
    assert found.all()
    assert np.array_equal(rows, expected.vectors)
    assert len(vectors._row) == 33_054


def test_a_real_binary_file_is_read_as_gensim_reads_it(real_data):
    from gensim.models import KeyedVectors

    path = str(real_data / "word_vectors" / "gensim__euclidean_vectors.bin")
    expected = KeyedVectors.load_word2vec_format(path, binary=True)
    rows, found = load_word_vectors(path).rows(expected.index_to_key)
    assert found.all()
    assert np.array_equal(rows, expected.vectors)


def test_corpus_needs_a_dataset():
    with pytest.raises(InputError, match="trained on a dataset's text"):
        load_word_vectors("corpus")
    with pytest.raises(InputError, match="it has no words"):
        load_word_vectors("corpus", lambda: [[], []])


def test_corpus_vectors_separate_colours_from_shapes():
    colours, shapes = ["red", "blue", "green", "black"], ["circle", "square", "triangle"]
    sentences = [["what", "colour", "is", "it", colour] for colour in colours]
    sentences += [["which", "shape", "does", "this", "have", shape] for shape in shapes]
    rows, found = load_word_vectors("corpus", lambda: sentences * 200, seed=3).rows(["red", "blue", "circle"])
    assert found.all()
    red, blue, circle = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert red @ blue > red @ circle


_TRAIN = """
from hf_vqa_mc.text.word_vectors import load_word_vectors
sentences = [["is", "the", "cat", f"colour{n % 7}"] for n in range(2000)]
for seed in (0, 0, 1):
    print(load_word_vectors("corpus", lambda: iter(sentences), seed).sha256)
"""


@pytest.mark.slow
def test_corpus_vectors_are_the_same_in_every_process():
    printed = [
        subprocess.run(
            [sys.executable, "-c", _TRAIN],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for hash_seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert printed[0][0] == printed[0][1] != printed[0][2]


def test_training_reports_sentences_of_all_epochs(monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.text.word_vectors._REPORTED", 10)
    steps = []
    load_word_vectors("corpus", lambda: [["a", "cat"]] * 30, progress=lambda *step: steps.append(step))
    assert steps[0] == ("training word vectors", 0, 150)
    assert ("training word vectors", 40, 150) in steps
    assert steps[-1] == ("training word vectors", 150, 150)


def test_a_vector_that_is_not_finite_is_named_when_its_word_is_used(tmp_path):
    (tmp_path / "v.txt").write_text("red 1 2\nblue nan 1\ngreen inf 2\n")
    vectors = load_word_vectors(str(tmp_path / "v.txt"))
    assert vectors.rows(["red"])[0].tolist() == [[1.0, 2.0]]
    for word in ("blue", "green"):
        with pytest.raises(InputError, match=f"word vectors v.txt: that of '{word}' is not finite"):
            vectors.rows(["red", word])
