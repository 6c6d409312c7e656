"""A built dataset goes to the Hub and comes back, also when things go wrong between."""

import json
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path
from shutil import copytree
from threading import Event

import pytest
from datasets import Dataset
from huggingface_hub import snapshot_download

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.version import __version__
from tests.dataset.fixtures import tree_bytes
from tests.hub.pushing import READER, STRANGER, TOKEN, as_sent, build, environment, json_of, last_line
from tests.hub.repositories import Fault

NAME = "ada/vqa_mc"
OF_HUGGINGFACE_HUB = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
"""Its upload of large files uses a deprecated argument of httpx."""
PULL = """
import json, sys
from datasets import load_dataset
rows = load_dataset(sys.argv[1], "cocoqa_iou_qou")
print(json.dumps({split: part.to_list() for split, part in rows.items()}))
"""
PULL_IMAGES = """
import json, sys
import hf_vqa_mc
from datasets import load_dataset
rows = hf_vqa_mc.with_images(load_dataset(sys.argv[1], "cocoqa_iou_qou", split="test"))
print(json.dumps([row["image"].size for row in rows.select(range(3))]))
"""


def sent(hub, name=NAME):
    """The files of a dataset on the Hub, but for the Hub's own."""
    return {path: content for path, content in hub.repositories["dataset", name].files.items() if path[0] != "."}


@pytest.mark.slow
def test_a_pushed_dataset_is_the_folder_and_loads_as_it_does_then_without_a_network(hub, built, vqa_mc, process):
    done = vqa_mc("push", "dataset", NAME, "--folder", built)
    assert done.returncode == 0, done.stderr
    head = hub.repositories["dataset", NAME].at("main")
    assert f"created {hub.address}/datasets/{NAME} (public), commit {head.oid[:8]}" in done.stdout
    assert 'to load it: datasets.load_dataset("ada/vqa_mc", "cocoqa_iou_qou")' in done.stdout
    assert sent(hub) == as_sent(hub, built)
    assert head.title == f"cocoqa, made by hf_vqa_mc {__version__}"
    here = json_of(process("-c", PULL, str(built)))
    assert {split: len(rows) for split, rows in here.items()} == {"train": 40, "test": 20}
    assert json_of(process("-c", PULL, NAME, token=None, home="elsewhere")) == here
    assert json_of(process("-c", PULL_IMAGES, NAME, home="elsewhere")) == [[8, 8]] * 3
    n_requests = len(hub.requests)
    assert json_of(process("-c", PULL, NAME, token=None, home="elsewhere", HF_HUB_OFFLINE="1")) == here
    assert (hub.leaked, len(hub.requests)) == ([], n_requests)


@pytest.mark.slow
def test_a_dry_run_shows_everything_and_asks_the_hub_nothing(hub, built, vqa_mc):
    done = vqa_mc("push", "dataset", NAME, "--folder", built, "--private", "--dry-run", token=None)
    assert done.returncode == 0, done.stderr
    listed, _, rest = done.stdout.partition("\nREADME.md, the dataset card:\n\n")
    first, message, *files = listed.splitlines()
    card, total, lacks = rest.rstrip("\n").rsplit("\n", 2)
    assert lacks.startswith("croissant.json has no version and date (--tag) and creators (--creators) and audit of ")
    assert card.strip() == as_sent(hub, built)["README.md"].decode().strip()
    assert first == f"dataset {NAME}, private if new"
    assert message == f"commit message: cocoqa, made by hf_vqa_mc {__version__}"
    tree = as_sent(hub, built)
    assert {line.split()[-1] for line in files} == set(tree)
    assert files[0].split()[1] in ("B", "kB")
    assert total.startswith(f"{len(tree)} files, ")
    assert total.endswith("; nothing was sent")
    plan = json.loads(vqa_mc("push", "dataset", NAME, "--folder", built, "--dry-run", "--json", token=None).stdout)
    assert {file["path"]: file["bytes"] for file in plan["files"]} == {path: len(tree[path]) for path in tree}
    assert (plan["repository"], plan["type"], plan["private"]) == (NAME, "dataset", False)
    assert hub.requests == []


