"""``hf_vqa_mc.verify`` and ``vqa-mc verify``: compare the rows of a benchmark with the hashes in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, settings, verb
from hf_vqa_mc.result import FAILED, Frame, Report, Result, frame_of
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from hf_vqa_mc.audits.comparison import Check


@settings
class VerifySettings:
    """Compare the rows of a benchmark with the hashes in its audit.json, one line per split.

    Exits with code 3 if rows or their order changed. To repeat the audit as well: vqa-mc audit DATASET --against
    audit.json. The statistics.json of vqa-mc build or remedy has such hashes, too.
    """

    file: Path = option("audit.json of vqa-mc audit, or statistics.json of vqa-mc build.", kw_only=False)
    dataset: "str | Path | datasets.Dataset | datasets.DatasetDict | pd.DataFrame" = option(
        "The audited dataset: file, folder, or NAMESPACE/NAME or NAMESPACE/NAME@REVISION on the Hub.", kw_only=False
    )
    config: str | None = option("Config; by default that of the audit.", default=None, kw_only=False)


@dataclass(frozen=True, eq=False, repr=False)
class VerifyResult(Result):
    """The checks of a file."""

    checks: "tuple[Check, ...]"

    @property
    def changed(self) -> "list[Check]":
        """The checks that failed."""
        from hf_vqa_mc.audits.comparison import CHANGED

        return [check for check in self.checks if check.status == CHANGED]

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """3 if a check failed."""
        return FAILED if self.changed else 0

    def report(self) -> Report:
        """A line per check, and the conclusion."""
        yield from (check.line for check in self.checks)
        made = counted(len(self.checks), "check")
        yield f"NOT VERIFIED: {len(self.changed)} of {made} failed" if self.changed else f"verified: {made}"

    def to_dict(self) -> dict[str, Any]:
        """Whether it is verified, and each check."""
        return {"verified": not self.changed, "checks": [check._asdict() for check in self.checks]}

    def to_pandas(self) -> Frame:
        """One row per check: what, status, and the rows before and now."""
        return frame_of(self.to_dict()["checks"], columns=["what", "status", "before", "now"])


@verb(
    VerifySettings,
    "vqa-mc verify vqa_mc_audit/benchmark.csv/audit.json benchmark.csv",
    "vqa-mc verify audit.json NAMESPACE/benchmark@v1.0",
    "vqa-mc verify vqa_mc/statistics.json NAMESPACE/vqa_mc cocoqa_iou_qou",
)
def verify(settings: VerifySettings, progress: Progress) -> VerifyResult:
    """Verify the rows of a benchmark.

    Returns:
        The checks.

    Raises:
        InputError: the file or the dataset cannot be read.
    """
    from hf_vqa_mc.audits.comparison import compare_rows, read_audit, split_hashes
    from hf_vqa_mc.data.inventory import INVENTORY
    from hf_vqa_mc.data.reading import load

    has_configs = isinstance(settings.dataset, str | Path) and not Path(settings.dataset).is_file()
    if settings.file.name == INVENTORY:
        name, hashes = _stored_hashes(settings.file, settings.config)
        read_with = dict[str, Any]()
    else:
        stored = read_audit(settings.file)
        name = settings.config or stored.get("config") or ""
        hashes, read_with = stored["certificate"]["splits"], stored["certificate"]["read_with"]
    try:
        options = BenchmarkOptions(settings.dataset, name or None if has_configs else None, **read_with)
    except TypeError as error:
        raise InputError(f"{settings.file}: settings of another version ({error})") from error
    return VerifyResult(tuple(compare_rows(hashes, split_hashes(load(options, progress)))))


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
