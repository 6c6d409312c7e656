"""Questions with the counter-examples that a model ranks best, as a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import Records, is_list_of, read_records
from hf_vqa_mc.report.examples import drawn_rows, image_reader
from hf_vqa_mc.report.thumbnails import picture_values
from hf_vqa_mc.result import Frame, Report, Result, frame_of

if TYPE_CHECKING:
    from hf_vqa_mc.extraction.dataset_images import DatasetImages

BEST = 5
"""Candidates shown per question; the paper's measure is recall@5 (Goyal et al. 2017, section 5)."""


@dataclass(frozen=True)
class Explained:
    """A question, a model's answer, and the candidate images as the model ranks them; all texts are untrusted."""

    question_id: str
    question: str
    image_id: str
    answer: str
    target: str
    """the correct answer; "" if it is not published"""
    candidates: Sequence[str]
    """image ids, the best counter-example first"""
    same: Sequence[float]
    """for each candidate the model's probability that it has the same answer, in [0, 1]"""
    picked: str | None
    """the candidate that people picked; None if it is unknown"""

    @property
    def shown(self) -> list[int]:
        """Indices of the best candidates, and of the picked one."""
        best = range(min(BEST, len(self.candidates)))
        return sorted({*best, *(at for at, image_id in enumerate(self.candidates) if image_id == self.picked)})


@dataclass(frozen=True, eq=False, repr=False)
class CounterexamplesResult(Result):
    """A sample of questions with the counter-examples that a model ranks best."""

    title: str
    examples: list[Explained]
    images: "DatasetImages"
    written: tuple[Path, ...] = ()

    @property
    def shown(self) -> list[str]:
        """The ids of the images on the page."""
        ids = ([one.image_id, *(one.candidates[at] for at in one.shown)] for one in self.examples)
        return list(dict.fromkeys(chain.from_iterable(ids)))

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """Why an image cannot be shown, by image_id."""
        read = image_reader(self.images)
        reasons = {image_id: picture_values(read(image_id), absent="no image")["missing"] for image_id in self.shown}
        return {image_id: reason for image_id, reason in reasons.items() if reason}

    def check_images(self) -> None:
        """Raise InputError if there is none of the images."""
        if not any(image_id in self.images.source for image_id in self.shown):
            raise InputError(
                f"{self.images.location}: none of the {len(self.shown)} images to show, such as image_id "
                f"{self.shown[0]!r}; give the folder with the image files: --images DIR"
            )

    @property
    def html(self) -> str:
        """The page."""
        from hf_vqa_mc.report.pages import counterexamples_html

        return counterexamples_html(self.title, self.examples, image_reader(self.images))

    def report(self) -> Report:
        """The written files, and images that cannot be shown; if nothing was written, the questions as a table."""
        from rich.table import Table
        from rich.text import Text

        yield from (f"wrote {path}" for path in self.written)
        for image_id, reason in list(self.unreadable.items())[:1]:
            number = f"{len(self.unreadable):,} of {len(self.shown):,} images cannot be shown"
            yield f"{number}, for example image_id {image_id}: {reason}"
        if self.written:
            return
        table = Table("question", "answer", "correct answer", "best counter-examples", title=self.title)
        for one in self.examples:
            texts = (one.question, one.answer, one.target, " ".join(one.candidates[:BEST]))
            table.add_row(*map(Text, texts))
        yield table

    def to_dict(self) -> dict[str, Any]:
        """The questions, why images cannot be shown, by image_id, and the written files."""
        return {
            "title": self.title,
            "questions": self.to_pandas().to_dict("records"),
            "unreadable_images": self.unreadable,
            "written": [str(path) for path in self.written],
        }

    def to_pandas(self) -> Frame:
        """One row per question, columns: the fields of `Explained`."""
        return frame_of([vars(one) for one in self.examples], columns=list(Explained.__annotations__))

    def _content(self, path: Path) -> bytes:
        """The page."""
        return self.html.encode()

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'


def explained_questions(
    path: Path, dataset: str, config: str, split: str | None, number: int, seed: int
) -> tuple[str, list[Explained]]:
    """The name of the split, and a random sample of the questions in a file, in its order.

    Args:
        path: file of ``vqa-mc predict --counterexamples``.
        dataset: folder, or name on the Hub.
        config: with the questions.
        split: by default test, else validation, else the only one.
        number: of questions.
        seed: random seed.

    Raises:
        InputError: the file or the dataset cannot be read, or the split lacks questions of the file.
    """
    from hf_vqa_mc.dataset.loading import chosen_split
    from hf_vqa_mc.training.answered_questions import read_answered

    try:
        found = [one for records in read_records(path) for one in _checked(records)]
    except InputError as error:
        raise InputError(f"--counterexamples {error}; give a file of vqa-mc predict --counterexamples") from error
    read = read_answered(dataset, config)
    location = f"{dataset}, {config}"
    name = chosen_split(list(read.splits), split, location)
    questions = read.splits[name]
    row_of = {question_id: row for row, question_id in enumerate(questions.question_ids)}
    if unknown := [one["question_id"] for one in found if one["question_id"] not in row_of]:
        raise InputError(
            f"--counterexamples {path}: {len(unknown):,} of {len(found):,} questions are not in {location}, {name}, "
            f"the first is question_id {unknown[0]!r}; expected the dataset, config and split of vqa-mc predict"
        )
    examples = []
    for one in (found[at] for at in drawn_rows(len(found), number, seed)):
        row = row_of[one["question_id"]]
        of_dataset = {"question": read.texts[questions.texts[row]], "image_id": questions.image_ids[row]}
        examples.append(Explained(**one, **of_dataset, target=questions.targets[row]))
    return name, examples


def _checked(records: Records) -> list[dict[str, Any]]:
    """The fields of `Explained` that a file has."""
    columns = {"question_id": records.ids("question_id"), "answer": records.texts("answer")}
    records.checked("candidates", lambda value: is_list_of(value, str) and value != [], "a list of image ids")
    records.checked("same", lambda value: is_list_of(value, int | float), "a list of probabilities")
    columns |= {name: records.column(name) for name in ("candidates", "same", "picked")}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for position, row in enumerate(rows):
        if len(row["same"]) != len(row["candidates"]):
            raise records.unexpected(position, "same", f"{len(row['candidates'])} probabilities", row["same"])
        if row["picked"] not in (None, *row["candidates"]):
            raise records.unexpected(position, "picked", "one of the candidates, or null", row["picked"])
    return rows
