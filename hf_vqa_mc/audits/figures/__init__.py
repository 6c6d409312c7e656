"""The figures of a description, one declaration each; your package adds one with ``FIGURES.add(Figure(...))``."""

from hf_vqa_mc.audits.figures.answers import ANSWERS, CHOICES
from hf_vqa_mc.audits.figures.figure import Figure, Found, Share
from hf_vqa_mc.audits.figures.questions import QUESTIONS
from hf_vqa_mc.listing import Listing

__all__ = ["FIGURES", "Figure", "Found", "Share"]

FIGURES: Listing[Figure] = Listing("figure", *QUESTIONS, *ANSWERS, *CHOICES)  # in the order of the page
