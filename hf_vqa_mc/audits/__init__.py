"""Audits: which shortcuts solve a multiple-choice benchmark, from its rows alone."""
