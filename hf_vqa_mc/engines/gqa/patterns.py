"""Patterns: the wordings of a question, with slots and phrases, from ``data/templates.yaml``.

Hudson and Manning 2019, Sect. 3.3: patterns such as ``(What|Which) color [do you think] {is} {the}`` are filled with
references and values; optional words and alternatives, here named phrases, are drawn at random.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product

from hf_vqa_mc.engines.gqa.program import Part
from hf_vqa_mc.engines.gqa.wording import Phrase
from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Templates:
    """The schema of ``templates.yaml``."""

    phrases: dict[str, tuple[str, ...]]
    """name, in capitals, to what may stand for it; "" for nothing"""
    templates: dict[str, dict[str, tuple[str, ...]]]
    """question type and variant"""
    detailed_types: dict[str, dict[str, str]]
    """question type and variant to GQA's detailed type"""


class Pattern:
    """A wording with slots ``{x}`` and phrases ``{X}``; all its forms are equally likely.

    A question mark at its end is ignored.

    Raises:
        KeyError: there is no such phrase.
    """

    def __init__(self, text: str, phrases: Mapping[str, Sequence[str]]) -> None:
        pieces = re.split(r"\{([A-Z_]+)\}", text.removesuffix("?"))
        choices = [phrases[piece] if at % 2 else [piece] for at, piece in enumerate(pieces)]
        self.forms = tuple(dict.fromkeys(_split("".join(chosen)) for chosen in product(*choices)))

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
            value = slots[text] if is_slot else text
            parts.extend([(value, "")] if isinstance(value, str) else value)
        return parts


def wordings(question_type: str) -> dict[str, tuple[Pattern, ...]]:
    """The wordings of a question type by variant."""
    file = vocabulary("gqa/templates", Templates)
    return {
        variant: tuple(Pattern(text, file.phrases) for text in texts)
        for variant, texts in file.templates[question_type].items()
    }


def detailed_types(question_type: str) -> dict[str, str]:
    """GQA's names of the detailed types by variant."""
    return vocabulary("gqa/templates", Templates).detailed_types[question_type]


def _has_words(form: tuple[tuple[str, bool], ...], words: Set[str]) -> bool:
    return any(not is_slot and not words.isdisjoint(text.split()) for text, is_slot in form)


def _split(form: str) -> tuple[tuple[str, bool], ...]:
    """A form as words and slots in order."""
    pieces = re.split(r"\{(\w+)\}", re.sub(r"\s*,", " ,", form))
    found = [(" ".join(piece.split()), at % 2 == 1) for at, piece in enumerate(pieces)]
    return tuple((text, is_slot) for text, is_slot in found if text)
