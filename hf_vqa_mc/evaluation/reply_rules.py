"""Replies without their reasoning, why one names no choice, and the rules of other harnesses; own implementations.

Each rule takes a text and the choices in the order shown, A first, and returns an index, or None where it finds no
choice. Where a harness then guesses or asks a language model, None is returned.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from string import ascii_uppercase as LETTERS

from hf_vqa_mc.scoring.written_answers import answer_part
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS

_PART = "[A-Za-zÀ-ɏ0-9'’]"  # of a word in Latin letters
_WORD = re.compile(f"(?<!{_PART})([A-Z])(?!{_PART})")
LONG = 5  # words of a reply above which MMMU's program searches for the texts of choices
LONGEST_NUMBER = 40  # characters of a number with its unit
SHORT = 3  # words of a reply up to which VLMEvalKit reads A as a letter and not as an article
_REASONING = "think(?:ing)?|thoughts?|reason(?:ing)?|rationale|analysis|scratchpad"
_TAG = re.compile(rf"(?i)[<◁](/?)(?:{_REASONING})[>▷]|\[(/?)think(?:ing)?\]")
_BRACKETS = re.compile(rf"(?i)\[(?P<name>{_REASONING})\](?=.*\[/(?P=name)\])|\[/(?:{_REASONING})\]", re.DOTALL)
"""Tags in square brackets; without a closing one they are headings."""
_UNCLOSED = re.compile(r"(?is)<think>(?!.*</think>).*?(?=[<\[](?:final_?)?answer[>\]])")
_CHANNEL = re.compile(r"<\|channel\|>(analysis|final)<\|message\|>")  # the format of gpt-oss
_HEADED = re.compile(
    r"(?is)^\W*(?:reasoning|rationale|thoughts?|analysis|explanation)\W*:.*?"
    r"(\banswer\b\W*?(?::|\bis\s+\W*(?-i:[A-Z])\b)|\Z)"
)
_REFUSAL = re.compile(
    r"(?i)^\W*(?:I\W?a?m )?(?:sorry|apologi[sz]e)|\b(?:can(?:not|'t| not)|could(?:n't| not)|unable to|not able to|"
    r"impossible to)\s+(?:\w+\s+){0,2}(?:see|view|tell|determine|answer|identify|verify|say|help|assist|provide|"
    r"process)|\b(?:not enough|insufficient) (?:information|context|details?)\b|"
    r"\b(?:(?:there is|there's|I see|with) no|without (?:an?|the)) (?:image|picture|photo)\b|"
    r"\b(?:image|picture|photo)\b[^.]{0,60}\b(?:missing|not "
    r"(?:been )?(?:provided|given|shown|visible|attached|available|included))|"
    r"\bplease (?:provide|upload|attach|share|send)\b[^.]{0,60}\b(?:image|picture|photo)"
)
_SCALES = "k|dozen|hundred|thousand|[mb]illion|trillion|hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?"
_NUMBER = re.compile(
    rf"(?P<before>[$€£])?\s*(?P<number>[-+]?(?:\d+\s*/\s*\d+|\d*\.?\d+|\d+\.)|{'|'.join(SMALL_NUMBERS)})"
    rf"\s*(?P<after>(?!(?:{_SCALES}|{'|'.join(SMALL_NUMBERS)})\b)[^\W\d]+|[%°$€£])?[.\s]*"
)
_NAMED = re.compile(r"\b[Aa]nswer\b\W*(?:is|:)\W*[A-Z]\b|^\W*[A-Z][.):]")  # a letter
_METRIC = re.compile(r"^(kilo|centi|milli)?(met(?:er|re)|gram|lit(?:er|re))s?$")
_AFTER_ANSWER = re.compile(r"(?i)\banswer\b\W*(?::|\bis\b:?)")
REASONS = REASONING_CUT, CUT, EMPTY, REFUSED, UNCLEAR = (
    "reasoning not ended", "cut off", "empty", "refused", "no choice or several"
)  # fmt: skip
"""Why a reply names no choice."""


def without_reasoning(text: str, cut_off: bool = False) -> str:
    """The reply with its reasoning in ``<think>`` tags, which `answer_part` removes; other forms are changed to them.

    "Reasoning: ... Answer: B" counts as reasoning up to "Answer:", and if the text was cut off before, as not ended.

    >>> without_reasoning("[THINK]A?[/THINK]B"), without_reasoning("Reasoning: A or B", cut_off=True)
    ('<think>A?</think>B', '<think>Reasoning: A or B')
    """
    text = _BRACKETS.sub(lambda match: "<think>" if match["name"] else "</think>", text)
    text = _TAG.sub(lambda match: f"<{match[1] or match[2] or ''}think>", text)
    text = _CHANNEL.sub(lambda match: "<think>" if match[1] == "analysis" else "</think>", text)
    text = _UNCLOSED.sub("", text)
    headed = _HEADED.match(text)
    if headed and (headed[1] or cut_off):
        end = f"</think>{headed[1].replace(']', '')}" if headed[1] else ""
        text = f"<think>{text[: headed.start(1)]}{end}{text[headed.end() :]}"
    return text


def unparsed_reason(text: str, cut_off: bool) -> str:
    """Why a reply names no choice: one of `REASONS`."""
    answer = answer_part(without_reasoning(text, cut_off)).strip()
    if not answer:
        is_open = re.search(r"(?is)<think>(?!.*</think>)", without_reasoning(text, cut_off))
        return REASONING_CUT if cut_off or is_open else EMPTY
    return CUT if cut_off else REFUSED if _REFUSAL.search(answer.replace("’", "'")) else UNCLEAR


def numeric_choice(text: str, choices: Sequence[str]) -> int | None:
    """The only choice with the same number as the answer, in another form: 3, three, 3.0, 1/2, 1,000, $3, 3 m, 50%.

    Read are the whole answer, its lines, and what follows the last "answer is" or "answer:"; they must not contradict
    each other, and no letter may be named. A unit that both have must be the same.

    >>> numeric_choice("The answer is 3.0 meters.", ["2 m", "3 m"]), numeric_choice("3", ["3 m", "3 cm"])
    (1, None)
    """
    text = answer_part(text).strip()
    parts = text, *text.splitlines(), *_AFTER_ANSWER.split(text)[1:][-1:]
    given = {found for part in parts if (found := _quantity(part))}
    if len(given) != 1 or _NAMED.search(text):
        return None
    ((number, unit),) = given
    values = [_quantity(choice) for choice in choices]
    same = [index for index, value in enumerate(values)
            if value and value[0] == number and (value[1] == unit or not (value[1] and unit))]  # fmt: skip
    return same[0] if len(same) == 1 else None


def _quantity(text: str) -> tuple[Fraction, str] | None:
    """The number and the unit that a text is, "" without one; None if it is something else."""
    if re.search(r"\d\d\N{FRACTION SLASH}|\d\s*[½¼¾⅓⅔]", text):  # 2½
        return None
    text = unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").replace("\N{FRACTION SLASH}", "/")
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text.casefold().strip(" *_\"'()=~≈"))
    match = _NUMBER.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if match is None:
        return None
    word, before, after = match["number"], match["before"] or "", match["after"] or ""
    try:
        number = Fraction(SMALL_NUMBERS.index(word)) if word in SMALL_NUMBERS else Fraction(re.sub(r"\s", "", word))
    except ZeroDivisionError:
        return None
    unit = _METRIC.sub(lambda name: (name[1] or "")[:1] + name[2][0], (before or after).replace("percent", "%"))
    return number, unit.removesuffix("s") if len(unit) > 2 else unit


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
