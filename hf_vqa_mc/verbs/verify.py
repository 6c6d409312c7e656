"""``hf_vqa_mc.verify`` and ``vqa-mc verify``: recompute an audit and compare it with its audit.json."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import POSITIVE, option, settings, verb
from hf_vqa_mc.result import FAILED, Frame, Report, Result, frame_of
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    import datasets
    import pandas as pd

    from hf_vqa_mc.audits.certificate import Check
    from hf_vqa_mc.audits.settings import ProbeSettings


@settings
class VerifySettings:
    """Recompute an audit and compare it with its audit.json, one line per check.

    Rows, counts and heuristics must be equal; the gains of trained probes must be within their 95% intervals. Exits
    with code 3 if a check failed. If the rows differ, nothing else is recomputed. With the statistics.json of vqa-mc
    build or remedy instead of an audit.json, only the rows are compared.
    """

    certificate: Path = option("audit.json of vqa-mc audit, or statistics.json of vqa-mc build.", kw_only=False)
    dataset: "str | Path | datasets.Dataset | datasets.DatasetDict | pd.DataFrame" = option(
        "The audited dataset: file, folder, or NAMESPACE/NAME or NAMESPACE/NAME@REVISION on the Hub.", kw_only=False
    )
    config: str | None = option("Config; by default that of the certificate.", default=None, kw_only=False)
    images: Path | None = option("Folder with the image files that a column names.", default=None)
    allow_remote_images: bool = option(
        "Fetch images that the rows name by http or https address, from public hosts.", default=False
    )
    probes: bool = option("Recompute trained probes; without them only what is exact.", default=True)
    time_limit: float = option("Time limit in seconds for the whole audit.", default=600.0, check=POSITIVE)
    word_vectors: str | None = option("The file of word vectors that the audit used.", default=None)
    features: Path | None = option("The folder of image features that the audit used.", default=None)
    language_model: str | None = option("The language model that the audit used, if it was a folder.", default=None)


@dataclass(frozen=True, eq=False, repr=False)
class VerifyResult(Result):
    """The checks of a certificate."""

    checks: "tuple[Check, ...]"

    @property
    def failed(self) -> "list[Check]":
        """The checks that failed."""
        from hf_vqa_mc.audits.certificate import Status

        return [check for check in self.checks if check.status is Status.DIFFERS]

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """3 if a check failed."""
        return FAILED if self.failed else 0

    def report(self) -> Report:
        """A line per check, and the conclusion."""
        from hf_vqa_mc.audits.certificate import Status

        yield from (check.line for check in self.checks)
        made = [check for check in self.checks if check.status in (Status.SAME, Status.DIFFERS)]
        skipped = sum(check.status is Status.NOT_CHECKED for check in self.checks)
        more = f"; {counted(skipped, 'trained probe')} not recomputed" if skipped else ""
        if self.failed:
            yield f"NOT VERIFIED: {len(self.failed)} of {counted(len(made), 'check')} failed{more}"
        else:
            yield f"verified: {counted(len(made), 'check')}{more}"

    def to_dict(self) -> dict[str, Any]:
        """Whether it is verified, and each check."""
        return {"verified": not self.failed, "checks": [vars(check) for check in self.checks]}

    def to_pandas(self) -> Frame:
        """One row per check: what, status, detail."""
        return frame_of(self.to_dict()["checks"], columns=["what", "status", "detail"])


@verb(
    VerifySettings,
    "vqa-mc verify vqa_mc_audit/benchmark/audit.json benchmark.csv",
    "vqa-mc verify audit.json NAMESPACE/benchmark@v1.0 --no-probes",
    "vqa-mc verify vqa_mc/statistics.json NAMESPACE/vqa_mc cocoqa_iou_qou",
)
def verify(settings: VerifySettings, progress: Progress) -> VerifyResult:
    """Verify an audit.

    Returns:
        The checks.

    Raises:
        InputError: the certificate or the dataset cannot be read, or a file that the audit used is not given.
    """
    from hf_vqa_mc.audits.certificate import (
        Check,
        Status,
        claimed_settings,
        figure_checks,
        read_claims,
        row_checks,
        row_claims,
        settings_check,
    )
    from hf_vqa_mc.audits.parts import audit_in_parts
    from hf_vqa_mc.audits.rows import without_wide_rows
    from hf_vqa_mc.dataset.inventory import INVENTORY, read_inventory
    from hf_vqa_mc.io.json_stream import read_json

    name = str(settings.certificate)
    if not settings.certificate.is_file():
        raise InputError(f"{name}: no such file; give an audit.json that vqa-mc audit wrote")
    content = read_json(settings.certificate)
    if settings.certificate.name == INVENTORY and (inventory := read_inventory(settings.certificate.parent)):
        stated, claimed = row_claims(inventory, settings.config, name)
        options = BenchmarkOptions(settings.dataset, None if _is_file(settings) else stated)
        return VerifyResult(tuple(row_checks(claimed, options.read(progress))))
    claimed = read_claims(content, name)
    config = settings.config or (None if _is_file(settings) else claimed.get("config"))
    read_with = claimed_settings(claimed, BenchmarkOptions, name)
    try:
        images: dict[str, Any] = {name: getattr(settings, name) for name in ("images", "allow_remote_images")}
        options = BenchmarkOptions(settings.dataset, config, **read_with, **images)
        probes, skipped = _probe_settings(settings, claimed, name)
    except TypeError as error:
        raise InputError(f"{name}: its settings are damaged ({error})") from error
    benchmark = options.read(progress)
    checks = (*settings_check(claimed), *row_checks(claimed, without_wide_rows(benchmark)))
    if any(check.status is Status.DIFFERS and not check.what.startswith("order") for check in checks):
        return VerifyResult((*checks, Check("figures", Status.NOTE, "not recomputed, since the rows differ")))
    found = audit_in_parts(benchmark, probes, progress).as_json()
    return VerifyResult(checks + tuple(figure_checks(claimed, found, skipped)))


def _is_file(settings: VerifySettings) -> bool:
    """Whether the dataset has no configs."""
    return not isinstance(settings.dataset, str | Path) or Path(settings.dataset).is_file()


def _probe_settings(
    settings: VerifySettings, claimed: dict[str, Any], location: str
) -> "tuple[ProbeSettings, set[str]]":
    """The settings of the audit, with this machine's files and time limit, and those that are not recomputed."""
    from hf_vqa_mc.audits.certificate import GIVEN, claimed_settings
    from hf_vqa_mc.audits.settings import ProbeSettings
    from hf_vqa_mc.text.word_vectors import CORPUS

    found = {**claimed_settings(claimed, ProbeSettings, location), "time_limit": settings.time_limit}
    skipped: set[str] = set()
    if not settings.probes:
        skipped = {name for name in ("probes", "mlps", *GIVEN) if found.get(name)}
        found |= {"probes": False, "mlps": False, **dict.fromkeys(GIVEN)}
    for name in GIVEN:
        given, used = getattr(settings, name), found.get(name)
        if given is not None and used is not None:
            found[name] = given
        elif used is not None and used != CORPUS and name != "language_model":
            what = name.replace("_", " ")
            flag = f"--{what.replace(' ', '-')}"
            raise InputError(
                f"{location}: the audit used {what} {used}; give its path with {flag}, or add --no-probes"
            )
    return ProbeSettings(**found), skipped
