"""Options that say which benchmark is meant and which of its columns hold what; the same for several verbs."""

from pathlib import Path
from typing import Annotated, Any

import typer

COLUMNS = "Columns (recognised by their names if not given)"

DatasetName = Annotated[
    str,
    typer.Argument(
        help="A parquet, jsonl, json, csv or tsv file, a folder, or a dataset on the Hub.", show_default=False
    ),
]
ConfigName = Annotated[
    str | None, typer.Argument(help="Of a dataset with several, such as easyvqa_iou_qou.", show_default=False)
]
SplitName = Annotated[
    str | None,
    typer.Option("--split", help="By default test, else validation, else the only one.", show_default=False),
]
ImagesFolder = Annotated[
    Path | None,
    typer.Option("--images", help="Folder with the image files that a column names.", show_default=False),
]
QuestionColumn = Annotated[
    str | None, typer.Option("--question", help="The question.", rich_help_panel=COLUMNS, show_default=False)
]
ChoicesColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--choices",
        help="A list of choices, or of wrong ones; several times for columns with one choice each.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label", help="The right choice's place, letter or text.", rich_help_panel=COLUMNS, show_default=False
    ),
]
ImageColumn = Annotated[
    str | None,
    typer.Option(
        "--image", help="A picture, its base64 text or its path.", rich_help_panel=COLUMNS, show_default=False
    ),
]
TypeColumn = Annotated[
    str | None,
    typer.Option("--type", help="The question's type or category.", rich_help_panel=COLUMNS, show_default=False),
]
LabelFrom = Annotated[
    int | None,
    typer.Option(
        "--label-from",
        help="What the first choice's number is, 0 or 1, where numbers tell the right choice.",
        rich_help_panel=COLUMNS,
        show_default=False,
    ),
]


def columns_of(
    question: str | None,
    choices: list[str] | None,
    label: str | None,
    image: str | None,
    question_type: str | None,
    label_from: int | None = None,
) -> dict[str, Any]:
    """The columns that the user named, as `BenchmarkOptions` takes them."""
    named = None if not choices else tuple(name for given in choices for name in _parts(given))
    return {
        "question": question,
        "choices": named,
        "label": label,
        "image": image,
        "question_type": question_type,
        "label_from": label_from,
    }


def _parts(given: str) -> list[str]:
    """``A,B,C,D`` as four columns."""
    return [part.strip() for part in given.split(",") if part.strip()]
