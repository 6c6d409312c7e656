"""Tasks of lm-eval (EleutherAI) and lmms-eval: folders with YAML files, a program and the questions as Parquet.

lm-eval presents the benchmark without images to language models: choices are scored by the log-likelihood of their
text (``output_type: multiple_choice``), given the question or only "Answer:". Both should be near chance if the
benchmark needs its images. lmms-eval presents it with images, and the same questions without: models generate an
answer (``output_type: generate_until``) that is parsed as a letter. Each image is one file, however many questions it
has. In both, a context (see `benchmarks.questions`) precedes the question as "Context: ...".
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hf_vqa_mc.data.questions import Questions, check_lettered, question_table
from hf_vqa_mc.exports.harness import RECORD, Exported, Harness, made_folder, record, replaced_folder
from hf_vqa_mc.exports.harness_files import harness_file
from hf_vqa_mc.exports.images import exported_images
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.progress import Progress

TABLE = "questions.parquet"
PROMPTS = {"blind": '"Question: {{question}}\\nAnswer:"', "answers": '"Answer:"'}
"""Prompt of each task of lm-eval as YAML."""
IN_CONTEXT = '"{% if context %}Context: {{context}}\\n{% endif %}Question: {{question}}\\nAnswer:"'
"""Prompt of the blind task with a context."""


@dataclass(frozen=True)
class TaskFolder:
    """A folder of tasks of one harness; ``harness_files`` has its templates and its program."""

    harness: str
    program: str  # its file name in the folder
    command: str  # runs the tasks
    hidden_options: str  # additional options if answers are hidden
    submitted: str  # the file of predictions if answers are hidden
    questions: Questions

    def how(self, folder: str, task: str) -> str:
        """The command that runs a task; ``folder`` is the one around this."""
        command = self.command.format(folder=shlex.quote(folder), task=task)
        return f"{command} {self.hidden_options}" if self.questions.labels is None else command

    def write(
        self, tree: Path, table: pa.Table, tasks: Mapping[str, Mapping[str, str]], about: Mapping[str, str], first: str
    ) -> list[str]:
        """Write all files except images; returns the names of the main ones.

        ``tasks`` has values of the YAML template by file, ``about`` what each task presents, for the README, whose
        command runs the task ``first``.
        """
        pq.write_table(table, tree / TABLE)
        name, hidden, prefix = self.questions.name, self.questions.labels is None, self.harness.replace("-", "_")
        scoring = harness_file(f"{prefix}_{'hidden' if hidden else 'scored'}.yaml")
        template = harness_file(f"{prefix}_task.yaml")
        for stem, values in tasks.items():
            text = template.format(name=name, scoring=scoring, **values)
            (tree / f"{stem}.yaml").write_text(text, "utf-8")
        (tree / self.program).write_text(harness_file(f"{prefix}_{self.program}"), "utf-8")
        readme = harness_file("README.md").format(
            name=name,
            questions=len(self.questions),
            harness=self.harness,
            answers="hidden" if hidden else "in the data",
            tasks="\n".join(f"- `{task}`: {asks}" for task, asks in about.items()),
            how=self.how("FOLDER_AROUND_THIS_ONE", first),
            scored=f"\n{self.submitted} what vqa-mc score reads.\n" if hidden else "",
        )
        (tree / "README.md").write_text(readme, "utf-8")
        names = [*(f"{stem}.yaml" for stem in tasks), self.program, TABLE]
        write_json(tree / RECORD, record(self.harness, len(self.questions), hidden), indent=1)
        return names

    def exported(self, output: Path, names: list[str], task: str, notes: list[str]) -> Exported:
        """The result for the folder ``output/<name>``."""
        name = self.questions.name
        files, notes = [output / name / file for file in names], [*notes, *self.questions.others.notes(as_hint=False)]
        others = [output / name / file for file in ("README.md", RECORD)]
        return Exported(name, files, len(self.questions), [self.how(str(output), task)], notes, others)


def write_lm_eval(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write the tasks ``<name>_blind`` and ``<name>_answers`` into ``output/<name>``."""
    output, name, context = made_folder(output), questions.name, questions.others.context_column
    folder = TaskFolder(
        "lm-eval",
        "rows.py",
        "lm-eval run --model hf --model_args pretrained=MODEL --include_path {folder} --tasks {task}",
        "--log_samples --output_path PREDICTIONS",
        "The files of samples below PREDICTIONS are",
        questions,
    )
    prompts = {**PROMPTS, "blind": IN_CONTEXT} if context else PROMPTS
    about = {
        f"{name}_blind": f"{'context, ' if context else ''}question and choices, no image",
        f"{name}_answers": "choices alone",
        name: "both",
    }
    with replaced_folder(output / name, overwrite) as tree:
        progress("writing questions", 0, len(questions))
        tasks = {stem: {"task": stem, "prompt": prompt} for stem, prompt in prompts.items()}
        names = folder.write(tree, question_table(questions), tasks, about, name)
        progress("writing questions", len(questions), len(questions))
    return folder.exported(output, names, name, [])


def write_lmms_eval(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write the tasks ``<name>`` and ``<name>_blind`` into ``output/<name>``; without images only the second."""
    check_lettered(questions, "lmms-eval")
    output, name = made_folder(output), questions.name
    folder = TaskFolder(
        "lmms-eval",
        "functions.py",
        "python -m lmms_eval --model MODEL --include_path {folder} --tasks {task} --output_path RESULTS",
        "--log_samples",
        "The file below RESULTS/submissions is",
        questions,
    )
    context = "context, " if questions.others.context_column else ""
    with replaced_folder(output / name, overwrite) as tree:
        files = _write_images(questions, tree, progress)
        shown = [files[image] if image >= 0 else [] for image in questions.images.tolist()]
        table = question_table(questions).append_column("image_files", pa.array(shown, pa.list_(pa.string())))
        tasks = {"task": {"task": name, "visual": "image"}} if any(shown) else {}
        tasks["blind"] = {"task": f"{name}_blind", "visual": "no_image"}
        seen = {"task": "question, choices and image", "blind": "question and choices, no image"}
        about = {values["task"]: f"{context}{seen[stem]}" for stem, values in tasks.items()}
        first = next(iter(about))
        names = folder.write(tree, table, tasks, about, first)
    notes, without = [], shown.count([])
    if without == len(shown):
        notes.append("there are no images to export: only the task without images is written")
    elif without:
        notes.append(f"{without:,} of {len(shown):,} questions have no image and are presented without one")
    return folder.exported(output, names, first, notes)


def _write_images(questions: Questions, tree: Path, progress: Progress) -> list[list[str]]:
    """Write the images; return the file names of each, several if it has several files."""
    files = []
    (tree / "images").mkdir()
    for image, found in enumerate(exported_images(questions, "writing images", progress)):
        stems = (
            [f"{image:06d}"] if len(found) == 1 else [f"{image:06d}_{number}" for number in range(1, len(found) + 1)]
        )
        names = [f"images/{stem}.{suffix}" for stem, (_, suffix) in zip(stems, found, strict=True)]
        for name, (content, _) in zip(names, found, strict=True):
            (tree / name).write_bytes(content)
        files.append(names)
    return files


LM_EVAL, LMMS_EVAL = Harness("lm-eval", write_lm_eval, shows_images=False), Harness("lmms-eval", write_lmms_eval)
