"""All that is odd about a benchmark's rows without being a way to pick choices."""

from collections.abc import Mapping

from hf_vqa_mc.audits.finding import Finding
from hf_vqa_mc.audits.leakage import duplicates, leakage
from hf_vqa_mc.audits.neutrality import choice_findings
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.benchmarks.benchmark import Split

__all__ = ["Finding", "findings"]


def findings(splits: Mapping[str, Split], numbered: Mapping[str, Rows], asked: str) -> list[Finding]:
    """What occurs of all that is looked for: about choices, repeated rows, and what other splits give away.

    Args:
        splits: all splits of a benchmark that have labels.
        numbered: the same, numbered together.
        asked: the name of the split that is audited.
    """
    rows = numbered[asked]
    found = choice_findings(rows, numbered) + duplicates(splits[asked], rows)
    for name, other in splits.items():
        if name != asked:
            found += leakage(splits[asked], rows, other, numbered[name])
    return found
