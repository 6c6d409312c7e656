"""Which other choices of a question are also correct, by a model or by WordNet."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.ambiguity import possibly_correct
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.questions import LETTERS, Questions, presented_questions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.data.verdicts import BAD_QUESTION, CORRECT, WRONG, Verdict, read_verdicts, rejected
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.asking import ask, check_replies
from hf_vqa_mc.evaluation.evaluating import sampled
from hf_vqa_mc.evaluation.inputs import FULL, NO_IMAGE, Input
from hf_vqa_mc.evaluation.language_model import Reply, name_of
from hf_vqa_mc.evaluation.methods import METHODS
from hf_vqa_mc.evaluation.opening import open_model
from hf_vqa_mc.evaluation.prompts import Job, Prompts
from hf_vqa_mc.evaluation.run_folder import ANSWERS, RunFolder
from hf_vqa_mc.evaluation.settings import JudgeSettings
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.scoring.written_letters import NO_OTHER, written_letters
from hf_vqa_mc.version import __version__

WORDNET = "wordnet"
"""The model that needs none: the heuristics of the audit."""
INSTRUCTION = (
    'The answer "{letter}. {target}" is correct. Which of the other choices are also correct answers to this '
    "question, so that a careful person would accept them, too? Reply with their letters only, separated by commas, "
    f'or with "{NO_OTHER}".'
)
"""Last line of a prompt; ``letter`` and ``target`` are of the correct choice."""
METHOD = replace(METHODS["generate"], instruction="")
UNKNOWN, NO, YES = -1, 0, 1
"""Whether a decoy is flagged; unknown without a reply that can be read."""


@dataclass(frozen=True, eq=False)
class Decoys:
    """The decoys of the judged rows, (decoys,) each."""

    rows: NDArray[np.int64]
    """index among the benchmark's rows"""
    question_ids: list[str]
    texts: list[str]
    kinds: list[str]
    """names of ``decoys.CHOICE_KINDS``; "" where the benchmark has none"""
    types: list[str]
    """question types; "" where the benchmark has none"""
    clusters: NDArray[np.int64]
    """number of the image, or of the question where there is none"""
    flags: NDArray[np.int8]
    """UNKNOWN, NO or YES, by the judge"""
    baseline: NDArray[np.int8]
    """by WordNet"""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The verdicts of a judge on the decoys of a benchmark."""

    judge: str
    location: str
    run: dict[str, Any]
    """settings of the run"""
    decoys: Decoys
    n_rows: int
    """judged rows"""
    unparsed: list[str]
    """replies that are no list of choices"""
    failures: list[str]
    """reasons of rows without a reply"""
    labels: NDArray[np.int8] | None = None
    """(decoys,): verdicts of people; UNKNOWN where there is none"""
    notes: tuple[str, ...] = ()
    """see `Benchmark.notes`"""

    def verdicts(self) -> list[Verdict]:
        """A verdict on each decoy, for ``vqa-mc remedy --reject``; none for rows without a reply that can be read."""
        names = {NO: WRONG, YES: CORRECT}
        cells = zip(self.decoys.question_ids, self.decoys.texts, self.decoys.flags.tolist(), strict=True)
        return [Verdict(one, text, names[flag], self.judge) for one, text, flag in cells if flag != UNKNOWN]


class JudgePrompts(Prompts):
    """Prompts that name the correct choice and ask for others."""

    def text(self, given: Input, row: int, rotation: int = 0) -> str:
        """The question with its lettered choices, and `INSTRUCTION`."""
        label = (self.questions.labels or [])[row]
        instruction = INSTRUCTION.format(letter=LETTERS[label], target=self.row_texts(given, row)[2 + label])
        return f"{super().text(given, row, rotation)}\n{instruction}"


def judged(settings: JudgeSettings, progress: Progress) -> Judgement:
    """Judge a benchmark as the settings say; see `hf_vqa_mc.judge`."""
    if settings.output is not None:
        check_outside(settings.output, "--output", [*settings.paths, *filter(None, [settings.labels])])
    people = read_verdicts(settings.labels) if settings.labels else None
    benchmark = load(settings, progress)
    questions = presented_questions(benchmark, None, hide_answers=False)
    rows = sampled(questions, settings.sample, settings.seed)
    found: dict[int, frozenset[int] | None] = {}
    unparsed: list[str] = []
    failures: list[str] = []
    by_wordnet = settings.model == WORDNET
    run: dict[str, Any] = {
        "version": __version__,
        "judge": WORDNET,
        "dataset": public_name(settings.dataset_name),
        "config": benchmark.config,
        "split": benchmark.test.name,
    }
    if by_wordnet:
        with RunFolder(settings.output, run).open():
            pass  # checks and writes the settings
        if settings.output is not None:
            (settings.output / ANSWERS).unlink()  # empty
    else:
        replies = _replies(settings, questions, rows, run, progress)
        for row, reply in replies.items():
            found[row] = (
                None if reply.failure or reply.cut_off else written_letters(reply.text or "", questions.choices[row])
            )
            if reply.failure:
                failures.append(reply.failure)
            elif found[row] is None:
                unparsed.append(reply.text or "")
    decoys = _decoys(benchmark, questions, rows, None if by_wordnet else found)
    labels = labelled(people, decoys, settings.labels) if people is not None and settings.labels else None
    found_by = run["judge"], questions.location, run, decoys, len(rows), unparsed, failures, labels
    return Judgement(*found_by, benchmark.notes)


def _replies(
    settings: JudgeSettings,
    questions: Questions,
    rows: NDArray[np.int64],
    run: dict[str, Any],
    progress: Progress,
) -> dict[int, Reply]:
    """The model's reply for each row; completes the settings of the run."""
    with contextlib.ExitStack() as stack:
        model = open_model(settings, stack)
        if not callable(getattr(model, METHOD.name, None)):
            raise InputError(f"--model {name_of(model)} generates no text; use a language model, or --model {WORDNET}")
        sees = getattr(model, "sees_images", True) and len(questions.image_rows) > 0
        given = FULL if sees else NO_IMAGE
        prompts = JudgePrompts(questions, METHOD, settings.seed)
        if sees:
            prompts.check_images(model)
        run |= {
            "judge": name_of(model),
            "model_version": getattr(model, "version", None),
            "input": given.name,
            "max_tokens": settings.max_tokens,
            "questions_sha256": prompts.fingerprint(),
            "example": prompts.text(given, 0),
        }
        jobs = [Job(row, given.name, 0) for row in rows.tolist()]
        with RunFolder(settings.output, run).open() as folder:
            ask(model, METHOD, prompts, jobs, folder, progress)
            check_replies(jobs, folder)
            return {job.row: folder.replies[job] for job in jobs}


