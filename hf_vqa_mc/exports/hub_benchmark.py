"""A dataset repository that the Hub lists as a benchmark, and that inspect-ai runs as ``hf/NAMESPACE/NAME``.

``eval.yaml`` names config, split and columns, https://huggingface.co/docs/hub/eval-results. inspect-ai reads images
from a column of data URIs and turns integer labels into letters, so each row has its image as text: an export, not
the form in which a dataset is stored.
"""

from pathlib import Path

import pyarrow as pa

from hf_vqa_mc.data.inventory import canary, row_hashes
from hf_vqa_mc.data.questions import Questions, check_lettered, question_table
from hf_vqa_mc.data.shards import write_split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.harness import (
    RECORD,
    Base64Images,
    Exported,
    Harness,
    base64_images,
    harness_file,
    record,
    replaced_folder,
)
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.progress import Progress

HARNESS, SPLIT, DATA, IMAGE = "inspect", "test", "data", "image"
MEDIA_TYPES = {"jpg": "jpeg", "tif": "tiff"}  # media types of `images.SUFFIXES` that are named otherwise


def write_inspect(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write the repository ``output/<name>``: README.md, eval.yaml and the rows as Parquet."""
    from yaml import safe_dump

    check_lettered(questions, "inspect-ai")
    for row in questions.image_rows:
        if questions.source and (count := questions.source.count(row)) > 1:
            raise InputError(
                f"{questions.where(row)}: the row has {count} images, but inspect-ai's format of a benchmark takes "
                "one; export to lmms-eval or vlmevalkit instead"
            )
    if questions.labels is None:
        raise InputError("inspect-ai scores answers that are in the data; remove --hide-answers")
    name, table = questions.name, question_table(questions)
    if "context" in table.column_names:
        texts = zip(questions.others.contexts, questions.questions, strict=True)
        asked = [f"Context: {context}\n{question}" if context else question for context, question in texts]
        table = table.drop_columns("context")
        table = table.set_column(table.column_names.index("question"), "question", pa.array(asked, pa.string()))
    hashes = row_hashes(table)
    with replaced_folder(output, name, overwrite) as (tree, folder):
        with base64_images(questions, tree, progress) as images:
            written = _write_rows(tree, table, questions, images, progress)
        fields = {"input": "question", "target": "label", "choices": "choices"}
        fields |= {"input_image": IMAGE} if images.spans else {}
        task = {
            "id": name,
            "config": "default",
            "split": SPLIT,
            "field_spec": {**fields, "metadata": ["question_id", "question_type"]},
            "solvers": [{"name": "multiple_choice"}],
            "scorers": [{"name": "choice"}],
        }
        described = f"{name}: multiple-choice visual question answering, exported by hf_vqa_mc."
        content = {"name": name, "description": described, "evaluation_framework": "inspect-ai", "tasks": [task]}
        (tree / "eval.yaml").write_text(safe_dump(content, sort_keys=False), "utf-8")
        about = {"name": name, "data": DATA, "split": SPLIT, "canary": canary([hashes.content]), **vars(hashes)}
        (tree / "README.md").write_text(harness_file("inspect_README.md").format(**about), "utf-8")
        write_json(tree / RECORD, {**record(HARNESS, len(questions), False), **vars(hashes)}, indent=1)
    how = [
        f"hf upload NAMESPACE/{name} {folder} --repo-type dataset --exclude .vqa_mc.json",
        f"inspect eval hf/NAMESPACE/{name} --model MODEL",
    ]
    notes = questions.others.notes(as_hint=False)
    if without := sum(image not in images.spans for image in questions.images.tolist()):
        notes.append(f"{without:,} of {len(questions):,} questions have no image and are presented without one")
    files = [folder / file for file in ("README.md", "eval.yaml", *(f"{DATA}/{file}" for file in written))]
    return Exported(name, files, len(questions), how, notes, [folder / RECORD])


def _write_rows(
    tree: Path, table: pa.Table, questions: Questions, images: Base64Images, progress: Progress
) -> dict[str, str]:
    """Write the rows with their images as data URIs, "" where there is none; file name to sha256."""
    from datasets import Features

    types = {image: MEDIA_TYPES.get(suffix, suffix) for image, (suffix,) in images.suffixes.items()}
    done = 0

    def rows(start: int, stop: int) -> pa.Table:
        shown = [
            f"data:image/{types[image]};base64,{images[image][0]}" if image in types else ""
            for image in questions.images[start:stop].tolist()
        ]
        return table.slice(start, stop - start).append_column(IMAGE, pa.array(shown, pa.string()))

    def wrote(number: int) -> None:
        nonlocal done
        done += number
        progress("writing questions", done, len(questions))

    features = Features.from_arrow_schema(table.schema.append(pa.field(IMAGE, pa.string())))
    size = table.nbytes + sum(images.spans[image][0][1] for image in questions.images.tolist() if image in types)
    return write_split(tree / DATA, SPLIT, features, len(questions), size, rows, wrote=wrote).files


INSPECT = Harness(HARNESS, write_inspect)
