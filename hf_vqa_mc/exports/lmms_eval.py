"""Tasks of lmms-eval: the benchmark with images, and the same questions without.

Models generate an answer (``output_type: generate_until``) that is parsed as a letter. Each image is one file, however
many questions it has. A context (see `exports.questions`) precedes the question as "Context: ...".
"""

import shlex
from pathlib import Path

import pyarrow as pa

from hf_vqa_mc.exports.harness import Exported, Harness, made_folder, replaced_folder, write_task_files
from hf_vqa_mc.exports.harness_files import harness_file
from hf_vqa_mc.exports.images import exported_image
from hf_vqa_mc.exports.questions import Questions, check_lettered, question_table
from hf_vqa_mc.io.progress import Progress


def write_lmms_eval(questions: Questions, output: Path, progress: Progress) -> Exported:
    """Write the tasks ``<name>`` and ``<name>_blind`` into ``output/<name>``; without images only the second."""
    check_lettered(questions, "lmms-eval")
    output, name, hidden = made_folder(output), questions.name, questions.labels is None
    context = "context, " if questions.others.context_column else ""
    with replaced_folder(output / name) as tree:
        files = _write_images(questions, tree, progress)
        shown = [files[image] if image >= 0 else "" for image in questions.images.tolist()]
        asks = {"task": (name, "image", "question, choices and image")} if any(shown) else {}
        asks["blind"] = (f"{name}_blind", "no_image", "question and choices, no image")
        scoring = harness_file(f"lmms_eval_{'hidden' if hidden else 'scored'}.yaml")
        text = harness_file("lmms_eval_task.yaml")
        first = next(iter(asks.values()))[0]
        names = write_task_files(
            tree,
            "lmms-eval",
            questions,
            question_table(questions).append_column("image_file", pa.array(shown, pa.string())),
            {
                stem: text.format(task=task, name=name, visual=visual, scoring=scoring)
                for stem, (task, visual, _) in asks.items()
            },
            ("functions.py", "lmms_eval_functions.py"),
            {task: f"{context}{asked}" for task, _, asked in asks.values()},
            _how("FOLDER_AROUND_THIS_ONE", first, hidden),
            "The file below RESULTS/submissions is",
        )
    notes = []
    without = shown.count("")
    if without == len(shown):
        notes.append("there are no images to export: only the task without images is written")
    elif without:
        notes.append(f"{without:,} of {len(shown):,} questions have no image and are presented without one")
    notes += questions.others.notes(as_hint=False)
    how = _how(str(output), first, hidden)
    return Exported(name, [output / name / file for file in names], len(questions), [how], notes)


def _write_images(questions: Questions, tree: Path, progress: Progress) -> list[str]:
    """The file of each image, "" if it is missing."""
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


def _how(folder: str, task: str, hidden: bool) -> str:
    how = (
        f"python -m lmms_eval --model MODEL --include_path {shlex.quote(folder)} --tasks {task} --output_path RESULTS"
    )
    return f"{how} --log_samples" if hidden else how


LMMS_EVAL = Harness("lmms-eval", write_lmms_eval)