@pytest.mark.slow
def test_a_rebuilt_folder_replaces_its_files_and_leaves_the_others(hub, built, vqa_mc, tmp_path, process):
    vqa_mc("push", "dataset", NAME, "--folder", built)
    repository = hub.repositories["dataset", NAME]
    old_shards = {"cocoqa_iou/train-00000-of-00002.parquet": b"old"}
    inventory = json.loads(repository.files["statistics.json"])
    inventory["sources"]["cocoqa"]["configs"]["cocoqa_iou"]["files"].update(dict.fromkeys(old_shards, "0"))
    more = {**old_shards, "LICENSE": b"mine", "statistics.json": json.dumps(inventory).encode()}
    repository.write("main", more, title="by hand")
    again = build(tmp_path / "again", "iou", "iou_qou", seed=1)
    done = vqa_mc("push", "dataset", NAME, "--folder", again)
    assert done.returncode == 0, done.stderr
    assert f"removed {next(iter(old_shards))}" in done.stdout
    assert sent(hub) == {**as_sent(hub, again), "LICENSE": b"mine"}
    assert json_of(process("-c", PULL, NAME)) == json_of(process("-c", PULL, str(again)))


@pytest.mark.slow
def test_configs_that_only_the_hub_has_are_removed_only_with_replace(hub, built, vqa_mc, tmp_path):
    vqa_mc("push", "dataset", NAME, "--folder", built)
    less = build(tmp_path / "less", "iou")
    before = sent(hub)
    done = vqa_mc("push", "dataset", NAME, "--folder", less)
    assert done.returncode == 2
    assert f"{NAME} also has cocoqa_iou_qou, which a push of this folder would remove" in last_line(done)
    assert sent(hub) == before
    done = vqa_mc("push", "dataset", NAME, "--folder", less, "--replace")
    assert done.returncode == 0, done.stderr
    assert sent(hub) == as_sent(hub, less)


@pytest.mark.slow
def test_files_that_no_build_wrote_stay_here(hub, built, vqa_mc, tmp_path):
    assert "there is no folder vqa_mc; name the benchmark" in last_line(vqa_mc("push", "dataset", NAME, "--dry-run"))
    folder = copytree(built, tmp_path / "vqa_mc")
    (folder / "notes.txt").write_text("my thoughts")
    (folder / ".env").write_text("secret")
    done = vqa_mc("push", "dataset", NAME)
    assert "not sent: notes.txt (not written by vqa-mc build or remedy)" in done.stdout
    assert sent(hub) == as_sent(hub, built)


@pytest.mark.slow
def test_downloaded_files_can_be_pushed_again(hub, built, vqa_mc, process, tmp_path):
    vqa_mc("push", "dataset", NAME, "--folder", built)
    pull = (
        "from huggingface_hub import snapshot_download as pull; pull('ada/vqa_mc', repo_type='dataset', local_dir='p')"
    )
    assert process("-c", pull).returncode == 0
    assert (tmp_path / "p" / ".cache").is_dir()
    assert "is up to date" in vqa_mc("push", "dataset", NAME, "--folder", "p").stdout
    assert vqa_mc("push", "dataset", "benchmakers/other", "--folder", "p").returncode == 0
    assert sent(hub, "benchmakers/other") == as_sent(hub, built, "benchmakers/other")


def remedied(folder, *configs, **options):
    """A folder of configs of a remedied benchmark, with the hashes of their rows."""
    from hf_vqa_mc.data import read_benchmark
    from hf_vqa_mc.dataset.writing import write_benchmark

    rows = [{"question": f"q{n}?", "choices": ["a", "b"], "label": n % 2} for n in range(4)]
    benchmark = read_benchmark(Dataset.from_list(rows))
    for config in configs:
        tables, hashes = {"test": benchmark.test.original}, {"test": benchmark.test.hashes}
        write_benchmark(benchmark, tables, folder, config=config, hashes=hashes, **options)
    return folder


