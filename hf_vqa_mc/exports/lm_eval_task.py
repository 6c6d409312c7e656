"""Tasks of lm-eval (EleutherAI): the benchmark asked blind, of language models.

Choices are scored by the log-likelihood of their text (``output_type: multiple_choice``): after the question, and
after "Answer:" alone. A benchmark that needs its images leaves both near chance. Where the benchmark has a context
(see `exports.beside`), "Context: ..." stands before the question.
"""

import shlex
from pathlib import Path

import pyarrow.parquet

from hf_vqa_mc.exports.harness_files import harness_file
from hf_vqa_mc.exports.questions import Progress, Questions, question_table
from hf_vqa_mc.exports.written import RECORD, Exported, made_folder, record, replaced_folder
from hf_vqa_mc.io.atomic_file import write_json

HARNESS = "lm-eval"
PROMPTS = {"blind": '"Question: {{question}}\\nAnswer:"', "answers": '"Answer:"'}
"""Of each task, as yaml: what the model sees before a choice."""
IN_CONTEXT = '"{% if context %}Context: {{context}}\\n{% endif %}Question: {{question}}\\nAnswer:"'
"""The same of the blind task, where the benchmark has a context."""

TASK = """\
task: {name}_{task}
tag: {name}
custom_dataset: !function rows.questions
test_split: test
output_type: multiple_choice
doc_to_text: {prompt}
doc_to_choice: choices
{scoring}metadata:
  version: 1
"""
SCORED = """\
doc_to_target: label
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: acc_norm
    aggregation: mean
    higher_is_better: true
"""
HIDDEN = """\
doc_to_target: -1
process_results: !function rows.prediction
metric_list:
  - metric: prediction
    aggregation: !function rows.count
    higher_is_better: true
  - metric: question_id
    aggregation: !function rows.count
    higher_is_better: true
"""
README = """\
# {name}

{questions:,} questions as tasks of lm-eval, written by vqa-mc export; answers {answers}.

- `{name}_blind`: {asks}question and choices, no image
- `{name}_answers`: choices alone
- `{name}`: both

```sh
{how}
```
{scored}"""
HANDED_IN = "\nThe files of samples below PREDICTIONS are what vqa-mc score reads.\n"
"""Where answers are hidden."""


def write_lm_eval(questions: Questions, output: Path, progress: Progress = lambda step, done, total: None) -> Exported:
    """Write the tasks ``<name>_blind`` and ``<name>_answers`` into ``output/<name>``.

    Args:
        questions: to ask.
        output: folder for ``--include_path``, made if there is none.
        progress: told (step, done, total).

    Raises:
        InputError: the folder cannot be made, or something else is in its place.
        OSError: the disk is full or closed to us; what was there still is.
    """
    output = made_folder(output)
    folder = output / questions.name
    hidden = questions.labels is None
    how, told = (_how(questions.name, around, hidden) for around in (str(output), "FOLDER_AROUND_THIS_ONE"))
    names = [f"{task}.yaml" for task in PROMPTS] + ["rows.py", "questions.parquet"]
    with replaced_folder(folder) as tree:
        progress("writing questions", 0, len(questions))
        pyarrow.parquet.write_table(question_table(questions), tree / "questions.parquet")
        context = questions.beside.context_column
        prompts = {**PROMPTS, "blind": IN_CONTEXT} if context else PROMPTS
        for task, prompt in prompts.items():
            scoring = HIDDEN if hidden else SCORED
            text = TASK.format(name=questions.name, task=task, prompt=prompt, scoring=scoring)
            (tree / f"{task}.yaml").write_text(text, "utf-8")
        (tree / "rows.py").write_text(harness_file("lm_eval_rows"), "utf-8")
        about = README.format(
            name=questions.name,
            questions=len(questions),
            asks="context, " if context else "",
            answers="hidden" if hidden else "in the data",
            how=told,
            scored=HANDED_IN if hidden else "",
        )
        (tree / "README.md").write_text(about, "utf-8")
        write_json(tree / RECORD, record(HARNESS, len(questions), hidden, names), indent=1)
        progress("writing questions", len(questions), len(questions))
    notes = questions.beside.notes(as_hint=False)
    return Exported(questions.name, [folder / name for name in names], len(questions), [how], notes)


def _how(name: str, folder: str, hidden: bool) -> str:
    told = f"lm-eval run --model hf --model_args pretrained=MODEL --include_path {shlex.quote(folder)} --tasks {name}"
    return f"{told} --log_samples --output_path PREDICTIONS" if hidden else told
