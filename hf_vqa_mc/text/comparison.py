"""When two texts are the same choice: signs, operators and order count; case, blanks and punctuation do not."""

# ruff: noqa: RUF001  the signs that are folded

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
_SIGNS = str.maketrans({**{sign: "×" for sign in "✕✖⨯∗*"}, "⁄": "/", "∕": "/", "⋅": "·", "∙": "·", "’": "'", "‘": "'"})
_WRITTEN = (("**", "^"), ("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("=>", "⇒"), ("->", "→"), ("\\times", "×"))
_WORD_HYPHEN = re.compile(r"(?<=[^\W\d_]{2})-(?=[^\W\d_])|(?<=[^\W\d_])-(?=[^\W\d_]{2})")
_TIMES = re.compile(r"(?<=\d)\s*[x×]\s*(?=\d)", re.IGNORECASE)
_BLANKS = re.compile(r"\s*([-+=<>≤≥≠≈×÷/^±·→⇒~|&])\s*")
_NUMBER_MARK = re.compile(r"(?<=\d)\s*([,;:])\s*(?=[-+\d(\[])")
_MARK = re.compile(r"(?<!\d)[.,:](?!\d)|(?<=\d)[.,:](?!\d|[-+(\[])|(?<!\d)[,:](?=\d)|[;?…。](?!\d)|(?<![\d)\]])!")
_BULLET = re.compile(r"^[-•]\s+(?=[^\W\d])")
_OUTER = ('""', "''", "“”", "()", "[]", "{}", "「」")


def comparable(text: str, fold_case: bool = True) -> str:
    """The text in the form in which equal choices are equal.

    Case, blanks, outer quotes and brackets, punctuation between words and the forms of Unicode (minus, multiplication,
    fractions, full width) are folded. Signs, operators, units and the order of words are kept.

    >>> comparable(" Two-dogs. ") == comparable("two dogs"), comparable("\N{MINUS SIGN}3") == comparable("-3")
    (True, True)
    >>> comparable("-3") == comparable("3"), comparable("K<0") == comparable("K>0"), comparable("10²")
    (False, False, '10^2')
    """
    text = _plain_forms(text.translate(_DASHES)).translate(_DASHES)
    text = text.casefold() if fold_case else text
    for written, sign in _WRITTEN:
        text = text.replace(written, sign)
    text = _outer_removed(" ".join(text.translate(_SIGNS).split()))
    text = _BLANKS.sub(r"\1", _TIMES.sub("×", _BULLET.sub("", text)))
    text = _MARK.sub(" ", _NUMBER_MARK.sub(r"\1", _WORD_HYPHEN.sub(" ", text)))
    return " ".join(text.split())


def comparison_of(choices: Sequence[str]) -> Callable[[str], str]:
    """The form to compare with the choices of a row: with case if two of them differ in case alone.

    >>> comparison_of(["mW", "MW"])("MW."), comparison_of(["red", "Blue"])("RED")
    ('MW', 'red')
    """
    return (lambda text: comparable(text, False)) if differ_in_case(*choices) else comparable


def differ_in_case(*texts: str) -> bool:
    """Whether two of the texts differ in case alone, as k and K do; as choices of one row they are different.

    >>> differ_in_case("K", "k "), differ_in_case("k", "k"), differ_in_case("K.", "k")
    (True, False, False)
    """
    distinct = {text.strip() for text in texts}
    return len({text.lower() for text in distinct}) < len(distinct)


def _plain_forms(text: str) -> str:
    """Compatibility forms as plain text; powers after ``^``, fractions after a blank."""
    parts = []
    for form, signs in groupby(text, key=lambda sign: unicodedata.decomposition(sign).partition(">")[0]):
        before = {"<super": "^", "<fraction": " "}.get(form, "")
        same = "".join(signs)
        parts.append(before + unicodedata.normalize("NFKC", same) if before else same)
    return unicodedata.normalize("NFKC", "".join(parts))


def _outer_removed(text: str) -> str:
    """Without quotes and brackets around all of it, and marks behind; brackets around numbers are intervals."""
    while text:
        shorter = text.rstrip(".,;:?… 。")
        pair = shorter[:1] + shorter[-1:]
        inner = shorter[1:-1]
        is_whole = len(shorter) > 2 and pair in _OUTER and not set(pair) & set(inner)
        if is_whole and not (pair in ("[]", "{}") and "," in inner):
            shorter = inner.strip()
        if shorter in ("", text):
            break
        text = shorter
    return text
