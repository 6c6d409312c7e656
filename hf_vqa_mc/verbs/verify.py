"""``hf_vqa_mc.verify`` and ``vqa-mc verify``: compare the rows of a benchmark with the hashes in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, settings
from hf_vqa_mc.result import FAILED, TableResult, verb
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    import datasets
    import pandas as pd


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


@verb(
    VerifySettings,
    "vqa-mc verify vqa_mc_audit/benchmark.csv/audit.json benchmark.csv",
    "vqa-mc verify audit.json NAMESPACE/benchmark@v1.0",
    "vqa-mc verify vqa_mc/statistics.json NAMESPACE/vqa_mc cocoqa_iou_qou",
)
def verify(settings: VerifySettings, progress: Progress) -> TableResult:
    """Whether the rows are verified, and the checks; `to_pandas` has a row per check.

    Raises:
        InputError: the file or the dataset cannot be read.
    """
    from hf_vqa_mc.audits.comparison import CHANGED, compare_rows, read_audit, split_hashes
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
        options = BenchmarkOptions(settings.dataset, (name or None) if has_configs else None, **read_with)
    except TypeError as error:
        raise InputError(f"{settings.file}: settings of another version ({error})") from error
    checks = list(compare_rows(hashes, split_hashes(load(options, progress))))
    failed = sum(check.status == CHANGED for check in checks)
    made = counted(len(checks), "check")
    outcome = f"NOT VERIFIED: {failed} of {made} failed" if failed else f"verified: {made}"
    rows = [check._asdict() for check in checks]
    lines = [*(check.line for check in checks), outcome]
    figures = {"verified": not failed, "checks": rows}
    return TableResult(lines, figures, rows, ["what", "status", "before", "now"], FAILED if failed else 0)


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
