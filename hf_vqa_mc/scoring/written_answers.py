"""The choice that a text names, and the set of choices that it lists, in the forms that models write."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from string import ascii_uppercase as LETTERS

from hf_vqa_mc.text.comparison import comparison_of

_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_END_OF_THINKING = re.compile(r".*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_TEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_TAG = re.compile(
    r"<\|[^|<>]*\|>|</?(?:final_?answer|answer|response|output|end_of_\w+|s)>|\[/?answer\]|^\s*assistant\s*:",
    re.IGNORECASE,
)
_ANSWER_TAG = re.compile(r"[<\[](?:final_?)?answer[>\]]", re.IGNORECASE)
_ADVERBS = r"(?:(?:(?:most\s+)?(?:likely|probably)|clearly|therefore|indeed|definitely|actually)\s+)?"
_MARKER = re.compile(
    r"(?:answer|\bans\.?|option|choice|letter|solution|response|réponse|antwort|respuesta|resposta|risposta|ответ|"
    r"答案|正解|回答|选项|選項|答え|정답)(?:\s+(?:to\s+(?:the|this)\s+question|corr\w+))?[\"'”’*_]*\s*"
    r"(?::|=|\b(?:is|would be|should be|must be|est|es|ist|é)\b|è|是|为|為|应该是|は|은|는)\s*:?\s*" + _ADVERBS,
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:choose|chose|pick|select|go(?:ing)? with|guess:?|it\s+is|it['’]s|i['’]d say|i would say|i think|this is|"
    r"that is|must be|(?:so|thus|hence|therefore|definitely|probably|likely)\b,?)\s+"
    + _ADVERBS
    + r"(?:the\s+)?(?:option\s+|choice\s+|answer\s+|letter\s+)?|"
    r"(?<!不)(?:选项?|选择|選擇|選|认为是|應該是|应该是|옵션)\s*:?\s*(?=[(A-Z])",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"(?P<open>[(\[{<\"'“]*)\s*(?:(?:option|choice|letter|answer)\s+)?(?P<inner>[(\[{]?)(?P<letter>[A-Za-z])(?![A-Za-z0-9])"
    r"(?P<close>\s*[)\]}>.:,;!?。\"'”]+|\s+[-–—=]+|$)?(?P<rest>.*)",
    re.DOTALL | re.IGNORECASE,
)
_NAMED_LETTER = re.compile(r"\b(?:[Oo]ption|[Cc]hoice|[Ll]etter)\s+[(\[\"']?([A-Z])\b|[(\[]([A-Z])[)\]]")
_ONLY_LETTERS = re.compile(r"(?:\W+(?:(?:or|and)\W+)?[A-Za-z](?=\W|$))+\W*")
_IS_CORRECT = re.compile(r"\b([A-Z])[)\]*\"]*\s+is\s+(?:the\s+)?(?:only\s+)?(?:correct|right|best|answer)\b")
_REFUSAL = re.compile(
    r"\b(?:cannot|can not|can['’]t|could not|couldn['’]t|unable to|impossible to|"
    r"(?:none|neither|nothing)\b[^.!?]*\bcan)\s+(?:be\s+)?"
    r"(?:see|view|tell|answer|determin|verif|identif)",
    re.IGNORECASE,
)
_UNSURE = re.compile(r"\bno (?:way|idea|clue|image|picture|information)\b")  # does not mention the choice "no"
_YES_NO = re.compile(r"\W*(yes|no)\b(?=[,.!:;])", re.IGNORECASE)
_REASON = re.compile(r"\s*(?:because|since|as (?:the|it)|is (?:the )?(?:correct|right|best|most|answer))\b", re.I)
_NEGATION = re.compile(r"\b(?:not|no|never|isn t|neither|nor|rather than|instead of|than)\s+(?:\w+\s+)?$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_BEFORE = re.compile(r"^(?:[^\w(\[{<>\"'“%°€£$+\-−√×±≤≥≈~.]|[-−.](?![\w.√(])|>(?=\s*[A-Za-z(]))+")
_MARKDOWN = re.compile(r"(?<![\w)\]])[*_]+|[*_]+(?![\w(\[])|`+|^#+\s")
_FORMULA = re.compile(r"\$([^$]+)\$")
_CONFLICT = -1
HEAD, TAIL = 2_000, 10_000  # characters that are read of a longer text, such as a model that repeats itself
_MOST = 8  # maximum number of matches of each form that are read, the last ones, as models may repeat themselves

NO_OTHER = "none"  # the word for an empty list in prompts
_NO_CHOICE = re.compile(
    r"(?:there\s+(?:is|are)\s+)?(?:none|no\s+(?:other|others|letters?)|nothing|n/a)"
    r"(?:\s+(?:of|among)\s+(?:the|these|those|them))?(?:\s+(?:other|others|remaining|choices?|options?|letters?|answers?))*"
    r"(?:\s+(?:(?:is|are|could|would|can|also|be|as well|correct|right)\s*)+)?",
    re.IGNORECASE,
)
_LIST_MARKER = re.compile(
    r"(?:answers?|letters?|choices?|options?|correct|right)[\"*_]*\s*(?::|\b(?:is|are)\b:?)\s*", re.IGNORECASE
)
_SEPARATOR = re.compile(r"(?:[\s,;/&+|.:!'\"“”`*_()\[\]{}<>•–—-]|\b(?:and|or|also)\b)*", re.IGNORECASE)
_NAMED = r"(?:(?:options?|choices?|letters?)\s+)?[(\[]?"
_CAPITAL = re.compile(rf"(?:{_NAMED})([A-Z])(?!['’]?[A-Za-z0-9])")
_ANY_CASE = re.compile(rf"(?:{_NAMED})([A-Za-z])(?!['’]?[A-Za-z0-9])")
_LETTERS_ONLY = re.compile(r"[\s,;/&.()\[\]'\"]*(?:(?:[A-Za-z]|and|or)(?:[\s,;/&.()\[\]'\"]+|$))+")
_CLOSING = re.compile(r"[)\]}>.:=\"'*\s–—-]*")
_MENTION = re.compile(r"(?<![A-Za-z0-9'’])[(\[]?([B-HJ-Z])(?!['’]?[A-Za-z0-9])")
"""A letter within an explanation; A and I are words."""


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
    text = answer_part(text)
    if not text.strip():
        return None
    for part in _parts(text, len(choices)):
        found = _resolved(part, choices)
        if found is not None:
            return None if found == _CONFLICT else found
    letters = {LETTERS.index(one or two) for one, two in _NAMED_LETTER.findall(text)}
    named = {index for index in letters if index < len(choices)}
    mentioned = set() if _REFUSAL.search(text) else set(_mentioned(text, choices))  # "none can be determined"
    for found_by in (named, mentioned):
        if len(found_by) == 1 and not (named and mentioned and named != mentioned):
            return next(iter(found_by))
    return None


def answer_part(text: str) -> str:
    """The text without thinking; "" if it ends while thinking. Of a very long text the beginning and the end."""
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    text = _END_OF_THINKING.sub("", _THINKING.sub("", unicodedata.normalize("NFKC", text)))
    if _UNFINISHED.search(text):
        return ""
    return _TEX.sub(r"\1", _TAG.sub("", _ANSWER_TAG.sub("\nAnswer: ", text)))


def _parts(text: str, count: int) -> Iterable[str]:
    """The parts of a text that may be an answer to ``count`` choices as a whole, the most explicit first."""
    yield from reversed(_BOXED.findall(text)[-_MOST:])
    for marker in (_MARKER, _VERB):
        for match in reversed(list(marker.finditer(text))[-_MOST:]):
            yield text[match.end() :].split("\n")[0] or text[match.end() :].strip().split("\n")[0]
    yield from reversed(_IS_CORRECT.findall(text)[-_MOST:])
    lines = [line for line in text.splitlines() if line.strip()]
    if [line.lstrip("-•*( ")[:1] for line in lines[:count]] == list(LETTERS[:count]):  # the choices are repeated
        lines = lines[count:]
        text = "\n".join(lines)
    if not lines:
        return
    yield text
    yield lines[0]
    yield from (match[1] for match in [_YES_NO.match(lines[0])] if match)
    yield lines[-1]
    yield _SENTENCE.split(lines[0])[0]


def _resolved(part: str, choices: Sequence[str]) -> int | None:
    """The choice that a part of a text is, by its letter or text; _CONFLICT if both differ, None if it is neither."""
    part = _BEFORE.sub("", _without_markup(part).strip())
    form = comparison_of(choices)
    texts = [form(_without_markup(choice)) for choice in _distinct(choices)]
    whole = _equal(form(part), texts)
    match = _LETTER.match(part)
    index = LETTERS.find(match["letter"].upper()) if match else len(choices)
    if match is None or index >= len(choices):
        return whole
    rest, is_closed = match["rest"], match["close"] is not None
    same = [other for other, choice in enumerate(choices) if choice == choices[index]]  # the letter's choice
    said = _equal(form(rest), texts)
    if not normal(rest):  # the letter alone
        return index if is_closed or not rest or whole is None else whole
    if whole is not None and not is_closed:  # "a dog", where that is a choice
        return whole
    if is_closed and said in same:  # "C. a", where C is the choice a
        return index
    if _ONLY_LETTERS.fullmatch(f" {rest}"):  # "A or B"
        others = {LETTERS.find(letter.upper()) for letter in re.findall(r"\b[A-Za-z]\b", rest)}
        return index if others == {index} else _CONFLICT
    if is_closed or match["open"] or match["inner"]:
        first = _equal(form(_SENTENCE.split(rest)[0]), texts)
        return _CONFLICT if any(one is not None and one not in same for one in (said, first)) else index
    if match["letter"].islower() or not rest[:1].isspace():  # a word
        return whole
    if said is not None:
        return index if said in same else _CONFLICT
    return index if _REASON.match(rest) else whole


def _distinct(choices: Sequence[str]) -> list[str]:
    """The choices with "" for those that repeat an earlier one, as either is the same answer."""
    return ["" if choice in choices[:index] else choice for index, choice in enumerate(choices)]


def _without_markup(text: str) -> str:
    return _MARKDOWN.sub("", _FORMULA.sub(r"\1", text))


def _equal(text: str, texts: Sequence[str]) -> int | None:
    """The index of the only choice that a normalised text equals, articles aside."""
    for change in (str, _without_article):
        if found := [index for index, one in enumerate(texts) if one and change(one) == change(text)]:
            return found[0] if len(found) == 1 else None
    return None


def _mentioned(text: str, choices: Sequence[str]) -> list[int]:
    """The choices that occur in a text as whole words, not within another one and not negated."""
    rest = f" {_UNSURE.sub('', normal(text))} "
    found = []
    texts = [_without_article(normal(choice)) for choice in _distinct(choices)]
    for wanted in sorted(dict.fromkeys(texts), key=len, reverse=True):
        starts = [match.start() for match in re.finditer(rf"(?<=\s){re.escape(wanted)}(?=\s)", rest)] if wanted else []
        if any(not _NEGATION.search(rest[:start]) for start in starts):
            found += [index for index, one in enumerate(texts) if one == wanted]
        for start in starts:  # shorter choices may be a part of this one
            rest = f"{rest[:start]}{'#' * len(wanted)}{rest[start + len(wanted) :]}"
    return found


def normal(text: str) -> str:
    """Text in lower case without punctuation between words; signs of numbers and operators are kept."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("\N{MINUS SIGN}", "-").replace("=", " = ")
    text = re.sub(r"(?<=[^\W\d_])-(?=[^\W\d_])|-(?![\w√(])", " ", text)
    text = re.sub(r"(?<=\d)[.,:](?=\d)", "\0", text)  # within numbers and times
    kept = (sign if sign == "\0" or sign.isalnum() or sign in "%°$€£+-<>=≤≥≠√×÷±/^" else " " for sign in text)
    return " ".join("".join(kept).split()).replace("\0", ".")


