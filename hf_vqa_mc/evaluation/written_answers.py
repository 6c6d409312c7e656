"""The choice that a text names, in the forms that models write: letters, choices, and sentences with either."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from string import ascii_uppercase as LETTERS

_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_END_OF_THINKING = re.compile(r".*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_TEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_MARKER = re.compile(
    r"(?:answer|option|choice|solution|response)(?:\s+to\s+(?:the|this)\s+question)?[\"”’*_]*\s*"
    r"(?::|=|\bis\b|\bwould be\b|\bshould be\b|\bmust be\b)\s*:?\s*",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:choose|chose|pick|select|go with|it\s+is|it['’]s|i['’]d say|i would say|i think|this is|that is|must be)\s+"
    r"(?:the\s+)?(?:option\s+|choice\s+|answer\s+|letter\s+)?",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"(?P<open>[(\[{<\"'“]*)\s*(?:(?:option|choice|letter|answer)\s+)?(?P<inner>[(\[{]?)(?P<letter>[A-Za-z])"
    r"(?P<close>\s*[)\]}>.:,;\"'”]+|\s+[-–—=]+|$)?(?P<rest>.*)",
    re.DOTALL | re.IGNORECASE,
)
_NAMED_LETTER = re.compile(r"\b(?:option|choice|letter)\s+[(\[\"']?([A-Z])\b|[(\[]([A-Z])[)\]]")
_AND = re.compile(r"\W*(?:or|and)?\W*([A-Za-z])\W*$")
_YES_NO = re.compile(r"\W*(yes|no)\b(?=[,.!:;])", re.IGNORECASE)
_REASON = re.compile(r"\s*(?:because|since|as the|as it|is (?:the )?(?:correct|right|best|most))\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|isn t|neither|nor|rather than|instead of|than)\s+(?:\w+\s+)?$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_ARTICLES = ("a ", "an ", "the ")
_CONFLICT = -1


def written_choice(text: str, choices: Sequence[str]) -> int | None:
    r"""The index of the choice that a model's text names; None if it names none or several.

    Letters are those of the choices in the order given, A first. In order: the last ``\boxed{}``; what follows the
    last "answer is" or "answer:"; the whole text, its first and its last line; then the only letter named as one, and
    the only choice mentioned. Thinking in ``<think>`` tags is ignored. A letter with the text of another choice is a
    contradiction and names none.

    >>> choices = ["red", "triangle", "two dogs"]
    >>> written_choice("The answer is (B) triangle.", choices), written_choice("A dog", choices)
    (1, None)
    """
    text = _answer_part(text)
    if not text.strip():
        return None
    for part in _parts(text):
        found = _resolved(part, choices)
        if found is not None:
            return None if found == _CONFLICT else found
    letters = {LETTERS.index(one or two) for one, two in _NAMED_LETTER.findall(text)}
    named = {index for index in letters if index < len(choices)}
    mentioned = set(_mentioned(text, choices))
    for found_by in (named, mentioned):
        if len(found_by) == 1 and not (named and mentioned and named != mentioned):
            return next(iter(found_by))
    return None


def _answer_part(text: str) -> str:
    """The text without thinking; "" if it ends while thinking."""
    text = _END_OF_THINKING.sub("", _THINKING.sub("", text))
    return "" if _UNFINISHED.search(text) else _TEX.sub(r"\1", text)


def _parts(text: str) -> Iterable[str]:
    """The parts of a text that may be an answer as a whole, the most explicit first."""
    yield from reversed(_BOXED.findall(text))
    for marker in (_MARKER, _VERB):
        for match in reversed(list(marker.finditer(text))):
            yield text[match.end() :].split("\n")[0] or text[match.end() :].strip().split("\n")[0]
    yield text
    lines = [line for line in text.splitlines() if line.strip()]
    yield lines[0]
    yield from (match[1] for match in [_YES_NO.match(lines[0])] if match)
    yield lines[-1]
    yield _SENTENCE.split(lines[0])[0]


def _resolved(part: str, choices: Sequence[str]) -> int | None:
    """The choice that a part of a text is, by its letter or text; _CONFLICT if both differ, None if it is neither."""
    part = re.sub(r"[*_`$#]+", "", part).strip().lstrip(":-–—>•. ")
    texts = [normal(choice) for choice in choices]
    whole = _equal(normal(part), texts)
    match = _LETTER.match(part)
    index = LETTERS.find(match["letter"].upper()) if match else len(choices)
    if match is None or index >= len(choices):
        return whole
    rest, is_closed = match["rest"], match["close"] is not None
    said = _equal(normal(rest), texts)
    if not normal(rest):  # the letter alone
        return index if is_closed or not rest else whole
    if whole is not None and not is_closed:  # "a dog", where that is a choice
        return whole
    if is_closed or match["open"] or match["inner"]:
        first = _equal(normal(_SENTENCE.split(rest)[0]), texts)
        second = _AND.match(rest)  # "A or B"
        contradicts = any(one is not None and one != index for one in (said, first)) or (
            second is not None and LETTERS.find(second[1].upper()) not in (index, -1)
        )
        return _CONFLICT if contradicts else index
    if match["letter"].islower() or not rest[:1].isspace():  # a word
        return whole
    if said == index or _REASON.match(rest):
        return index
    return whole


def _equal(text: str, texts: Sequence[str]) -> int | None:
    """The index of the only choice that a normalised text equals, articles aside."""
    for change in (lambda one: one, _without_article):
        found = {index for index, one in enumerate(texts) if one and change(one) == change(text)}
        if found:
            return next(iter(found)) if len(found) == 1 else None
    return None


def _mentioned(text: str, choices: Sequence[str]) -> list[int]:
    """The choices that occur in a text as whole words, not within another one and not negated."""
    rest = f" {normal(text)} "
    found = []
    indices: dict[str, list[int]] = {}
    for index, choice in enumerate(choices):
        indices.setdefault(_without_article(normal(choice)), []).append(index)
    for wanted in sorted(indices, key=len, reverse=True):
        places = [match.start() for match in re.finditer(rf"(?<=\s){re.escape(wanted)}(?=\s)", rest)] if wanted else []
        if any(not _NEGATION.search(rest[:start]) for start in places):
            found += indices[wanted]
        for start in places:  # shorter choices may be a part of this one
            rest = f"{rest[:start]}{'#' * len(wanted)}{rest[start + len(wanted) :]}"
    return found


def normal(text: str) -> str:
    """Text in lower case without punctuation between words.

    >>> normal(" Two  dogs. "), normal("3.5"), normal("T-shirt")
    ('two dogs', '3.5', 't shirt')
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"(?<=\d)[.,:](?=\d)", "\0", text)  # within numbers and times
    kept = (sign if sign == "\0" or sign.isalnum() or sign in "%°$€£+" else " " for sign in text)
    return " ".join("".join(kept).split()).replace("\0", ".")


def _without_article(text: str) -> str:
    for article in _ARTICLES:
        if text.startswith(article):
            return text.removeprefix(article)
    return text
