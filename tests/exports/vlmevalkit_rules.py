"""How VLMEvalKit takes a TSV file, described in our own words: it is on no package index.

Looked up in open-compass/VLMEvalKit, vlmeval/dataset: ``__init__.py`` (which class a file of unknown name gets),
``image_base.py`` (how indices and images are read), ``image_mcq.py`` (the prompts, which names are circular) and
``utils/multiple_choice.py`` (which lines of a circular file belong together).
"""

import base64
import string
from pathlib import Path

import pandas

CIRCULAR_NAMES = "mmbench", "ccbench", "circular", "mmcr"


def kind(path):
    """The class that a file of unknown name gets: by its columns."""
    columns = pandas.read_csv(path, sep="\t", nrows=1).columns
    assert "question" in columns
    assert "openended" not in path.name.lower()
    assert {"A", "B"} <= set(columns)
    return "images" if "image" in columns else "text"


def lines(path):
    """The lines of a file: index, prompt, options by letter, answer, category and the bytes of the image."""
    table = pandas.read_csv(path, sep="\t")
    if "image" in table:
        table = table[~table["image"].isna()]
        cells = dict(zip(table["index"].astype(str), table["image"].astype(str), strict=True))
        for index, cell in cells.items():
            if len(cell) <= 64:
                assert len(cells[cell]) > 64
                cells[index] = cells[cell]
    read_lines = []
    for _, row in table.iterrows():
        options = {
            letter: row[letter] for letter in string.ascii_uppercase if letter in row and not pandas.isna(row[letter])
        }
        hint = "" if pandas.isna(row.get("hint")) else f"Hint: {row['hint']}\n"
        prompt = f"{hint}Question: {row['question']}\nOptions:\n" + "".join(
            f"{at}. {text}\n" for at, text in options.items()
        )
        read_lines.append(
            {
                "index": int(row["index"]),
                "prompt": prompt,
                "options": {letter: str(text) for letter, text in options.items()},
                "answer": row.get("answer"),
                "category": row.get("category"),
                "image": base64.b64decode(cells[str(row["index"])]) if "image" in table else None,
            }
        )
    return read_lines


def is_circular(path):
    """Whether right means: right however the choices are moved round."""
    return any(name in Path(path).stem.lower() for name in CIRCULAR_NAMES)


def groups(read_lines):
    """The lines of a circular file that count as one question, by its index."""
    together = {line["index"]: [] for line in read_lines if line["index"] == int(line["index"] % 1e6)}
    for line in read_lines:
        together[int(line["index"] % 1e6)].append(line)
    return together
