"""The golden files, and the script that rewrites them after a change that is meant to move them:

``python -m tests.golden.rewrite [NAME ...]``, by default all: layouts, scores and the groups of `builds.GROUPS`.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or FOLDER.parents[2] / "shared" / "data")
REFUSED = "InputError"
"""What is golden of an input that is an error."""


def golden(name: str) -> Any:
    """The content of a golden file."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def plain(value: Any) -> Any:
    """A result as JSON has it, numbers rounded to ten digits."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float):
        return round(value, 10)
    return value


def read_layout(name: str, folder: Path) -> Any:
    """What the reader makes of a layout, with the number of each image where it has some."""
    from hf_vqa_mc import InputError
    from tests.golden import public
    from tests.golden.layouts import LAYOUTS, PICTURES, with_images

    make, options = LAYOUTS[name]
    source = make(folder)
    if "images" in options:
        options = {**options, "images": folder / options["images"]}
    try:
        found = public.read(source, **options)
        if with_images(name):
            images = public.image_bytes(source, **options)
            found["images"] = [None if one is None else PICTURES.index(one) for one in images]
    except InputError:
        return REFUSED
    return found


def scores(metric: str) -> dict[str, Any]:
    """The whole results of a metric by the name of its arguments."""
    from hf_vqa_mc import InputError
    from tests.golden import public
    from tests.golden import scores as inputs

    found = {}
    for name, arguments in getattr(inputs, metric)().items():
        try:
            found[name] = plain(public.score(metric, arguments))
        except InputError:
            found[name] = REFUSED
    return found


def rewrite_layouts() -> None:
    """Write the golden file of layouts; one that is read like an earlier one has its name instead."""
    from tests.golden.layouts import LAYOUTS

    found: dict[str, Any] = {}
    first: dict[str, str] = {}
    for name in LAYOUTS:
        with tempfile.TemporaryDirectory() as folder:
            one = read_layout(name, Path(folder))
        earlier = first.setdefault(json.dumps(one), name)
        found[name] = one if earlier == name or one == REFUSED else f"as {earlier}"
    lines = [f"{json.dumps(name)}: {rows_in_lines(one)}" for name, one in found.items()]
    (FOLDER / "layouts.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def rows_in_lines(one: Any) -> str:
    """JSON of what the reader makes of a layout, a row on each line."""
    if isinstance(one, str):
        return json.dumps(one)
    splits = [
        f"  {json.dumps(name)}: [\n   " + ",\n   ".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]"
        for name, rows in one["splits"].items()
    ]
    others = "".join(
        f", {json.dumps(key)}: {json.dumps(one[key])}" for key in one if key not in ("evaluated", "splits")
    )
    return f'{{"evaluated": {json.dumps(one["evaluated"])}{others}, "splits": {{\n' + ",\n".join(splits) + "}}"


def rewrite_scores() -> None:
    """Write the golden file of scores."""
    from tests.golden.scores import METRICS

    found = {metric.__name__: scores(metric.__name__) for metric in METRICS}
    lines = [
        f"{json.dumps(metric)}: {{\n"
        + ",\n".join(f" {json.dumps(name)}: {json.dumps(one)}" for name, one in results.items())
        + "}"
        for metric, results in found.items()
    ]
    (FOLDER / "scores.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def rewrite_builds(name: str) -> None:
    """Write the golden file of a group of builds."""
    from tests.golden.builds import group

    with tempfile.TemporaryDirectory() as folder:
        found = {build: plain(one) for build, one in group(name, Path(folder), REAL_DATA)}
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    from tests.golden.builds import GROUPS

    for wanted in sys.argv[1:] or ["layouts", "scores", *GROUPS]:
        if wanted in GROUPS:
            rewrite_builds(wanted)
        else:
            {"layouts": rewrite_layouts, "scores": rewrite_scores}[wanted]()
