"""Names of gensim-data are fetched once through gensim's downloader, and nothing that comes with them is run."""

import gzip
import sys
from pathlib import Path

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.word_vectors import load_word_vectors


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """The names that gensim's downloader fetches, from a list of two, into an empty folder."""
    from gensim import downloader

    names = []

    def load(name, return_path):
        assert return_path  # else it runs the module that comes with the vectors
        sys.stdout.write("[====] 100.0%")
        names.append(name)
        path = Path(downloader.BASE_DIR, name, f"{name}.gz")
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(b"2 3\ncat 1 2 3\ndog 4 5 6\n"))
        return str(path)

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path / "gensim-data"))
    monkeypatch.setattr(downloader, "info", lambda: {"models": {"tiny-vectors-3": {}, "word2vec-google-news-300": {}}})
    monkeypatch.setattr(downloader, "load", load)
    monkeypatch.chdir(tmp_path)
    return names


def test_a_name_is_fetched_once_and_its_code_never_run(fetched, capsys):
    vectors = load_word_vectors("tiny-vectors-3")
    assert vectors.name == "tiny-vectors-3"
    assert vectors.rows(["dog"])[0].tolist() == [[4, 5, 6]]
    assert capsys.readouterr().out == "", "the download's progress bar does not mix with a command's output"
    assert load_word_vectors("tiny-vectors-3").sha256 == vectors.sha256
    assert fetched == ["tiny-vectors-3"]


def test_an_unknown_name_suggests_the_nearest(fetched):
    with pytest.raises(InputError, match=r"no such file.*: did you mean 'word2vec-google-news-300'\?"):
        load_word_vectors("word2vec-google-news")


def test_without_a_network_the_remedy_is_named(monkeypatch, tmp_path):
    from gensim import downloader

    def unreachable():
        raise OSError("no network")

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    monkeypatch.setattr(downloader, "info", unreachable)
    with pytest.raises(InputError, match=r"cannot be fetched \(no network\); give the path of a vector file"):
        load_word_vectors("tiny-vectors-3")