def _decoys(
    benchmark: Benchmark,
    questions: Questions,
    rows: NDArray[np.int64],
    found: Mapping[int, frozenset[int] | None] | None,
) -> Decoys:
    """The decoys of some rows, with what a model has ``found`` by row and what WordNet finds."""
    split = benchmark.test
    some = split.rows.take(rows)
    numbered = number_rows({"test": some})["test"]
    masks = possibly_correct(numbered, some["answers"].combine_chunks(), None)
    by_wordnet = np.logical_or.reduce(list(masks.values()))
    kinds = some["choice_kinds"].to_pylist()
    columns: dict[str, list[Any]] = {name: [] for name in ("rows", "texts", "kinds", "flags", "baseline")}
    for at, row in enumerate(rows.tolist()):
        flagged = None if found is None else found[row]
        order = questions.orders[row] if questions.orders else range(len(questions.choices[row]))
        column_of = {own: column for column, own in enumerate(numbered.positions[at].tolist())}
        for index, (text, own) in enumerate(zip(questions.choices[row], order, strict=True)):
            if column_of[own] == 0:  # the target
                continue
            baseline = int(by_wordnet[at, column_of[own]])
            known = UNKNOWN if found is not None and flagged is None else int(index in (flagged or ()))
            columns["rows"].append(row)
            columns["texts"].append(text)
            columns["kinds"].append(kinds[at][own] if kinds[at] else "")
            columns["flags"].append(baseline if found is None else known)
            columns["baseline"].append(baseline)
    numbers = np.array(columns["rows"], np.int64)
    return Decoys(
        rows=numbers,
        question_ids=[questions.question_ids[row] for row in columns["rows"]],
        texts=columns["texts"],
        kinds=columns["kinds"],
        types=[questions.types[row] for row in columns["rows"]],
        clusters=split.clusters[numbers],
        flags=np.array(columns["flags"], np.int8),
        baseline=np.array(columns["baseline"], np.int8),
    )


def labelled(people: Sequence[Verdict], decoys: Decoys, path: Path) -> NDArray[np.int8]:
    """(decoys,): YES for decoys that people find correct, NO for those that they find wrong, else UNKNOWN.

    Verdicts count by judge as in `rejected`; decoys of bad questions, and those that all are unsure of, are unknown.

    Raises:
        InputError: no verdict is about one of the decoys.
    """
    correct = rejected(people)
    wrong = {(one.question_id, one.choice) for one in people if one.verdict == WRONG}
    found = np.full(len(decoys.texts), UNKNOWN, np.int8)
    for index, pair in enumerate(zip(decoys.question_ids, decoys.texts, strict=True)):
        if pair[0] in correct.questions:
            continue
        if pair[1] in correct.choices.get(pair[0], ()):
            found[index] = YES
        elif pair in wrong:
            found[index] = NO
    if (found == UNKNOWN).all():
        given = next((one for one in people if one.verdict != BAD_QUESTION), None)
        example = f", such as {shown(given.choice)} of {shown(given.question_id)}," if given else ""
        raise InputError(f"--labels {path}: no verdict{example} is about a judged decoy; use verdicts on these rows")
    return found
