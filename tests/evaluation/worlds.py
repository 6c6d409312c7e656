"""A benchmark of made images, as a data frame: the answer is the image's color."""

import io
import json

import pandas as pd
from PIL import Image

COLORS = {"red": (220, 30, 30), "green": (30, 180, 60), "blue": (40, 60, 230), "two dogs": (240, 240, 240)}


def picture(color, size=(32, 20)):
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


def benchmark(rows=24, per_image=2, sizes=((32, 20), (28, 28), (56, 30))):
    """Questions with four choices, whose correct one is at each position equally often; two question types."""
    names = list(COLORS)
    table = []
    for row in range(rows):
        image = row // per_image
        color = names[image % 4]
        order = [names[(image + row + at) % 4] for at in range(4)]
        table.append(
            {
                "question_id": f"q{row}",
                "image_id": f"i{image}",
                "image": {"bytes": picture(COLORS[color], sizes[image % len(sizes)]), "path": None},
                "question": f"what color is the shape {row} ?",
                "choices": order,
                "label": order.index(color),
                "question_type": "first" if row % per_image == 0 else "other",
            }
        )
    return pd.DataFrame(table)


def color_of(prompt):
    """The name of the color that a prompt's image shows; None without image or if it is gray."""
    if prompt.picture is None:
        return None
    seen = prompt.picture.getpixel((0, 0))
    return next((name for name, color in COLORS.items() if color == seen), None)


def several(folder, rows=2):
    """Rows that show two images, named in their questions."""
    table = []
    for row in range(rows):
        names = [f"{row}-1.png", f"{row}-2.png"]
        for name, color in zip(names, ("red", "blue"), strict=True):
            (folder / name).write_bytes(picture(color, (32, 20 + row)))
        table.append(
            {
                "id": str(row),
                "question": "Which picture shows a cat, <image 1> or <image 2>?",
                "options": ["the first", "the second"],
                "answer": "B",
                "image_1": names[0],
                "image_2": names[1],
            }
        )
    (folder / "several.jsonl").write_text("".join(json.dumps(one) + "\n" for one in table))
    return folder / "several.jsonl"
