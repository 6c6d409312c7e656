"""Tasks of lmms-eval: the benchmark with its images, and the same questions asked blind.

Models write an answer (``output_type: generate_until``) that is read as a letter. Every image is one file, however
many questions are asked of it. Where the benchmark has a context (see `exports.beside`), "Context: ..." stands before
the question.
"""

import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from hf_vqa_mc.exports.harness_files import harness_file
from hf_vqa_mc.exports.image_bytes import exported_image
from hf_vqa_mc.exports.questions import Progress, Questions, check_lettered, question_table
from hf_vqa_mc.exports.written import RECORD, Exported, made_folder, record, replaced_folder
from hf_vqa_mc.io.atomic_file import write_json

HARNESS = "lmms-eval"

TASK = """\
task: {task}
tag: {name}_all
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: questions.parquet
test_split: test
output_type: generate_until
doc_to_visual: !function functions.{visual}
doc_to_text: !function functions.prompt
doc_to_target: !function functions.target
generation_kwargs:
  max_new_tokens: 32
  temperature: 0
  do_sample: false
lmms_eval_specific_kwargs:
  default:
    pre_prompt: ""
    post_prompt: "\\nAnswer with the letter of the right choice only."
{scoring}metadata:
  version: 1
"""
SCORED = """\
process_results: !function functions.accuracy
metric_list:
  - metric: accuracy
    aggregation: !function functions.mean
    higher_is_better: true
cluster_key: image
score_key: score
"""
HIDDEN = """\
process_results: !function functions.prediction
metric_list:
  - metric: submission
    aggregation: !function functions.submission
    higher_is_better: true
"""
README = """\
# {name}

{questions:,} questions as tasks of lmms-eval, written by vqa-mc export; answers {answers}.

{tasks}

```sh
{how}
```
{scored}"""
HANDED_IN = "\nThe file below RESULTS/submissions is what vqa-mc score reads.\n"
"""Where answers are hidden."""


def write_lmms_eval(
    questions: Questions, output: Path, progress: Progress = lambda step, done, total: None
) -> Exported:
    """Write the tasks ``<name>`` and ``<name>_blind`` into ``output/<name>``; without images only the second.

    Args:
        questions: to ask.
        output: folder for ``--include_path``, made if there is none.
        progress: told (step, done, total).

    Raises:
        InputError: a row has more than 26 choices, an image cannot be opened, the folder cannot be made, or something
            else is in its place.
        OSError: the disk is full or closed to us; what was there still is.
    """
    check_lettered(questions, HARNESS)
    output = made_folder(output)
    folder = output / questions.name
    with replaced_folder(folder) as tree:
        files = _write_images(questions, tree, progress)
        shown = [files[image] if image >= 0 else "" for image in questions.images.tolist()]
        table = question_table(questions).append_column("image_file", pa.array(shown, pa.string()))
        pyarrow.parquet.write_table(table, tree / "questions.parquet")
        (tree / "functions.py").write_text(harness_file("lmms_eval_functions"), "utf-8")
        tasks = _write_tasks(questions, tree, any(shown))
        names = [f"{file}.yaml" for file in tasks] + ["functions.py", "questions.parquet"]
        hidden = questions.labels is None
        write_json(tree / RECORD, record(HARNESS, len(questions), hidden, names), indent=1)
        _write_readme(questions, tree, tasks)
    notes = []
    without = shown.count("")
    if without == len(shown):
        notes.append("there are no images to export, so the questions are asked blind only")
    elif without:
        notes.append(f"{without:,} of {len(shown):,} questions have no image and are asked without one")
    notes += questions.beside.notes(as_hint=False)
    how = _how(questions, str(output), next(iter(tasks.values())))
    return Exported(questions.name, [folder / name for name in names], len(questions), [how], notes)


def _write_images(questions: Questions, tree: Path, progress: Progress) -> list[str]:
    """By number of image: its file, "" where there is none after all."""
    files = []
    total = len(questions.image_rows)
    (tree / "images").mkdir()
    for image in range(total):
        found = exported_image(questions, image)
        name = f"images/{image:06d}.{found[1]}" if found else ""
        if found:
            (tree / name).write_bytes(found[0])
        files.append(name)
        progress("writing images", image + 1, total)
    return files


def _write_tasks(questions: Questions, tree: Path, has_images: bool) -> dict[str, str]:
    """Name of the yaml file to name of the task."""
    tasks = {"task": questions.name, "blind": f"{questions.name}_blind"}
    if not has_images:
        del tasks["task"]
    scoring = HIDDEN if questions.labels is None else SCORED
    for file, task in tasks.items():
        visual = "image" if file == "task" else "no_image"
        text = TASK.format(task=task, name=questions.name, visual=visual, scoring=scoring)
        (tree / f"{file}.yaml").write_text(text, "utf-8")
    return tasks


def _write_readme(questions: Questions, tree: Path, tasks: dict[str, str]) -> None:
    asks = {"task": "question, choices and image", "blind": "question and choices, no image"}
    if questions.beside.context_column:
        asks = {file: f"context, {told}" for file, told in asks.items()}
    text = README.format(
        name=questions.name,
        questions=len(questions),
        answers="hidden" if questions.labels is None else "in the data",
        tasks="\n".join(f"- `{task}`: {asks[file]}" for file, task in tasks.items()),
        how=_how(questions, "FOLDER_AROUND_THIS_ONE", next(iter(tasks.values()))),
        scored=HANDED_IN if questions.labels is None else "",
    )
    (tree / "README.md").write_text(text, "utf-8")


def _how(questions: Questions, folder: str, task: str) -> str:
    told = (
        f"python -m lmms_eval --model MODEL --include_path {shlex.quote(folder)} --tasks {task} --output_path RESULTS"
    )
    return f"{told} --log_samples" if questions.labels is None else told
