"""Pages for people: the audit's report, sample questions, and the picture on a dataset's card."""

from hf_vqa_mc.report.example import Example
from hf_vqa_mc.report.preview import preview_html
from hf_vqa_mc.report.preview_picture import preview_picture
from hf_vqa_mc.report.report import report_html

__all__ = ["Example", "preview_html", "preview_picture", "report_html"]
