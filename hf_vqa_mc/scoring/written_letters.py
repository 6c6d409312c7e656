"""The set of choices that a text lists, in the forms that models write: letters, texts, or that there is none."""

import re
from collections.abc import Iterable, Sequence
from string import ascii_uppercase as LETTERS

from hf_vqa_mc.scoring.written_answers import answer_part, normal

NO_OTHER = "none"
"""The word for an empty list in prompts."""
_NONE = re.compile(
    r"(?:there\s+(?:is|are)\s+)?(?:none|no\s+(?:other|others|letters?)|nothing|n/a)"
    r"(?:\s+(?:of|among)\s+(?:the|these|those|them))?(?:\s+(?:other|others|remaining|choices?|options?|letters?|answers?))*"
    r"(?:\s+(?:(?:is|are|could|would|can|also|be|as well|correct|right)\s*)+)?",
    re.IGNORECASE,
)
_MARKER = re.compile(
    r"(?:answers?|letters?|choices?|options?|correct|right)[\"*_]*\s*(?::|\b(?:is|are)\b:?)\s*", re.IGNORECASE
)
_SEPARATOR = re.compile(r"(?:[\s,;/&+|.:!'\"“”`*_()\[\]{}<>•–—-]|\b(?:and|or|also)\b)*", re.IGNORECASE)
_NAMED = r"(?:(?:options?|choices?|letters?)\s+)?[(\[]?"
_CAPITAL = re.compile(rf"(?:{_NAMED})([A-Z])(?!['’]?[A-Za-z0-9])")
_ANY_CASE = re.compile(rf"(?:{_NAMED})([A-Za-z])(?!['’]?[A-Za-z0-9])")
_ONLY_LETTERS = re.compile(r"[\s,;/&.()\[\]'\"]*(?:(?:[A-Za-z]|and|or)(?:[\s,;/&.()\[\]'\"]+|$))+")
_CLOSING = re.compile(r"[)\]}>.:=\"'*\s–—-]*")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_MENTION = re.compile(r"(?<![A-Za-z0-9'’])[(\[]?([B-HJ-Z])(?!['’]?[A-Za-z0-9])")
"""A letter within an explanation; A and I are words."""


def written_letters(text: str, choices: Sequence[str]) -> frozenset[int] | None:
    """The indices of the choices that a text lists, empty for "none"; None if it is no list, or contradicts itself.

    Letters are those of the choices in the order given, A first. In order: the whole text, what follows the last
    "answer:" or "are:", the last line, the first line, and the first sentence if the rest names no other letter.
    Thinking in ``<think>`` tags is ignored, and so are choices that are repeated before the answer. A letter with the
    text of another choice is a contradiction.

    >>> choices = ["jet", "airplane", "cat"]
    >>> sorted(written_letters("(A) jet and B.", choices)), written_letters("None.", choices)
    ([0, 1], frozenset())
    >>> written_letters("It depends on the image.", choices) is None
    True
    """
    text = answer_part(text).replace("\\boxed", "")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) >= len(choices) > 1 and _listed("\n".join(lines[: len(choices)]), choices) == set(
        range(len(choices))
    ):
        lines = lines[len(choices) :]  # the choices are repeated
        text = "\n".join(lines)
    for part in _parts(text, lines):
        found = _listed(part, choices)
        if found is not None:
            return frozenset(found)
    first, *rest = _SENTENCE.split(lines[0]) if lines else [""]
    found = _listed(first, choices) if rest else None
    others = {LETTERS.index(letter) for letter in _MENTION.findall(" ".join([*rest, *lines[1:]]))}
    return None if found is None or {one for one in others if one < len(choices)} - found else frozenset(found)


def _parts(text: str, lines: Sequence[str]) -> Iterable[str]:
    """The parts of a text that may be a list as a whole, the most explicit first."""
    yield text
    markers = list(_MARKER.finditer(text))
    if markers:
        yield text[markers[-1].end() :]
        yield text[markers[-1].end() :].split("\n")[0]
    if lines:
        yield lines[-1]
        yield lines[0]


def _listed(part: str, choices: Sequence[str]) -> set[int] | None:
    """The choices that a part of a text lists, and nothing else."""
    texts = [normal(choice) for choice in choices]
    plain = re.sub(r"[*_`\"'()\[\]{}]+", "", part).strip().rstrip(".!")
    if _NONE.fullmatch(plain):
        return None if normal(plain) in texts else set()
    letter = _ANY_CASE if _ONLY_LETTERS.fullmatch(part) else _CAPITAL
    forms = [(choice.strip(), index) for index, choice in enumerate(choices)]
    forms = [one for one in forms if len(one[0]) > 1 or one[0].isnumeric()]
    forms.sort(key=lambda one: -len(one[0]))
    found: set[int] = set()
    position = 0
    while (position := _after(_SEPARATOR, part, position)) < len(part):
        written = _text_at(part, position, forms)  # "A cat", where that is a choice
        match = None if written is not None else letter.match(part, position)
        if match is not None:
            index, end = LETTERS.index(match[1].upper()), match.end()
            written = _text_at(part, _after(_CLOSING, part, end), forms)
            if index >= len(choices) or (written is not None and texts[index] != texts[written[0]]):
                return None
            written = index, written[1] if written is not None else end
        if written is None:
            return None
        found.add(written[0])
        position = written[1]
    return found or None


def _after(pattern: re.Pattern[str], part: str, position: int) -> int:
    """The position behind what a pattern matches there."""
    match = pattern.match(part, position)
    return match.end() if match else position


def _text_at(part: str, position: int, forms: Sequence[tuple[str, int]]) -> tuple[int, int] | None:
    """The longest choice whose text is at a position, and the position behind it."""
    for form, index in forms:
        end = position + len(form)
        if part[position:end].casefold() == form.casefold() and not part[end : end + 1].isalnum():
            return index, end
    return None
