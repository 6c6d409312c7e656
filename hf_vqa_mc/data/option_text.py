"""Lettered options within a text, such as ``Which? Options: A: red, B: blue``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hf_vqa_mc.data.names import next_name
from hf_vqa_mc.errors import InputError, shown

_HEADING = r"\b(?:answer[ \t]+)?(?:options|choices)[ \t]*:\s*"
_START = re.compile(rf"(?:(?:^|\n)[ \t]*|(?i:{_HEADING}))(\(?)([Aa1])([.:]| ?\))(?:(?=\s)|(?<=\(A\))(?=\S))")
"""The first option: on a line of its own, or after "Options:"."""
_MARK = re.compile(r"[Aa1](?:[.:]| ?\))\s|\(A\)")
"""What `_START` contains, found much faster."""


@dataclass(frozen=True)
class OptionText:
    """A text with one list of lettered or numbered options, such as ``Which? Options: A: red, B: blue``."""

    before: str
    first: str
    """letter or number of the first option"""
    marks: tuple[str, str]
    """characters before and after a letter"""
    between: str
    """separator of options: a line break, a comma, or a blank"""
    choices: tuple[str, ...]
    after: str

    @classmethod
    def parse(cls, text: str) -> "OptionText | None":
        """Parse a text; None without options, or with one only. Raises InputError if it can be split in several ways.

        >>> OptionText.parse("Which? Options: A: red, B: blue").choices
        ('red', 'blue')
        """
        if not _MARK.search(text):
            return None
        found = [one for start in _START.finditer(text) if (one := cls._from(text, start)) is not None]
        found = [one for one in found if one.first != "1"] or found  # a numbered list may belong to the question
        if len(found) > 1:
            raise InputError(f"{shown(text)}; expected one list of options, found {len(found)}")
        return found[0] if found else None

    @classmethod
    def _from(cls, text: str, start: re.Match[str]) -> "OptionText | None":
        opening, first, closing = start.groups()
        blank = "" if opening and first == "A" else r"(?=\s)"

        def following(separator: str, index: int, position: int) -> re.Match[str] | None:
            mark = f"{opening}{next_name(first, index)}{closing}"
            return re.compile(rf"({separator}){re.escape(mark)}{blank}").search(text, position)

        on_one_line = start[0].strip() != f"{opening}{first}{closing}" and opening  # after "Options:"
        found = following(r"\r?\n[ \t]*| ?[,;] " + ("| " if on_one_line else ""), 1, start.end())
        if found is None and not start.start(1):  # a text of options alone
            found = following(" ", 1, start.end())
        if found is None:
            return None
        between = found[1]
        separator = r"\r?\n[ \t]*" if "\n" in between else between
        choices, position = [], start.end()
        while found:
            choices.append(text[position : found.start()].strip())
            position = found.end()
            found = following(separator, len(choices) + 1, position) if first == "1" or len(choices) < 25 else None
        lines = 1 + max(choice.count("\n") for choice in choices) if between.strip() else 1
        last = "\n".join(text[position:].split("\n")[:lines]).rstrip()
        other = r"\d{1,2}" if first == "1" else "[A-Z]" if first == "A" else "[a-z]"
        again = re.compile(rf"{separator}{re.escape(opening)}{other}{re.escape(closing)}{blank}")
        after = text[position + len(last) :]
        for choice in (*choices, last.strip()):
            if not choice or choice.count("\n") >= lines or again.search(choice) or (lines > 1 and after.strip()):
                raise InputError(f"{shown(text)}; expected options that can be split in one way only")
        return cls(text[: start.start(1)], first, (opening, closing), between, (*choices, last.strip()), after)

    @property
    def question(self) -> str:
        """The text before the options, without the heading "Options:"."""
        return re.sub(rf"(?i){_HEADING}$", "", self.before).strip()

    def names(self, number: int) -> list[str]:
        """The letters or numbers of a number of options."""
        return [next_name(self.first, index) for index in range(number)]

    def written(self, choices: Sequence[str]) -> str:
        """The text with other options."""
        opening, closing = self.marks
        pairs = zip(self.names(len(choices)), choices, strict=True)
        return self.before + self.between.join(f"{opening}{name}{closing} {text}" for name, text in pairs) + self.after
