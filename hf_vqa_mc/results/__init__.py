"""Predictions beside what was asked: read, joined, scored, and written as the official programs want them."""
