"""A dataset on the Hub names neither files of this machine nor other hosts as its data."""

import io
import json

import pyarrow.parquet as pq
import pytest

from tests.data.test_untrusted_images import rows
from tests.hub.repositories import Repository
from tests.sources.loopback import Publisher, serving

NAME = "eve/bench"


def parquet(paths):
    file = io.BytesIO()
    pq.write_table(rows(paths), file)
    return file.getvalue()


def publish(hub, files, config=None):
    card = f"---\n{json.dumps({'configs': [config]})}\n---\n" if config else "# A benchmark\n"
    repository = hub.repositories["dataset", NAME] = Repository("dataset", NAME, False)
    repository.write("main", {"README.md": card.encode(), **files}, title="a benchmark")


@pytest.mark.parametrize(
    "name",
    [
        "ADDRESS/test.parquet",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("LOCAL", "../other/test.parquet", "hf://datasets/eve/x/a.csv")
        ),
    ],
)
def test_data_files_elsewhere_are_refused_before_they_are_read(name, hub, vqa_mc, tmp_path):
    (tmp_path / "private.parquet").write_bytes(parquet(["x"]))
    with serving(Publisher(files={"/test.parquet": parquet(["x"])})) as publisher:
        name = name.replace("ADDRESS", publisher.address).replace("LOCAL", str(tmp_path / "private.parquet"))
        publish(hub, {"test.parquet": parquet(["x"])}, {"config_name": "default", "data_files": name})
        done = vqa_mc("audit", NAME, "--no-probes", "--output", tmp_path / "audit")
        assert done.returncode == 2
        assert "vqa-mc: eve/bench" in done.stderr
        assert not publisher.requests


def test_paths_and_addresses_in_rows_of_the_hub_are_not_read(hub, vqa_mc, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    with serving(Publisher()) as publisher:
        names = [str(tmp_path / "secret.png"), f"{publisher.address}/1.png", "vqamc://hf%3A%2F%2Fdatasets%2Fbob%2Fx/1"]
        publish(hub, {"test.parquet": parquet(names)})
        done = vqa_mc("preview", NAME, "--output", tmp_path / "page.html", home="home")
        assert done.returncode == 0, done.stderr
        assert "2 images are outside of the dataset's folder and are not read" in " ".join(done.stdout.split())
        assert "1 images are on the web and are not read" in " ".join(done.stdout.split())
        assert not publisher.requests
        assert not hub.paths_of("GET", "bob/x")
