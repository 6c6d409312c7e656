"""A run of a model: its folder with its settings and each answer as soon as it is there, and its requests.

::

    RUN/run.json                     settings and versions
    RUN/answers.jsonl                one line per answer, appended

A run that was stopped at any moment continues with the questions that have no answer. Failures are asked again.
"""

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from math import inf
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO

from hf_vqa_mc.data.questions import Questions, letter
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.language_model import Prompt, Reply, name_of
from hf_vqa_mc.evaluation.methods import FULL, INPUTS, METHODS, NO_IMAGE, Method
from hf_vqa_mc.evaluation.prompts import Job, Prompts
from hf_vqa_mc.evaluation.settings import EVALUATIONS
from hf_vqa_mc.io.atomic import locked, write_json
from hf_vqa_mc.io.interruption import resumable
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.outputs import check_folder
from hf_vqa_mc.io.progress import Progress

SETTINGS, ANSWERS = "run.json", "answers.jsonl"
RESULTS, ROWS = "results.json", "rows.parquet"
WAITING = 2  # batches per thread that are prepared before earlier ones are done
FIRST_FAILURES = 8  # if all of the first replies are failures, the run ends
INSTRUCTED = replace(METHODS["generate"], instruction="")
Batch = tuple[dict[Job, Reply], dict[Job, Reply]]
"""The model's replies to jobs, and the failures of those whose prompt cannot be made."""


class RunFolder:
    """The folder of an evaluation, or memory if ``path`` is None; InputError if it has something else."""

    def __init__(self, path: Path | None, settings: Mapping[str, Any], option: str = "--output") -> None:
        self.path, self.settings = path, dict(settings)
        self.where = f"{option} {path}"
        self.replies: dict[Job, Reply] = {}
        self._file: BinaryIO | None = None
        if path is not None:
            check_folder(path.parent if path.parent == EVALUATIONS else path, option)
            self._check(path)

    def add(self, replies: Mapping[Job, Reply]) -> None:
        """Store replies; with a folder they are written before this returns."""
        self.replies |= replies
        if self._file is not None:
            for job, reply in replies.items():
                given = {name: value for name, value in vars(reply).items() if value not in (None, "", False)}
                asked = {name: value for name, value in vars(job).items() if name != "sample" or value}
                record = {**asked, **given} | ({"text": reply.text} if reply.text == "" else {})
                self._file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
            self._file.flush()

    @contextmanager
    def open(self) -> Iterator["RunFolder"]:
        """Read the answers, and append new ones; other processes are excluded."""
        if self.path is None:
            yield self
            return
        self.path.mkdir(exist_ok=True, parents=self.path.parent == EVALUATIONS)
        with locked(self.path / ".lock", f"{self.where}: another process writes to it; wait for it"):
            self._check(self.path)
            write_json(self.path / SETTINGS, self.settings, 1)
            with resumable(self.path), (self.path / ANSWERS).open("ab") as self._file:
                whole, end, _ = (self.path / ANSWERS).read_bytes().rpartition(b"\n")
                for line in whole.splitlines():
                    record = json.loads(line)
                    job = Job(*(record.pop(name, 0) for name in ("row", "input", "rotation", "sample")))
                    lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
                    self.replies[job] = Reply(**(record | lists))
                self._file.truncate(len(whole) + len(end))  # an incomplete line: a process was killed
                yield self

    def _check(self, folder: Path) -> None:
        """Raise InputError if the folder holds something else than a run with the same settings."""
        names = {one.name for one in folder.iterdir()} - {".lock"} if folder.is_dir() else set()
        if not names:
            return
        if SETTINGS not in names:
            raise InputError(f"{self.where} is a folder that vqa-mc evaluate did not write; choose another")
        stored = read_json(folder / SETTINGS)
        for name, value in json.loads(json.dumps(self.settings)).items():
            if stored.get(name) != value:
                raise InputError(
                    f"{self.where} has a run with {name} {shown(stored.get(name))}, now {shown(value)}; choose "
                    "another folder, or the same settings to resume it"
                )


