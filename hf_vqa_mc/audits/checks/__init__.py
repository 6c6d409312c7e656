"""The checks of the linter, one declaration each; your package adds one with ``CHECKS.add(Check(...))``."""

from hf_vqa_mc.audits.checks.check import Check, Issues
from hf_vqa_mc.audits.checks.leaks import LEAKS
from hf_vqa_mc.audits.checks.rows import ROWS, TEXTS
from hf_vqa_mc.listing import Listing

__all__ = ["CHECKS", "Check", "Issues"]

CHECKS: Listing[Check] = Listing("check", *ROWS, *TEXTS, *LEAKS)
"""In the order of the table, within each severity."""