@OF_HUGGINGFACE_HUB
def test_a_remedied_benchmark_is_pushed_tagged_verified_and_extended(hub_here, tmp_path):
    folder = remedied(tmp_path / "remedied", "one")
    vm.push("dataset", NAME, folder=folder, tag="v1.0", creators=["Ada Lovelace", "Mary Somerville"])
    pushed, expected = sent(hub_here), as_sent(hub_here, folder)
    metadata = json.loads(pushed.pop("croissant.json"))
    release = {name: metadata.pop(name) for name in ("version", "datePublished", "creator")}
    assert metadata == json.loads(expected.pop("croissant.json")) and pushed == expected
    assert (release["version"], [one["name"] for one in release["creator"]]) == (
        "1.0",
        ["Ada Lovelace", "Mary Somerville"],
    )
    assert date.fromisoformat(release["datePublished"]) <= datetime.now(UTC).date()
    card = hub_here.repositories["dataset", NAME].files["README.md"].decode()
    assert "Canary string: `hf_vqa_mc:" in card and "sha256 of the rows in their order" in card
    copy = snapshot_download(NAME, repo_type="dataset", revision="v1.0", local_dir=tmp_path / "copy")
    assert vm.verify(folder / "statistics.json", copy).to_dict()["verified"]
    remedied(Path(copy), "two", overwrite=True)  # with the cache of the download
    again = vm.push("dataset", NAME, folder=copy)
    assert "croissant.json has no version and date (tag) and creators (creators)" in repr(again)
    assert {f"{config}/test-00000-of-00001.parquet" for config in ("one", "two")} <= sent(hub_here).keys()
    with pytest.raises(InputError, match="also has two, which a push of this folder would remove"):
        vm.push("dataset", NAME, folder=folder)
    vm.push("dataset", NAME, folder=folder, replace=True)
    assert sent(hub_here) == as_sent(hub_here, folder)
    assert hub_here.leaked == []