def jobs_of(
    rows: Sequence[int], inputs: Sequence[str], rotations: int, sizes: Sequence[int], samples: int = 1
) -> list[Job]:
    """The jobs of an evaluation, row by row, so that an interrupted one has all inputs of the same rows."""
    counts = {row: min(rotations, sizes[row]) for row in rows}
    parts = ((row, part * sizes[row] // count) for row, count in counts.items() for part in range(count))
    return [
        Job(row, name, rotation, sample) for row, rotation in parts for sample in range(samples) for name in inputs
    ]


def ask(model: Any, method: Method, prompts: Prompts, jobs: Sequence[Job], run: RunFolder, progress: Progress) -> None:  # noqa: ANN401  a LanguageModel
    """Ask all jobs that have no reply or a failure, and add their replies; raises InputError if an input has none."""
    todo = [job for job in jobs if job not in run.replies or run.replies[job].failure]
    done, answered, failures = len(jobs) - len(todo), len(todo) < len(jobs), list[str]()
    step = f"asking {name_of(model)}"
    progress(step, done, len(jobs))
    prompts.replies = run.replies
    with closing(_in_order(model, method, prompts, todo)) as batches:
        for replies, unmade in batches:
            run.add(replies | unmade)
            done += len(replies) + len(unmade)
            progress(step, done, len(jobs))
            failures += [] if answered else [reply.failure for reply in replies.values()]
            answered = answered or not all(failures)
            if len(failures) >= FIRST_FAILURES and not answered:
                first = f"the first {len(failures)} questions: {failures[0]}"
                raise InputError(f"model {name_of(model)} answers none of {first}")
    for name in dict.fromkeys(job.input for job in jobs):
        found = [run.replies[job].failure for job in jobs if job.input == name]
        if all(found):
            raise InputError(f"--inputs {name}: none of the {len(found):,} prompts has a reply: {found[0]}")


def _in_order(model: Any, method: Method, prompts: Prompts, jobs: Sequence[Job]) -> Generator[Batch, None, None]:  # noqa: ANN401
    """The replies to batches of jobs; those to prompts that show an earlier reply come last."""
    for is_second in (False, True):
        some = [job for job in jobs if bool(INPUTS[job.input].after) is is_second]
        with closing(_all_replies(model, method, prompts, some)) as batches:
            yield from batches


def _all_replies(model: Any, method: Method, prompts: Prompts, jobs: Sequence[Job]) -> Generator[Batch, None, None]:  # noqa: ANN401
    """The replies to batches of jobs as they come."""
    size, threads = max(1, getattr(model, "batch_size", 1)), max(1, getattr(model, "concurrency", 1))
    batches = _batches(jobs, size)
    if threads == 1:
        for batch in batches:
            yield _replies(model, method, prompts, batch)
        return
    pool = ThreadPoolExecutor(threads, "vqa-mc-evaluate")
    try:
        waiting: set[Future[Batch]] = set()
        while True:
            for batch in islice(batches, WAITING * threads - len(waiting)):
                waiting.add(pool.submit(_replies, model, method, prompts, batch))
            if not waiting:
                return
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            if any(one.exception() for one in finished):  # store the replies that are on their way, then raise it
                pool.shutdown(cancel_futures=True)
                finished |= {one for one in waiting if not one.cancelled()}
            for one in sorted(finished, key=lambda one: one.exception() is not None):
                yield one.result()
    finally:
        pool.shutdown(cancel_futures=True)  # requests on their way must end before the connections are closed


def _batches(jobs: Sequence[Job], size: int) -> Iterator[list[Job]]:
    """Batches of jobs that are shown an image, or not, in order: models cannot mix them."""
    batches: dict[bool, list[Job]] = {}
    for job in jobs:
        is_shown = bool(INPUTS[job.input].image)
        batches.setdefault(is_shown, []).append(job)
        if len(batches[is_shown]) == size:
            yield batches.pop(is_shown)
    yield from batches.values()


def _replies(model: Any, method: Method, prompts: Prompts, batch: Sequence[Job]) -> Batch:  # noqa: ANN401
    """The replies to one batch; a prompt that cannot be made is a failure."""
    found, unmade, made = dict[Job, Reply](), dict[Job, Reply](), dict[Job, Prompt]()
    for job in batch:
        try:
            made[job] = prompts.prompt(job)
        except InputError as error:
            unmade[job] = Reply(failure=str(error))
    if made:
        given = getattr(model, method.name)(list(made.values()))
        given = list(given) if isinstance(given, Iterable) else [given]
        if len(given) != len(made):
            raise InputError(f"model {name_of(model)} returned {len(given)} replies to {len(made)} prompts")
        for (job, prompt), reply in zip(made.items(), given, strict=True):
            found[job] = _checked(reply, method, prompt, name_of(model), prompts.questions.where(job.row))
    return found, unmade


def _checked(reply: Any, method: Method, prompt: Prompt, name: str, where: str) -> Reply:  # noqa: ANN401  of any model
    """What a model returned as a Reply of Python's numbers; of generate, an index as the letter of the choice."""
    count, expected = len(prompt.choices), f"{len(prompt.choices)} scores, numbers or None where unknown, or a Reply"
    if method.name == "generate":
        expected = f"a text, the index of a choice (0 to {count - 1}) or a Reply" if count else "a text or a Reply"
        if isinstance(reply, Integral) and not isinstance(reply, bool) and 0 <= int(reply) < count:
            reply = letter(int(reply))
    try:
        found = Reply(text=reply) if isinstance(reply, str) else reply
        found = found if isinstance(found, Reply) else Reply(scores=tuple(reply))
        given = [one if one is None else float(one) for one in found.scores or ()]
        scores = tuple(None if one == -inf else one for one in given)
        found = replace(
            found,
            scores=None if found.scores is None else scores,
            lengths=found.lengths and tuple(map(int, found.lengths)),
            tokens=found.tokens and (int(found.tokens[0]), int(found.tokens[1])),
        )
        is_answer = found.text is not None if method.name == "generate" else len(scores) == count
        is_valid = found.failure or (is_answer and all(one is None or one < inf for one in scores))
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise InputError(
            f"{where}: model {name} returned {shown(reply)} for --method {method.name}; expected {expected}"
        )
    return found


def instructed_replies(
    model: Any,  # noqa: ANN401  a LanguageModel
    questions: Questions,
    rows: Sequence[int],
    template: str,
    run: dict[str, Any],
    folder: Path | None,
    progress: Progress,
    option: str = "--output",
) -> dict[int, Reply]:
    """Row to what a model replies to an instruction; it is shown the image if there is one and it sees images.

    ``run`` are the settings of the run, to which what the model is shown is added; see `Prompts` for the template.
    """
    if not callable(getattr(model, INSTRUCTED.name, None)):
        raise InputError(f"--model {name_of(model)} generates no text; use a language model that does")
    given = FULL if getattr(model, "sees_images", True) and questions.image_rows else NO_IMAGE
    prompts = Prompts(questions, INSTRUCTED, seed=0, template=template)
    if given is FULL:
        prompts.check_images(model)
    run |= {"model_version": getattr(model, "version", None), "input": given.name}
    run |= {"questions_sha256": prompts.fingerprint(), "example": prompts.text(given, 0)}
    jobs = [Job(row, given.name, 0) for row in rows]
    with RunFolder(folder, run, option).open() as stored:
        ask(model, INSTRUCTED, prompts, jobs, stored, progress)
        return {job.row: stored.replies[job] for job in jobs}
