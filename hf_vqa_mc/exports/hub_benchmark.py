"""A dataset repository that the Hub lists as a benchmark, and that inspect-ai runs as ``hf/NAMESPACE/NAME``.

``eval.yaml`` names config, split and columns, https://huggingface.co/docs/hub/eval-results. inspect-ai reads images
from a column of data URIs and turns integer labels into letters, so each row has its image as text: an export, not
the form in which a dataset is stored.
"""

import math
from pathlib import Path
from typing import Any

import pyarrow as pa

from hf_vqa_mc.data.inventory import canary, row_hashes
from hf_vqa_mc.data.questions import Questions, check_lettered, question_table
from hf_vqa_mc.data.shards import write_split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.harness import RECORD, Exported, Harness, made_folder, record, replaced_folder
from hf_vqa_mc.exports.harness_files import harness_file
from hf_vqa_mc.exports.images import Base64Images, base64_images, check_one_image
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.progress import Progress

HARNESS, SPLIT, DATA, IMAGE = "inspect", "test", "data", "image"


def write_inspect(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write the repository ``output/<name>``: README.md, eval.yaml and the rows as Parquet."""
    from yaml import safe_dump

    check_lettered(questions, "inspect-ai")
    check_one_image(questions, "inspect-ai's format of a benchmark")
    if questions.labels is None:
        raise InputError("inspect-ai scores answers that are in the data; remove --hide-answers")
    output, name = made_folder(output), questions.name
    table = _with_context(question_table(questions))
    hashes = row_hashes(table)
    with replaced_folder(output / name, overwrite) as tree:
        with base64_images(questions, tree, progress) as images:
            written = _write_rows(tree, table, questions, images, progress)
        (tree / "eval.yaml").write_text(safe_dump(_tasks(name, bool(images.spans)), sort_keys=False), "utf-8")
        about = {"name": name, "data": DATA, "split": SPLIT, "canary": canary([hashes.content]), **vars(hashes)}
        (tree / "README.md").write_text(harness_file("inspect_README.md").format(**about), "utf-8")
        write_json(tree / RECORD, {**record(HARNESS, len(questions), False), **vars(hashes)}, indent=1)
    how = [
        f"hf upload NAMESPACE/{name} {output / name} --repo-type dataset --exclude .vqa_mc.json",
        f"inspect eval hf/NAMESPACE/{name} --model MODEL",
    ]
    notes = questions.others.notes(as_hint=False)
    if without := sum(image not in images for image in questions.images.tolist()):
        notes.append(f"{without:,} of {len(questions):,} questions have no image and are presented without one")
    files = ["README.md", "eval.yaml", *(f"{DATA}/{file}" for file in written)]
    return Exported(
        name, [output / name / file for file in files], len(questions), how, notes, [output / name / RECORD]
    )


def _with_context(table: pa.Table) -> pa.Table:
    """The rows with their context, if there is one, before the question."""
    if "context" not in table.column_names:
        return table
    texts = zip(table["context"].to_pylist(), table["question"].to_pylist(), strict=True)
    asked = [f"Context: {context}\n{question}" if context else question for context, question in texts]
    table = table.drop_columns("context")
    return table.set_column(table.column_names.index("question"), "question", pa.array(asked, pa.string()))


def _write_rows(
    tree: Path, table: pa.Table, questions: Questions, images: Base64Images, progress: Progress
) -> dict[str, str]:
    """Write the rows with their images as data URIs, "" where there is none; file name to sha256."""
    from datasets import Features

    schema = table.schema.append(pa.field(IMAGE, pa.string()))
    features = Features.from_arrow_schema(schema)
    sizes = (images.spans[image][0][1] for image in questions.images.tolist() if image in images)
    done = 0

    def rows(start: int, stop: int) -> pa.Table:
        shown = [images.data_uri(image) if image in images else "" for image in questions.images[start:stop].tolist()]
        return table.slice(start, stop - start).append_column(IMAGE, pa.array(shown, pa.string()))

    def wrote(number: int) -> None:
        nonlocal done
        done += number
        progress("writing questions", done, len(questions))

    total = table.nbytes + sum(sizes)
    return write_split(tree / DATA, SPLIT, features, len(questions), math.ceil(total), rows, wrote=wrote).files


def _tasks(name: str, with_images: bool) -> dict[str, Any]:
    """The content of eval.yaml."""
    spec = {"input": "question", "target": "label", "choices": "choices"}
    spec |= {"input_image": IMAGE} if with_images else {}
    task = {
        "id": name,
        "config": "default",
        "split": SPLIT,
        "field_spec": {**spec, "metadata": ["question_id", "question_type"]},
        "solvers": [{"name": "multiple_choice"}],
        "scorers": [{"name": "choice"}],
    }
    return {
        "name": name,
        "description": f"{name}: multiple-choice visual question answering, exported by hf_vqa_mc.",
        "evaluation_framework": "inspect-ai",
        "tasks": [task],
    }


INSPECT = Harness(HARNESS, write_inspect)
