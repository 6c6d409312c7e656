"""``hf_vqa_mc.verify`` and ``vqa-mc verify``: recompute row hashes or an audit, and compare them with a file."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import FOLDER, option, settings
from hf_vqa_mc.result import FAILED, TableResult, verb
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


@verb(
    VerifySettings,
    "vqa-mc verify vqa_mc_audit/benchmark.csv/audit.json benchmark.csv",
    "vqa-mc verify audit.json NAMESPACE/benchmark@v1.0 --no-probes",
    "vqa-mc verify vqa_mc/statistics.json NAMESPACE/vqa_mc cocoqa_iou_qou",
)
def verify(settings: VerifySettings, progress: Progress) -> TableResult:
    """Whether the file is verified, and its checks; `to_pandas` has a row per check.

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
        return _result(compare_rows(hashes, split_hashes(built)))
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
        return _result(rows)
    from hf_vqa_mc.audits.auditing import audit  # slow to import

    return _result(compare(stored, audit(benchmark, probes, progress).as_json()))


def _result(checks: "Iterable[Check]") -> TableResult:
    """A line per check, and the conclusion; the exit code is 3 if a check failed."""
    from hf_vqa_mc.audits.comparison import Status

    found = list(checks)
    counts = Counter(check.status for check in found)
    failed, skipped = counts[Status.CHANGED], counts[Status.NOT_COMPARED]
    made = counted(counts[Status.SAME] + failed, "check")
    outcome = f"NOT VERIFIED: {failed} of {made} failed" if failed else f"verified: {made}"
    lines = [*(check.line for check in found), f"{outcome}; {skipped:,} not compared" if skipped else outcome]
    rows = list(map(vars, found))
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