@OF_HUGGINGFACE_HUB
def test_the_metadata_have_the_verdict_of_an_audit_of_these_rows(hub_here, built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vm.audit(built, "cocoqa_iou_qou", probes=False).save("vqa_mc_audit/one")
    vm.audit(built, "cocoqa_iou", probes=False).save("elsewhere")
    printed = repr(vm.push("dataset", NAME, folder=built))
    biases = json.loads(sent(hub_here)["croissant.json"])["rai:dataBiases"]
    verdict = json.loads(Path("vqa_mc_audit/one/audit.json").read_text())["verdict"]
    assert f"cocoqa_iou_qou: Measured by vqa-mc audit on the split test. {verdict}" in biases
    assert biases.count("Measured by") == 1
    assert "audit of cocoqa_iou (" in printed


@OF_HUGGINGFACE_HUB
def test_a_remedied_benchmark_that_was_changed_is_refused(hub_here, tmp_path):
    folder = remedied(tmp_path / "remedied", "one")
    vm.push("dataset", NAME, folder=folder)
    before = sent(hub_here)
    (folder / "one" / "test-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="was changed after the build"):
        vm.push("dataset", NAME, folder=folder)
    assert sent(hub_here) == before


@pytest.mark.slow
def test_a_private_dataset_is_there_for_its_owner_only(hub, built, vqa_mc, process):
    done = vqa_mc("push", "dataset", NAME, "--folder", built, "--private")
    assert "(private)" in done.stdout
    assert hub.repositories["dataset", NAME].private
    for token in (None, STRANGER):
        refused = process("-c", PULL, NAME, token=token, home=f"home of {token}")
        assert refused.returncode == 1
        assert "DatasetNotFoundError" in refused.stderr
    assert len(json_of(process("-c", PULL, NAME, home="owner"))["train"]) == 40
    head = hub.repositories["dataset", NAME].at("main")
    again = vqa_mc("push", "dataset", NAME, "--folder", built)
    assert again.stdout == f"{hub.address}/datasets/{NAME} (private) is up to date; nothing was sent\n"
    assert hub.repositories["dataset", NAME].at("main") is head


@pytest.mark.slow
def test_private_is_rejected_where_the_repository_is_public(hub, built, vqa_mc, tmp_path):
    vqa_mc("push", "dataset", NAME, "--folder", built)
    before = sent(hub)
    other = build(tmp_path / "other", "iou", "iou_qou", seed=1)
    done = vqa_mc("push", "dataset", NAME, "--folder", other, "--private")
    assert done.returncode == 2
    assert f"{NAME} is public, and a push cannot make it private" in last_line(done)
    assert sent(hub) == before


@pytest.mark.slow
def test_a_push_that_was_killed_leaves_nothing_half_done_and_the_next_resumes(hub, built, vqa_mc, process, tmp_path):
    reached, done = Event(), Event()

    def hold():
        reached.set()
        done.wait(60)
        raise ConnectionAbortedError("what is held is never kept")

    hub.faults.append(Fault("PUT", "/objects/", first=hold, skip=2))
    command = [sys.executable, "-m", "hf_vqa_mc", "push", "dataset", NAME, "--folder", str(built)]
    with subprocess.Popen(command, env=environment(hub, tmp_path / "home", TOKEN), stderr=subprocess.PIPE) as pushing:
        assert reached.wait(60)
        repository = hub.repositories["dataset", NAME]
        deadline = time.monotonic() + 60
        while len(repository.objects) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        pushing.send_signal(signal.SIGKILL)
    kept = set(repository.objects)
    done.set()  # now what had arrived of the others may be kept as well
    assert sent(hub) == {}
    parquet = [path for path in tree_bytes(built) if path.endswith(".parquet")]
    assert 2 <= len(kept) < len(parquet)
    hub.requests.clear()
    assert vqa_mc("push", "dataset", NAME, "--folder", built).returncode == 0
    put = {path.split("/")[-1].split("?")[0] for path in hub.paths_of("PUT", "/objects/")}
    assert put
    assert not put & kept
    assert sent(hub) == as_sent(hub, built)
    assert len(json_of(process("-c", PULL, NAME))["test"]) == 20


@pytest.mark.slow
def test_a_connection_that_breaks_is_resumed(hub, built, vqa_mc):
    hub.faults.append(Fault("PUT", "/objects/", cut=100))
    hub.faults.append(Fault("POST", ".git/info/lfs", status=503))
    done = vqa_mc("push", "dataset", NAME, "--folder", built)
    assert done.returncode == 0, done.stderr
    assert sent(hub) == as_sent(hub, built)


@pytest.mark.slow
def test_a_hub_that_fails_at_the_commit_has_changed_nothing(hub, built, vqa_mc):
    hub.faults.append(Fault("POST", "/commit/main", status=500))
    done = vqa_mc("push", "dataset", NAME, "--folder", built)
    assert done.returncode == 1
    assert f"{hub.address} responds with 500 (" in last_line(done)
    assert last_line(done).endswith("push again to resume")
    assert sent(hub) == {}
    hub.requests.clear()
    assert vqa_mc("push", "dataset", NAME, "--folder", built).returncode == 0
    assert hub.paths_of("PUT", "/objects/") == []
    assert sent(hub) == as_sent(hub, built)


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 403])
def test_a_token_that_the_hub_repeats_is_not_printed(hub, built, vqa_mc, status):
    every = [Fault(method, "/", status=status, times=99) for method in ("GET", "HEAD", "POST")]
    hub.faults.extend(every)
    commands = [
        ("push", "dataset", NAME, "--folder", built),
        ("audit", NAME),
        ("predict", "ada/model", built, "cocoqa_iou"),
    ]
    done = [vqa_mc(*command) for command in commands]  # the fixture looks for tokens
    assert all(one.returncode in (1, 2) for one in done), done
    assert any("[token]" in one.stderr for one in done)


@pytest.mark.slow
def test_somebody_elses_commit_meanwhile_is_reported_and_kept(hub, built, vqa_mc, tmp_path):
    vqa_mc("push", "dataset", NAME, "--folder", built)
    repository = hub.repositories["dataset", NAME]
    hub.faults.append(
        Fault("PUT", "/objects/", first=lambda: repository.write("main", {"NOTES": b"theirs"}, title="theirs"))
    )
    other = build(tmp_path / "other", "iou", "iou_qou", seed=1)
    done = vqa_mc("push", "dataset", NAME, "--folder", other)
    assert done.returncode == 2
    assert last_line(done) == (
        f"vqa-mc: {NAME} was changed by another push; nothing was overwritten: download it and push again"
    )
    assert sent(hub) == {**as_sent(hub, built), "NOTES": b"theirs"}
    assert vqa_mc("push", "dataset", NAME, "--folder", other).returncode == 0
    assert sent(hub) == {**as_sent(hub, other), "NOTES": b"theirs"}


