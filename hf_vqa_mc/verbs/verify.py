"""``hf_vqa_mc.verify`` and ``vqa-mc verify``: recompute row hashes or an audit, and compare them with a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import FOLDER, option, settings, verb
from hf_vqa_mc.result import FAILED, Frame, Report, Result, frame_of
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from hf_vqa_mc.audits.comparison import Check


@settings
class VerifySettings:
    """Recompute an audit and compare it with its audit.json, one line per check.

    Rows, counts and heuristics must be equal; the gains of trained probes must be within their 95% intervals. Exits
    with code 3 if something changed. If the rows differ, nothing else is recomputed. With the statistics.json of
    vqa-mc build or remedy instead of an audit.json, only the rows are compared.
    """

    file: Path = option("audit.json of vqa-mc audit, or statistics.json of vqa-mc build.", kw_only=False)
    dataset: "str | Path | datasets.Dataset | datasets.DatasetDict | pd.DataFrame" = option(
        "The audited dataset: file, folder, or NAMESPACE/NAME or NAMESPACE/NAME@REVISION on the Hub.", kw_only=False
    )
    config: str | None = option("Config; by default that of the audit.", default=None, kw_only=False)
    images: Path | None = option("Folder with the image files that a column names.", default=None, check=FOLDER)
    probes: bool = option("Recompute trained probes; without them only what is exact.", default=True)


@dataclass(frozen=True, eq=False, repr=False)
class VerifyResult(Result):
    """The checks of a file."""

    checks: "tuple[Check, ...]"

    @property
    def changed(self) -> "list[Check]":
        """The checks that failed."""
        from hf_vqa_mc.audits.comparison import Status

        return [check for check in self.checks if check.status is Status.CHANGED]

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """3 if a check failed."""
        return FAILED if self.changed else 0

    def report(self) -> Report:
        """A line per check, and the conclusion."""
        from hf_vqa_mc.audits.comparison import Status

        yield from (check.line for check in self.checks)
        made = counted(sum(check.status in (Status.SAME, Status.CHANGED) for check in self.checks), "check")
        skipped = sum(check.status is Status.NOT_COMPARED for check in self.checks)
        outcome = f"NOT VERIFIED: {len(self.changed)} of {made} failed" if self.changed else f"verified: {made}"
        yield f"{outcome}; {skipped:,} not compared" if skipped else outcome

    def to_dict(self) -> dict[str, Any]:
        """Whether it is verified, and each check."""
        return {"verified": not self.changed, "checks": [vars(check) for check in self.checks]}

    def to_pandas(self) -> Frame:
        """One row per check: what, status, detail."""
        return frame_of(self.to_dict()["checks"], columns=["what", "status", "detail"])


@verb(
    VerifySettings,
    "vqa-mc verify vqa_mc_audit/benchmark.csv/audit.json benchmark.csv",
    "vqa-mc verify audit.json NAMESPACE/benchmark@v1.0 --no-probes",
    "vqa-mc verify vqa_mc/statistics.json NAMESPACE/vqa_mc cocoqa_iou_qou",
)
def verify(settings: VerifySettings, progress: Progress) -> VerifyResult:
    """Verify an audit, or the rows of a built dataset.

    Returns:
        The checks.

    Raises:
        InputError: the file or the dataset cannot be read.
    """
    from hf_vqa_mc.audits.comparison import FILES, Status, compare, compare_rows, read_audit, split_hashes
    from hf_vqa_mc.audits.settings import ProbeSettings
    from hf_vqa_mc.data.inventory import INVENTORY
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.text.word_vectors import CORPUS

    has_configs = isinstance(settings.dataset, str | Path) and not Path(settings.dataset).is_file()
    if settings.file.name == INVENTORY:
        name, hashes = _stored_hashes(settings.file, settings.config)
        built = load(BenchmarkOptions(settings.dataset, name if has_configs else None), progress)
        return VerifyResult(tuple(compare_rows(hashes, split_hashes(built))))
    stored = read_audit(settings.file)
    config = settings.config or (stored.get("config") if has_configs else None)
    made = stored["certificate"]
    try:
        given = made["settings"] | {name: None for name in FILES if made["settings"][name] != CORPUS}
        if not settings.probes:
            given["probes"] = False
        probes = ProbeSettings(**given)
        options = BenchmarkOptions(settings.dataset, config, images=settings.images, **made["read_with"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{settings.file}: settings of another version ({error})") from error
    benchmark = load(options, progress)
    rows = compare_rows(made["splits"], split_hashes(benchmark))
    if any(check.status is Status.CHANGED for check in rows):
        return VerifyResult(tuple(rows))
    from hf_vqa_mc.audits.auditing import audit  # slow to import

    return VerifyResult(tuple(compare(stored, audit(benchmark, probes, progress).as_json())))


def _stored_hashes(path: Path, config: str | None) -> tuple[str, dict[str, Any]]:
    """A config of a built folder, by default the default one, and its row hashes by split."""
    from hf_vqa_mc.data.inventory import configs_of, read_inventory

    inventory = read_inventory(path.parent)
    if inventory is None:
        raise InputError(f"{path}: no such file; give the {path.name} of vqa-mc build")
    configs, name = configs_of(inventory), config or inventory["default"]
    if name not in configs:
        raise unknown_name(f"config of {path}", name, configs)
    if not configs[name].get("row_hashes"):
        raise InputError(f"{path}: {name} has no row hashes, since it is open-ended or was built in parts")
    return name, configs[name]["row_hashes"]
