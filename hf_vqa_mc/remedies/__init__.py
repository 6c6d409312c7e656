"""Remedies for any multiple-choice benchmark: better decoys, or fewer of the most biased rows."""
