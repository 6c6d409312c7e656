"""Patterns: the wordings of a question, with slots, optional words and alternatives.

Hudson and Manning 2019, Sect. 3.3: patterns such as ``(What|Which) color [do you think] {is} {the}`` are filled with
references and values; optional words and alternatives are taken at random.
"""

import re
from collections.abc import Iterator, Mapping, Set
from itertools import product

from hf_vqa_mc.engines.gqa.question import Part
from hf_vqa_mc.engines.gqa.wording import Phrase
from hf_vqa_mc.engines.rng import Chance


class Pattern:
    """A wording with slots ``{x}``, optional words ``[x]`` and alternatives ``(x|y)``.

    Of all its forms each is as likely. A question mark at its end is only for the reader.
    """

    def __init__(self, text: str) -> None:
        """Raises ValueError for brackets that do not close."""
        self.forms = tuple(dict.fromkeys(_split(form) for form in _forms(text.removesuffix("?"))))

    def fill(self, chance: Chance, slots: Mapping[str, str | Phrase], avoided: Set[str] = frozenset()) -> list[Part]:
        """One of the forms with its slots filled, without the avoided words if there is such a form.

        Raises:
            KeyError: a slot is not given.
        """
        forms = self.forms
        if avoided:
            forms = tuple(form for form in forms if not _has_words(form, avoided)) or forms
        parts: list[Part] = []
        for text, is_slot in forms[chance.below(len(forms))]:
            if not is_slot:
                parts.append((text, ""))
                continue
            value = slots[text]
            if isinstance(value, str):
                parts.append((value, ""))
            else:
                parts.extend(value)
        return parts


def patterns(*texts: str) -> tuple[Pattern, ...]:
    """Wordings of one question."""
    return tuple(Pattern(text) for text in texts)


def _has_words(form: tuple[tuple[str, bool], ...], words: Set[str]) -> bool:
    return any(not is_slot and not words.isdisjoint(text.split()) for text, is_slot in form)


def _forms(text: str) -> Iterator[str]:
    """All ways to take the options, the innermost brackets last."""
    pieces, place = [], 0
    for start, end in _brackets(text):
        pieces.append([text[place:start]])
        inside = text[start + 1 : end]
        choices = [form for option in _options(inside) for form in _forms(option)]
        pieces.append(["", *choices] if text[start] == "[" else choices)
        place = end + 1
    pieces.append([text[place:]])
    return ("".join(chosen) for chosen in product(*pieces))


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """The places of the outermost brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        if letter in "[(":
            start = place if depth == 0 else start
            depth += 1
        elif letter in "])":
            depth -= 1
            if depth < 0:
                break
            if depth == 0:
                yield start, place
    if depth:
        raise ValueError(f"the brackets of {text!r} do not close")


def _options(text: str) -> list[str]:
    depth, options = 0, [""]
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "|" and depth == 0:
            options.append("")
        else:
            options[-1] += letter
    return options


def _split(form: str) -> tuple[tuple[str, bool], ...]:
    """A form as words and slots in order."""
    pieces = re.split(r"\{(\w+)\}", re.sub(r"\s*,", " ,", form))
    found = [(" ".join(piece.split()), place % 2 == 1) for place, piece in enumerate(pieces)]
    return tuple((text, is_slot) for text, is_slot in found if text)