def _without_article(text: str) -> str:
    return re.sub("^(a|an|the) ", "", text)


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
    lines, count = [line for line in text.splitlines() if line.strip()], len(choices)
    if len(lines) >= count > 1 and _listed("\n".join(lines[:count]), choices) == set(range(count)):
        lines = lines[count:]  # the choices are repeated
        text = "\n".join(lines)
    marked = [text[marker.end() :] for marker in _LIST_MARKER.finditer(text)][-1:]
    for part in (text, *marked, *(one.split("\n")[0] for one in marked), *lines[-1:], *lines[:1]):
        found = _listed(part, choices)
        if found is not None:
            return frozenset(found)
    first, *rest = _SENTENCE.split(lines[0]) if lines else [""]
    found = _listed(first, choices) if rest else None
    others = {LETTERS.index(letter) for letter in _MENTION.findall(" ".join([*rest, *lines[1:]]))}
    return None if found is None or {one for one in others if one < len(choices)} - found else frozenset(found)


def _listed(part: str, choices: Sequence[str]) -> set[int] | None:
    """The choices that a part of a text lists, and nothing else."""
    texts = [normal(choice) for choice in choices]
    plain = re.sub(r"[*_`\"'()\[\]{}]+", "", part).strip().rstrip(".!")
    if _NO_CHOICE.fullmatch(plain):
        return None if normal(plain) in texts else set()
    letter = _ANY_CASE if _LETTERS_ONLY.fullmatch(part) else _CAPITAL
    forms = [(choice.strip(), index) for index, choice in enumerate(choices)]
    forms = [one for one in forms if len(one[0]) > 1 or one[0].isnumeric()]
    forms.sort(key=lambda one: -len(one[0]))
    found: set[int] = set()
    position = 0
    while (position := _SEPARATOR.match(part, position).end()) < len(part):  # type: ignore[union-attr]
        written = _text_at(part, position, forms)  # "A cat", where that is a choice
        match = None if written is not None else letter.match(part, position)
        if match is not None:
            index, end = LETTERS.index(match[1].upper()), match.end()
            written = _text_at(part, _CLOSING.match(part, end).end(), forms)  # type: ignore[union-attr]
            if index >= len(choices) or (written is not None and texts[index] != texts[written[0]]):
                return None
            written = index, written[1] if written is not None else end
        if written is None:
            return None
        found.add(written[0])
        position = written[1]
    return found or None


def _text_at(part: str, position: int, forms: Sequence[tuple[str, int]]) -> tuple[int, int] | None:
    """The longest choice whose text is at a position, and the position behind it."""
    for form, index in forms:
        end = position + len(form)
        if part[position:end].casefold() == form.casefold() and not part[end : end + 1].isalnum():
            return index, end
    return None
