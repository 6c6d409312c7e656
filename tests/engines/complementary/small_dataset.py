"""Triplets of a few records, for tests."""

from hf_vqa_mc.sources.table import triplet_table


def triplets_of(*records):
    """Triplets of records (image_id, question, answer)."""
    return triplet_table(
        question_id=[f"q{position}" for position in range(len(records))],
        image_id=[record[0] for record in records],
        split=["train"] * len(records),
        question=[record[1] for record in records],
        target=[record[2] for record in records],
        image_file=[""] * len(records),
    )
