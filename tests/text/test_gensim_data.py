"""Names of gensim-data are fetched once through gensim's downloader, and nothing that comes with them is run."""

import gzip
import json
import threading
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.word_vectors import load_word_vectors

VECTORS = gzip.compress(b"2 3\ncat 1 2 3\ndog 4 5 6\n", mtime=0)


class Server(ThreadingHTTPServer):
    """gensim-data on loopback: its list and one set of vectors with the module that would load it."""

    def __init__(self, checksum: str) -> None:
        self.requests: list[str] = []
        entry = {"checksum": checksum, "file_name": "tiny-vectors-3.gz", "parts": 1}
        listed = {"models": {"tiny-vectors-3": entry, "word2vec-google-news-300": entry}, "corpora": {"text8": entry}}
        self.files = {
            "/list.json": json.dumps(listed).encode(),
            "/tiny-vectors-3/tiny-vectors-3.gz": VECTORS,
            "/tiny-vectors-3/__init__.py": b"raise SystemExit('code from a download was run')",
        }
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers with the server's files."""

    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gensim_data(tmp_path, monkeypatch):
    """Points gensim's downloader at a server on loopback and an empty folder; gives the server."""
    from gensim import downloader

    server = Server(md5(VECTORS).hexdigest())
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path / "gensim-data"))
    monkeypatch.setattr(downloader, "DOWNLOAD_BASE_URL", address)
    monkeypatch.setattr(downloader._load_info, "__defaults__", (f"{address}/list.json", "utf-8"))
    monkeypatch.chdir(tmp_path)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_name_is_fetched_once_and_its_code_never_run(gensim_data, capsys):
    vectors = load_word_vectors("tiny-vectors-3")
    assert vectors.name == "tiny-vectors-3"
    assert vectors.rows(["dog"])[0].tolist() == [[4, 5, 6]]
    assert capsys.readouterr().out == "", "the download's progress bar does not mix with a command's output"
    gensim_data.requests.clear()
    assert load_word_vectors("tiny-vectors-3").sha256 == vectors.sha256
    assert not gensim_data.requests


def test_an_unknown_name_suggests_the_nearest(gensim_data):
    with pytest.raises(InputError, match=r"no such file.*: did you mean 'word2vec-google-news-300'\?"):
        load_word_vectors("word2vec-google-news")


def test_a_text_corpus_of_gensim_data_is_no_vector_file(gensim_data):
    with pytest.raises(InputError, match="unknown word vectors"):
        load_word_vectors("text8")


def test_a_damaged_download_is_refused_and_not_kept(gensim_data, tmp_path):
    gensim_data.files["/tiny-vectors-3/tiny-vectors-3.gz"] = VECTORS[:-3]
    with pytest.raises(InputError, match="Checksum comparison failed"):
        load_word_vectors("tiny-vectors-3")
    assert not (tmp_path / "gensim-data" / "tiny-vectors-3").exists()


def test_a_missing_download_is_named(gensim_data):
    with pytest.raises(InputError, match=r"word2vec-google-news-300: .*cannot be fetched \(.*404"):
        load_word_vectors("word2vec-google-news-300")


def test_without_a_network_the_remedy_is_named(gensim_data, capsys):
    gensim_data.files.clear()
    with pytest.raises(InputError, match="give the path of a vector file"):
        load_word_vectors("tiny-vectors-3")
    assert "Traceback" not in capsys.readouterr().err