@pytest.mark.parametrize(
    ("name", "token", "message"),
    [
        (NAME, None, "no Hub token: run hf auth login, or set HF_TOKEN"),
        (NAME, "hf_nobodys", "the Hub rejects the token: run hf auth login, or fix HF_TOKEN"),
        (NAME, READER, f"the token of ada has no write access to {NAME}; create one that has at "),
        ("nobody/vqa_mc", TOKEN, "the token of ada (organizations: benchmakers) cannot push to nobody"),
        (NAME, STRANGER, "the token of bob (no organizations) cannot push to ada"),
        ("vqa_mc", TOKEN, "'vqa_mc' is not a repository name; expected NAMESPACE/NAME"),
        ("ada/vqa mc", TOKEN, "'vqa mc' is not a valid Hub name; expected letters, digits"),
    ],
)
@pytest.mark.slow
def test_a_rejection_of_the_hub_is_one_line_with_the_remedy(hub, built, vqa_mc, name, token, message):
    done = vqa_mc("push", "dataset", name, "--folder", built, token=token)
    assert done.returncode == 2
    assert message in last_line(done)
    assert sum("vqa-mc: " in line for line in done.stderr.splitlines()) == 1
    assert hub.repositories == {}


@pytest.mark.slow
def test_no_network_is_exit_code_1(built, vqa_mc):
    done = vqa_mc("push", "dataset", NAME, "--folder", built, HF_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 1
    assert last_line(done).startswith("vqa-mc: http://127.0.0.1:9 cannot be reached (")
    done = vqa_mc("push", "dataset", NAME, "--folder", built, HF_HUB_OFFLINE="1")
    assert done.returncode == 2
    assert last_line(done) == "vqa-mc: HF_HUB_OFFLINE is set, but a push needs the network; unset it"


SPOILT = {
    "inventory": (lambda folder: (folder / "statistics.json").unlink(), "(its statistics.json is missing)"),
    "card": (lambda folder: (folder / "README.md").unlink(), "README.md is missing; build it again"),
    "file": (lambda folder: next(folder.glob("cocoqa_iou/test*")).unlink(), ".parquet is missing; build it again"),
    "content": (lambda folder: next(folder.glob("*_iou/t*")).write_bytes(b""), "was changed after the build"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILT.values(), ids=SPOILT)
@pytest.mark.slow
def test_a_folder_that_is_not_whole_is_rejected_before_anything_is_sent(hub, built, vqa_mc, tmp_path, spoil, message):
    folder = copytree(built, tmp_path / "spoilt")
    spoil(folder)
    done = vqa_mc("push", "dataset", NAME, "--folder", folder)
    assert done.returncode == 2
    assert message in last_line(done)
    assert hub.requests == []


@pytest.mark.slow
def test_a_path_that_leads_out_of_the_folder_is_rejected(built, vqa_mc, tmp_path):
    folder = copytree(built, tmp_path / "vqa_mc")
    text = (folder / "statistics.json").read_text()
    (folder / "statistics.json").write_text(text.replace('"cocoqa_iou/test', '"cocoqa_iou/../../test'))
    done = vqa_mc("push", "dataset", NAME, "--dry-run")
    assert done.returncode == 2
    assert "test-00000-of-00001.parquet'; expected CONFIG/FILE" in last_line(done)


def test_python_lists_what_a_push_would_send(built, tmp_path, hub_here):
    result = vm.push("dataset", NAME, folder=built, dry_run=True)
    tree = as_sent(hub_here, built)
    assert dict(zip(*result.to_pandas().T.to_numpy(), strict=True)) == {path: len(tree[path]) for path in tree}
    assert "; nothing was sent\n" in repr(result)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"what": "datset"}, "did you mean 'dataset'"),
        ({"what": "metric", "creators": ["Ada"]}, "creators is only for push dataset; remove it"),
        ({"what": "metric", "replace": True}, "replace=True is only for push dataset; remove it"),
        ({"repo_id": "vqa_mc"}, "expected NAMESPACE/NAME"),
    ],
)
def test_python_rejects_options_of_other_kinds(settings, message, built):
    with pytest.raises(InputError, match=message):
        vm.push(**{"what": "dataset", "repo_id": NAME, "dry_run": True, **settings})
