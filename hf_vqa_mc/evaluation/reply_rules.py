"""The rules by which other harnesses read the choice in a model's reply; own implementations.

Each takes a text and the choices in the order shown, A first, and returns an index, or None where it finds no choice.
Where a harness then guesses or asks a language model, None is returned.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase as LETTERS

_PART = "[A-Za-zÀ-ɏ0-9'’]"  # of a word in Latin letters
_WORD = re.compile(f"(?<!{_PART})([A-Z])(?!{_PART})")
LONG = 5  # words of a reply above which MMMU's program searches for the texts of choices
SHORT = 3  # words of a reply up to which VLMEvalKit reads A as a letter and not as an article


def first_letter(text: str, choices: Sequence[str]) -> int | None:
    """The first capital letter of a choice that is a word of its own."""
    return next(iter(_letters(text, choices)), None)


def last_letter(text: str, choices: Sequence[str]) -> int | None:
    """The last capital letter of a choice that is a word of its own."""
    return next(reversed(_letters(text, choices)), None)


def _letters(text: str, choices: Sequence[str]) -> list[int]:
    found = (LETTERS.index(letter) for letter in _WORD.findall(text))
    return [index for index in found if index < len(choices)]


def mmmu(text: str, choices: Sequence[str]) -> int | None:
    """Read as MMMU's program does (Yue et al. 2024, ``parse_multi_choice_response``), which guesses instead of None.

    A letter in brackets, else one between blanks, else, in replies of more than five words, the text of a choice; of
    several the one that occurs last.
    """
    text = f" {text.strip(',.!?;:' + chr(39))} "
    lower = text.lower()
    forms: tuple[Callable[[int], int], ...] = (
        lambda index: text.rfind(f"({LETTERS[index]})"),
        lambda index: text.rfind(f" {LETTERS[index]} "),
        lambda index: lower.rfind(choices[index].lower()) if len(text.split()) > LONG else -1,
    )
    for last in forms:
        found = {index: last(index) for index in range(min(len(choices), len(LETTERS)))}
        if best := [index for index, at in found.items() if at >= 0 and at == max(found.values())]:
            return best[0]
    return None


def vlmevalkit(text: str, choices: Sequence[str]) -> int | None:
    """Read as VLMEvalKit does for MMBench (``can_infer``), which asks a language model instead of None.

    The only letter of a choice among the words, except A in a reply of more than three words; else the only choice
    whose text is in the reply.
    """
    words = re.sub(r"[.()\[\],:;!*#{}]", " ", text).split()
    letters = [index for index in range(min(len(choices), len(LETTERS))) if LETTERS[index] in words]
    if len(letters) == 1 and (letters[0] or len(words) <= SHORT):
        return letters[0]
    named = [index for index, choice in enumerate(choices) if choice.lower() in text.lower()]
    return named[0] if len(named) == 1 else None


READERS: Mapping[str, Callable[[str, Sequence[str]], int | None]] = {
    "first letter": first_letter,
    "last letter": last_letter,
    "MMMU": mmmu,
    "VLMEvalKit": vlmevalkit,
}
"""Rules by name."""
