"""The result of a preview: sample questions as a page, as in Figure 2 of Chao et al. (2018), and in terminals."""

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from hf_vqa_mc.report.examples import Example, kind_legends
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values, small_image
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of

LONGEST_SIDE, LEAST_SIDE = 480, 240  # pixels of images on the page, and of those that are only tried


@dataclass(frozen=True, eq=False, repr=False)
class PreviewResult(OutputResult):
    """Sample questions of a benchmark."""

    title: str
    examples: list[Example]
    notes: tuple[str, ...] = ()  #: on rows and images that were not read

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """Why an image cannot be shown, by question_id."""
        found = {}
        for one in self.examples:
            shown = (small_image(image, LEAST_SIDE) for image in one.images)
            if reason := one.unreadable or next((why for why in shown if isinstance(why, str)), ""):
                found[one.question_id] = reason
        return found

    @property
    def html(self) -> str:
        """The page."""
        return preview_html(self.title, self.examples)

    def report(self) -> Report:
        """The written files, and images that cannot be shown; if nothing was written, the questions as a table."""
        from rich.table import Table
        from rich.text import Text

        yield from (f"wrote {path}" for path in self.written)
        yield from self.notes
        for question_id, reason in list(self.unreadable.items())[:1]:
            images = "videos" if reason.startswith("the rows name videos") else "images"
            number = f"{len(self.unreadable):,} of {len(self.examples):,} {images} cannot be shown"
            yield f"{number}, for example that of question {question_id}: {reason}"
        if self.written:
            return
        table = Table("question", "choices (the correct one first)", title=self.title)
        for one in self.examples:
            decoys = [text for index, text in enumerate(one.choices) if index != one.label]
            table.add_row(Text(one.question), Text(" | ".join([one.choices[one.label], *decoys])))
        yield table

    def to_dict(self) -> dict[str, Any]:
        """The questions without their images, why images cannot be shown, by question_id, and the written files."""
        return {
            "title": self.title,
            "questions": self.to_pandas().to_dict("records"),
            "unreadable_images": self.unreadable,
            "notes": list(self.notes),
            "written": [str(path) for path in self.written],
        }

    def to_pandas(self) -> Frame:
        """One row per question: question_id, question, question_type, choices, label, kinds, picked."""
        columns = ("question_id", "question", "question_type", "choices", "label", "kinds", "picked")
        return frame_of(
            [[getattr(one, name) for name in columns] for one in self.examples], columns=columns, dtype=object
        )

    def _content(self, suffix: str) -> bytes:
        return self.html.encode()

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'


def preview_html(title: str, examples: list[Example]) -> str:
    """Example questions as a page: image, question and choices by kind.

    A model's pick is marked by a tick if correct, else by a cross; its attention is drawn on the image.
    """
    facts = {"questions": count(len(examples))}
    if any(len(example.priors) for example in examples):
        facts["in brackets"] = "P(correct | choice), eq. 2 of Chao et al. 2018"
    if rights := [example.picked == example.label for example in examples if example.picked is not None]:
        share = percent(sum(rights) / len(rights), 0)
        facts["model accuracy"] = f"{share} ({sum(rights):,} of {len(rights):,})"
    if any(example.attention is not None for example in examples):
        facts["orange on images"] = "model’s attention"
    cards = [(one, picture_values(one.images, LONGEST_SIDE, attention=one.attention)) for one in examples]
    values = {"title": plain(title, 200), "facts": facts, "cards": cards, "legends": kind_legends()}
    return rendered("preview.html.jinja", values)
