"""Wrong answers that a language model writes, as candidates for decoys."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.questions import presented_questions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.evaluating import open_model
from hf_vqa_mc.evaluation.language_model import Reply, name_of
from hf_vqa_mc.evaluation.run_folder import instructed_replies
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.version import __version__

COUNT = 8  # answers that are asked for: most of them do not pass the filters of a repair
MAX_TOKENS = 512  # maximum length of a reply, enough for `COUNT` answers of 40 words
INSTRUCTION = (
    'The answer "{letter}. {target}" is correct. '
    f"Write {COUNT} wrong answers to this question that a careful person would consider. Each must be clearly wrong, "
    "of the same kind as the correct answer, about as long, written in the same style, and different from all choices "
    "above. Reply with one answer per line and nothing else."
)
_MARK = re.compile(r"^(?:[-*•]|\(?(?:\d{1,2}|[A-Za-z])[.):])\s+")  # the mark of a list's item


class WrongAnswers(NamedTuple):
    """The wrong answers of a model."""

    model: str
    answers: dict[str, list[str]]  # question id to texts; empty if there is no reply
    failures: list[str]  # reasons of questions without a reply


def write_wrong_answers(
    benchmark: Benchmark,
    model: Any,  # noqa: ANN401  a name or a LanguageModel
    base_url: str | None,
    folder: Path | None,
    progress: Progress,
) -> WrongAnswers:
    """Ask a model for wrong answers to each question of the evaluated split."""
    questions = presented_questions(benchmark, None, hide_answers=False)
    run: dict[str, Any] = {"version": __version__, "dataset": public_name(benchmark.dataset)}
    run |= {"config": benchmark.config, "split": benchmark.evaluated, "max_tokens": MAX_TOKENS}
    rows, option = range(len(questions)), "--candidates-from: folder"
    try:
        with ExitStack() as stack:
            opened = open_model(model, stack, max_tokens=MAX_TOKENS, base_url=base_url)
            run["model"] = name_of(opened)
            replies = instructed_replies(opened, questions, rows, INSTRUCTION, run, folder, progress, option)
    except InputError as error:
        raise InputError(str(error).replace("--model", "--candidates-from")) from error
    answers = {questions.question_ids[row]: answers_in(reply) for row, reply in replies.items()}
    return WrongAnswers(name_of(opened), answers, [one.failure for one in replies.values() if one.failure])


def answers_in(reply: Reply) -> list[str]:
    """The distinct answers in a reply, one per line, without the marks of a list, quotes and introductions."""
    lines = [line.strip() for line in (reply.text or "").splitlines()]
    lines = [line for line in lines if line and not line.endswith(":")]
    if reply.cut_off:
        del lines[-1:]
    marked = [line for line in lines if _MARK.match(line)]
    if 2 * len(marked) > len(lines):
        lines = [_MARK.sub("", line) for line in marked]
    return list(dict.fromkeys(text for line in lines if (text := line.strip("\"“”'` *"))))
