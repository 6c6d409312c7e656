"""Tasks of lm-eval (EleutherAI): the benchmark without images, for language models.

Choices are scored by the log-likelihood of their text (``output_type: multiple_choice``), given the question or only
"Answer:". Both should be near chance if the benchmark needs its images. A context (see `exports.questions`) precedes
the question as "Context: ...".
"""

import shlex
from pathlib import Path

from hf_vqa_mc.exports.harness import Exported, Harness, made_folder, replaced_folder, write_task_files
from hf_vqa_mc.exports.harness_files import harness_file
from hf_vqa_mc.exports.questions import Questions, question_table
from hf_vqa_mc.io.progress import Progress

PROMPTS = {"blind": '"Question: {{question}}\\nAnswer:"', "answers": '"Answer:"'}
"""Prompt of each task as YAML."""
IN_CONTEXT = '"{% if context %}Context: {{context}}\\n{% endif %}Question: {{question}}\\nAnswer:"'
"""Prompt of the blind task with a context."""


def write_lm_eval(questions: Questions, output: Path, progress: Progress) -> Exported:
    """Write the tasks ``<name>_blind`` and ``<name>_answers`` into ``output/<name>``."""
    output, name = made_folder(output), questions.name
    context, hidden = questions.others.context_column, questions.labels is None
    scoring = harness_file(f"lm_eval_{'hidden' if hidden else 'scored'}.yaml")
    prompts = {**PROMPTS, "blind": IN_CONTEXT} if context else PROMPTS
    task = harness_file("lm_eval_task.yaml")
    with replaced_folder(output / name) as tree:
        progress("writing questions", 0, len(questions))
        names = write_task_files(
            tree,
            "lm-eval",
            questions,
            question_table(questions),
            {stem: task.format(name=name, task=stem, prompt=prompts[stem], scoring=scoring) for stem in PROMPTS},
            ("rows.py", "lm_eval_rows.py"),
            {
                f"{name}_blind": f"{'context, ' if context else ''}question and choices, no image",
                f"{name}_answers": "choices alone",
                name: "both",
            },
            _how(name, "FOLDER_AROUND_THIS_ONE", hidden),
            "The files of samples below PREDICTIONS are",
        )
        progress("writing questions", len(questions), len(questions))
    files, how = [output / name / file for file in names], _how(name, str(output), hidden)
    return Exported(name, files, len(questions), [how], questions.others.notes(as_hint=False))


def _how(name: str, folder: str, hidden: bool) -> str:
    how = f"lm-eval run --model hf --model_args pretrained=MODEL --include_path {shlex.quote(folder)} --tasks {name}"
    return f"{how} --log_samples --output_path PREDICTIONS" if hidden else how


LM_EVAL = Harness("lm-eval", write_lm_eval)
