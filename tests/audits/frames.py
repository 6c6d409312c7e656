"""Small benchmarks and answered questions."""

import pandas as pd

import hf_vqa_mc as vm

QUESTIONS = ["What color is the cat?", "What color is the dog?", "What is this?", "Is this a cat?", "How many cats?"]
ANSWERS = ["red", "dark red", "a big old bus", "yes", "2"]


def benchmark(rows=40, **columns):
    """A benchmark without faults: four choices per row, the label at each position equally often."""
    found = {
        "question_id": [f"q{row}" for row in range(rows)],
        "image_id": [f"image-{row}" for row in range(rows)],
        "question": [f"What is number {row} of the list?" for row in range(rows)],
        "choices": [[f"cat {row}", f"dog {row}", f"bus {row}", f"car {row}"] for row in range(rows)],
        "label": [row * 7 // 3 % 4 for row in range(rows)],
    }
    return pd.DataFrame({**found, **columns})


def answered(repeats=1, **columns):
    """Open-ended questions, each with three answers of people: two give the correct one."""
    answers = [[one, one, f"not {one}"] for one in ANSWERS]
    found = {
        "question_id": [f"q{row}" for row in range(5 * repeats)],
        "image_id": [f"i{row % 4}" for row in range(5 * repeats)],
        "question": QUESTIONS * repeats,
        "answer": ANSWERS * repeats,
        "answers": answers * repeats,
    }
    return pd.DataFrame({**found, **columns})


def numbers(data, figure, **options):
    """The headline numbers of a figure."""
    found = vm.describe(data, figures=figure, **options).to_dict()["figures"][figure]["found"]
    return [one and one["numbers"] for one in found][0 if "against" not in options else slice(None)]


def rows_of(data, figure, **options):
    """The rows of a figure's table."""
    return vm.describe(data, figures=figure, **options).table(figure).to_dict("records")


def located(data, **options):
    """The (check, index) pairs of the linter, indices from 0, without notes on images."""
    frame = vm.lint(data, **options).to_pandas()
    found = frame[frame["check"] != "unread_images"]
    return list(zip(found["check"], (found["row"] - 1).fillna(-1).astype(int), strict=True))
