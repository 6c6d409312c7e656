"""``hf_vqa_mc.push`` and ``vqa-mc push``: datasets, models, metrics, results and the audit to the Hub."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.hub import PUSHABLES
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import FOLDER, check_options, option, settings
from hf_vqa_mc.result import Frame, Report, Result, frame_of, verb

if TYPE_CHECKING:
    from hf_vqa_mc.hub.push import Pushed
    from hf_vqa_mc.hub.shipment import Shipment


def is_tag(text: str) -> bool:
    """Whether a text is the name of a tag.

    >>> is_tag("v1.0"), is_tag("-d"), is_tag("a..b"), is_tag("a/b"), is_tag("a.lock")
    (True, False, False, False, False)
    """
    return not text.endswith(".lock") and re.fullmatch(r"[A-Za-z0-9](?:[\w-]|\.(?!\.|$))*", text, re.ASCII) is not None


@settings
class PushSettings:
    """Push a dataset, model, metric or the audit to the Hub, in one commit; or results as a pull request.

    Uses the token of hf auth login or HF_TOKEN. Repeat an interrupted push to resume it.
    """

    what: str = option(f"What to push: {', '.join(PUSHABLES)}.", kw_only=False)
    repo_id: str = option(
        "NAMESPACE/NAME of the repository (NAMESPACE: your user name or an organization; NAME: that of a metric, if "
        "one is pushed); created if missing.",
        kw_only=False,
    )
    folder: Path | Any | None = option(
        "Dataset: folder of vqa-mc build (by default ./vqa_mc) or remedy, or any benchmark that vqa-mc audit reads, "
        "in Python also in memory. Model: checkpoint of vqa-mc train, such as RUN/best. Results: folder of vqa-mc "
        "evaluate.",
        default=None,
        check=("an existing folder or file", lambda given: not isinstance(given, Path) or given.exists()),
    )
    images: Path | None = option(
        "Dataset: folder with the image files that a column names.", default=None, check=FOLDER
    )
    image: str | None = option(
        "Dataset: column of the image; '' pushes paths, addresses and names of videos alone.", default=None
    )
    benchmark: str | None = option(
        "Results: NAMESPACE/NAME of the benchmark on the Hub, if a local copy was evaluated.", default=None
    )
    task: str | None = option(
        "Results: id of the task in the benchmark's eval.yaml; by default its config.", default=None
    )
    private: bool = option("Create a new repository as private.", default=False)
    replace: bool = option("Dataset: remove configs from the Hub that are not in the folder.", default=False)
    tag: str | None = option(
        "Dataset: name of this release, such as v1.0.0, by which NAMESPACE/NAME@v1.0.0 is read; must be new.",
        default=None,
        check=("letters, digits, '.', '-' and '_', a letter or digit first", is_tag),
    )
    creators: tuple[str, ...] = option(
        "Dataset: people who made it, for croissant.json, separated by commas.", default=(), separator=","
    )
    dry_run: bool = option("Show what would be uploaded, without network access.", default=False)

    def __post_init__(self) -> None:
        check_options(self)
        kind = PUSHABLES.find(self.what)
        if self.what != "dataset" and not isinstance(self.folder, Path | None):
            raise InputError(f"--folder {shown(self.folder)}: expected a path; only a dataset may be in memory")
        for name in ("folder", "images", "image", "replace", "tag", "benchmark", "task", "creators"):
            value = getattr(self, name)
            if value not in (None, False, ()) and name not in kind.options:
                kinds = listed([one.name for one in PUSHABLES.values() if name in one.options], separator=" or ")
                given = f"--{name}" if value is True or isinstance(value, tuple) else f"--{name} {value}"
                raise InputError(f"{given} is only for push {kinds}; remove it")


@dataclass(frozen=True, eq=False, repr=False)
class PushResult(Result):
    """The uploaded files, or in a dry run those to upload."""

    shipment: "Shipment"
    settings: PushSettings
    pushed: "Pushed | None" = None  #: None for a dry run

    def report(self) -> Report:
        """The repository, its commit and how to load it; for a dry run, the files."""
        shipment, done, kind = self.shipment, self.pushed, PUSHABLES[self.settings.what]
        visibility = "private" if (done or shipment).private else "public"
        if done is None:
            sizes = [_size(file.size) for file in shipment.files]
            width = max(map(len, sizes))
            how = "as a pull request" if shipment.pull_request else f"{visibility} if new"
            yield f"{shipment.kind} {shipment.name}, {how}"
            yield f"commit message: {shipment.message}"
            yield from (f"{size:>{width}}  {file.path}" for size, file in zip(sizes, shipment.files, strict=True))
            if shipment.kind == "dataset":
                yield f"\nREADME.md, the dataset card:\n\n{shipment.card}"
            yield f"{_files(shipment)}; nothing was sent"
        elif done.pull_request is not None:
            yield f"{'opened' if done.changed else 'already open, nothing was sent:'} {done.pull_request}"
            return
        else:
            state = f", commit {done.commit[:8]}" if done.changed else " is up to date; nothing was sent"
            verb = ("created " if done.created else "updated ") if done.changed else ""
            yield f"{verb}{done.url} ({visibility}){state}"
            yield from (f"removed {path}" for path in done.removed)
            if self.settings.tag is not None:
                yield f"tagged {shipment.name}@{self.settings.tag}"
            if not done.changed:
                return
        if shipment.kind == "dataset":
            if missing := self._missing():
                yield f"croissant.json has no {missing}"
        yield from (f"not sent: {path} ({kind.left_out})" for path in shipment.left_out)
        if done is not None:
            yield f"to load it: {kind.usage(shipment)}"

    def _missing(self) -> str:
        """What croissant.json of a dataset lacks, and where it comes from."""
        from hf_vqa_mc.data.inventory import configs_of
        from hf_vqa_mc.dataset.card_text import choice_configs

        wanted = {"version and date (--tag)": self.settings.tag, "creators (--creators)": self.settings.creators}
        configs = choice_configs(configs_of(self.shipment.inventory or {}))
        if not_audited := [name for name, config in configs.items() if not config.get("measured")]:
            wanted[f"audit of {listed(not_audited)} (vqa-mc audit, in this directory)"] = None
        return listed([name for name, value in wanted.items() if not value], separator=" and ")

    def to_dict(self) -> dict[str, Any]:
        """Repository, files and, unless it was a dry run, commit."""
        shipment, done = self.shipment, self.pushed
        figures = {
            "repository": shipment.name,
            "type": shipment.kind,
            "private": shipment.private,
            "message": shipment.message,
            "files": [{"path": file.path, "bytes": file.size} for file in shipment.files],
            "left_out": list(shipment.left_out),
            "card": shipment.card,
        }
        if done is not None:
            figures |= vars(done) | {"removed": list(done.removed)}
        return figures

    def to_pandas(self) -> Frame:
        """One row per file: path and bytes."""
        return frame_of(self.to_dict()["files"], columns=["path", "bytes"])


@verb(
    PushSettings,
    "vqa-mc push dataset NAMESPACE/vqa_mc --dry-run",
    "vqa-mc push dataset NAMESPACE/benchmark --folder remedied",
    "vqa-mc push model NAMESPACE/mlp-iqa --folder RUN/best",
    "vqa-mc push metric NAMESPACE/mc_accuracy",
    "vqa-mc push results NAMESPACE/mlp-iqa --folder vqa_mc_evaluations/iqa --benchmark NAMESPACE/vqa_mc",
    "vqa-mc push space NAMESPACE/audit",
)
def push(settings: PushSettings, progress: Progress) -> PushResult:
    """The files and, unless it is a dry run, the commit.

    Raises:
        InputError: what is pushed is incomplete or changed, the token may not write there, configs would be removed,
            or there was a concurrent push.
        ConnectionError: the Hub cannot be reached, or fails.
    """
    from hf_vqa_mc.hub.push import push as send
    from hf_vqa_mc.hub.shipment import Request

    given = {one.name: getattr(settings, one.name) for one in fields(Request) if one.name != "name"}
    request = Request(settings.repo_id, **given)
    shipment = PUSHABLES[settings.what].prepare(request, progress)
    if settings.dry_run:
        return PushResult(shipment, settings)
    progress(f"sending {_files(shipment)} to {shipment.name}", 1, 1)
    return PushResult(shipment, settings, send(shipment, replace=settings.replace, tag=settings.tag))


def _files(shipment: "Shipment") -> str:
    return f"{len(shipment.files)} files, {_size(sum(file.size for file in shipment.files))}"


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
