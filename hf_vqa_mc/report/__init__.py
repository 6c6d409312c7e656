"""Pages for people: the audit's report, sample questions, and the picture on a dataset's card."""

from hf_vqa_mc.report.example import Example
from hf_vqa_mc.report.preview import write_preview
from hf_vqa_mc.report.preview_picture import preview_picture
from hf_vqa_mc.report.report import write_report

__all__ = ["Example", "preview_picture", "write_preview", "write_report"]
