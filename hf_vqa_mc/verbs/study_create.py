"""``hf_vqa_mc.study_create`` and ``vqa-mc study create``: the file of a new study."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import verb
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.studies.options import StudyOptions
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    from hf_vqa_mc.studies.kind import Item
    from hf_vqa_mc.studies.store import Settings


@dataclass(frozen=True, eq=False, repr=False)
class StudyCreateResult(Result):
    """A new study."""

    path: Path
    settings: "Settings"
    items: "list[Item]"  #: questions and attention checks
    content: bytes
    notes: tuple[str, ...] = ()  #: on the dataset

    def report(self) -> Report:
        """What annotators will be asked, and the next command."""
        settings, kinds = self.settings, Counter(item.control for item in self.items)
        answers = kinds[False] * sum(settings.annotators.values())
        conditions = ", ".join(
            f"{name} ({counted(number, 'annotator')})" for name, number in settings.annotators.items()
        )
        yield f"{settings.kind}: {counted(kinds[False], 'question')} of {settings.dataset}"
        yield from self.notes
        yield f"{conditions} per question: {answers:,} answers on pages of {settings.per_page}"
        yield f"wrote {self.path} ({len(self.content) / 1e6:.1f} MB)"
        yield f"to start it: vqa-mc study serve {self.path}"

    def to_dict(self) -> dict[str, Any]:
        """The settings, without the secret of the link, and the number of questions."""
        settings = {name: value for name, value in vars(self.settings).items() if name != "join"}
        return {**settings, "questions": sum(not item.control for item in self.items), "output": str(self.path)}

    def to_pandas(self) -> Frame:
        """One row per question."""
        rows = [[one.question_id, one.question, one.choices] for one in self.items if not one.control]
        return frame_of(rows, columns=["question_id", "question", "choices"])

    def _content(self, path: Path) -> bytes:
        """The study without answers."""
        return self.content


@verb(
    StudyOptions,
    "vqa-mc study create vqa_mc cocoqa_iou_qou --kind conditions --output study.sqlite",
    "vqa-mc study create benchmark.csv --kind ambiguity --sample 300",
)
def study_create(settings: StudyOptions, progress: Progress) -> StudyCreateResult:
    """Make a study.

    Returns:
        The study, written to ``output``; an existing file is never replaced.

    Raises:
        InputError: the dataset cannot be read, an image is missing, or the file exists.
        OSError: the disk is full or read-only.
    """
    from hf_vqa_mc.io.atomic import write_bytes
    from hf_vqa_mc.io.outputs import check_output_file
    from hf_vqa_mc.studies.items import new_study
    from hf_vqa_mc.studies.store import new_content

    if settings.output.is_file():
        raise InputError(
            f"--output {settings.output} exists, and a study is never replaced: serve it, or choose another name"
        )
    check_output_file(settings.output, "--output", settings.paths)
    made, items, pictures, notes = new_study(settings, progress)
    content = new_content(made, items, pictures)
    write_bytes(settings.output, content, overwrite=False)
    return StudyCreateResult(settings.output, made, items, content, notes)
