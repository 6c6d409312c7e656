"""Which shortcuts solve a multiple-choice dataset, ours or another's: from its rows alone, whoever made them."""

from hf_vqa_mc.audit.priors import answer_prior, question_answer_prior
from hf_vqa_mc.audit.rows import Rows, number_rows

__all__ = ["Rows", "answer_prior", "number_rows", "question_answer_prior"]
