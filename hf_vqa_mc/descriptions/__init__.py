"""Descriptions of datasets: the figures of the papers, and checks for faults of single rows."""
