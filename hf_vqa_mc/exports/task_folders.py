"""Tasks of lm-eval (EleutherAI) and lmms-eval: folders with YAML files, a program and the questions as Parquet.

lm-eval presents the benchmark without images to language models: choices are scored by the log-likelihood of their
text (``output_type: multiple_choice``), given the question or only "Answer:". Both should be near chance if the
benchmark needs its images. lmms-eval presents it with images, and the same questions without: models generate an
answer (``output_type: generate_until``) that is parsed as a letter. Each image is one file, however many questions it
has. In both, a context (see `data.questions`) precedes the question as "Context: ...".
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hf_vqa_mc.data.questions import Questions, check_lettered, question_table
from hf_vqa_mc.exports.harness import RECORD, Exported, Harness, exported_images, harness_file, record, replaced_folder
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.progress import Progress

TABLE = "questions.parquet"
QUESTION = "Question: {{question}}\\nAnswer:"  # prompt of lm-eval, in a string of YAML
CONTEXT = "{% if context %}Context: {{context}}\\n{% endif %}"


@dataclass(frozen=True)
class TaskFormat:
    """A folder of tasks of one harness; ``harness_files`` has its templates and its program."""

    harness: str
    program: str  # its file name in the folder
    command: str  # runs the tasks
    hidden_options: str  # additional options if answers are hidden
    submitted: str  # the file of predictions if answers are hidden

    def write(
        self,
        questions: Questions,
        table: pa.Table,
        tree: Path,
        folder: Path,
        tasks: Mapping[str, Mapping[str, str]],
        about: Mapping[str, str],
        run: str,
        notes: Sequence[str] = (),
    ) -> Exported:
        """Write all files except images to ``tree``, which becomes ``folder``.

        ``tasks`` are values of the YAML template by file, ``about`` says for the README what each task presents, and
        ``run`` is the task of the command.
        """
        name, hidden, prefix = questions.name, questions.labels is None, self.harness.replace("-", "_")
        facts = record(self.harness, len(questions), hidden)

        def how(folder: str) -> str:
            command = self.command.format(folder=shlex.quote(folder), task=run)
            return f"{command} {self.hidden_options}" if hidden else command

        scoring = harness_file(f"{prefix}_{'hidden' if hidden else 'scored'}.yaml")
        template = harness_file(f"{prefix}_task.yaml")
        files = {f"{stem}.yaml": template.format(name=name, scoring=scoring, **one) for stem, one in tasks.items()}
        files[self.program] = harness_file(f"{prefix}_{self.program}")
        readme = harness_file("README.md").format(
            name=name,
            tasks="\n".join(f"- `{task}`: {asks}" for task, asks in about.items()),
            how=how("FOLDER_AROUND_THIS_ONE"),
            scored=f"\n{self.submitted} what vqa-mc score reads.\n" if hidden else "",
            **facts,
        )
        for file, text in {**files, "README.md": readme}.items():
            (tree / file).write_text(text, "utf-8")
        pq.write_table(table, tree / TABLE)
        write_json(tree / RECORD, facts, indent=1)
        paths, others = ([folder / file for file in some] for some in ((*files, TABLE), ("README.md", RECORD)))
        notes = [*notes, *questions.others.notes(as_hint=False)]
        return Exported(name, paths, len(questions), [how(str(folder.parent))], notes, others)


LM_EVAL_TASKS = TaskFormat(
    "lm-eval",
    "rows.py",
    "lm-eval run --model hf --model_args pretrained=MODEL --include_path {folder} --tasks {task}",
    "--log_samples --output_path PREDICTIONS",
    "The files of samples below PREDICTIONS are",
)
LMMS_EVAL_TASKS = TaskFormat(
    "lmms-eval",
    "functions.py",
    "python -m lmms_eval --model MODEL --include_path {folder} --tasks {task} --output_path RESULTS",
    "--log_samples",
    "The file below RESULTS/submissions is",
)


def write_lm_eval(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write the tasks ``<name>_blind`` and ``<name>_answers`` into ``output/<name>``."""
    name, context = questions.name, questions.others.context_column
    prompts = {"blind": f'"{CONTEXT if context else ""}{QUESTION}"', "answers": '"Answer:"'}
    tasks = {stem: {"task": stem, "prompt": prompt} for stem, prompt in prompts.items()}
    blind = f"{'context, ' if context else ''}question and choices, no image"
    about = {f"{name}_blind": blind, f"{name}_answers": "choices alone", name: "both"}
    with replaced_folder(output, name, overwrite) as (tree, folder):
        progress("writing questions", 0, len(questions))
        done = LM_EVAL_TASKS.write(questions, question_table(questions), tree, folder, tasks, about, name)
        progress("writing questions", len(questions), len(questions))
    return done


def write_lmms_eval(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write the tasks ``<name>`` and ``<name>_blind`` into ``output/<name>``; without images only the second."""
    check_lettered(questions, "lmms-eval")
    name, notes = questions.name, list[str]()
    context = "context, " if questions.others.context_column else ""
    with replaced_folder(output, name, overwrite) as (tree, folder):
        files = _write_images(questions, tree, progress)
        shown = [files[image] if image >= 0 else [] for image in questions.images.tolist()]
        table = question_table(questions).append_column("image_files", pa.array(shown, pa.list_(pa.string())))
        tasks = {"blind": {"task": f"{name}_blind", "visual": "no_image"}}
        about = {f"{name}_blind": f"{context}question and choices, no image"}
        if any(shown):
            tasks = {"task": {"task": name, "visual": "image"}, **tasks}
            about = {name: f"{context}question, choices and image", **about}
        if (without := shown.count([])) == len(shown):
            notes.append("there are no images to export: only the task without images is written")
        elif without:
            notes.append(f"{without:,} of {len(shown):,} questions have no image and are presented without one")
        return LMMS_EVAL_TASKS.write(questions, table, tree, folder, tasks, about, next(iter(about)), notes)


def _write_images(questions: Questions, tree: Path, progress: Progress) -> list[list[str]]:
    """Write the images; the file names of each."""
    names: list[list[str]] = []
    (tree / "images").mkdir()
    for image, found in enumerate(exported_images(questions, "writing images", progress)):
        names.append([])
        for number, (content, suffix) in enumerate(found, start=1):
            part = f"_{number}" if len(found) > 1 else ""
            names[-1].append(f"images/{image:06d}{part}.{suffix}")
            (tree / names[-1][-1]).write_bytes(content)
    return names


LM_EVAL, LMMS_EVAL = Harness("lm-eval", write_lm_eval, shows_images=False), Harness("lmms-eval", write_lmms_eval)
