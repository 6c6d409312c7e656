"""Relations in other words: wears is wearing; ON is on."""

import re
from functools import cache

from tests.engines.gqa.independent_checker.vocabulary import WORDS

INVERSE = WORDS["inverse"] | {other: one for one, other in WORDS["inverse"].items()}
LITTLE = {"is", "are", "a", "an", "the", "be", "being"}


@cache
def stems(relation: str) -> tuple[str, ...]:
    """Its words without endings and little words."""
    words = [word for word in re.findall(r"[a-z-]+", relation.lower()) if word not in LITTLE]
    return tuple(_stem(word) for word in words)


def _stem(word: str) -> str:
    if word in ("lying", "laying", "lies", "lie", "lay"):
        return "lie"
    for end in ("ing", "ed", "es", "s"):
        if word.endswith(end) and len(word) - len(end) >= 3 and not word.endswith("ss"):
            word = word[: -len(end)]
            break
    return re.sub(r"e$|(?<=([bdgmnprt]))\1$", "", word) if len(word) > 3 else word


@cache
def same_relation(one: str, other: str) -> bool:
    """Whether two relations say the same."""
    if stems(one) == stems(other):
        return True
    return any(one in group and other in group for group in WORDS["same"])


@cache
def inverse(relation: str) -> str:
    """What the object is to the subject: pulling and pulled by; "" where there is no word for it."""
    for one, other in INVERSE.items():
        if same_relation(relation, one):
            return other
    words = relation.split()
    if words[-1:] == ["by"] and words[0].endswith("ed"):
        return f"{words[0][:-2]}ing"
    return f"{words[0][:-3]}ed by" if len(words) == 1 and words[0].endswith("ing") else ""


@cache
def apart(one: str, other: str) -> bool:
    """Whether what is in one relation to a thing cannot be in the other to it."""
    if one.endswith(" by") != other.endswith(" by") and same_relation(inverse(one), other):
        return True
    one, other = ("on" if text.endswith(" on") else text for text in (one, other))
    return any(
        (any(same_relation(one, a) for a in first) and any(same_relation(other, b) for b in second))
        or (any(same_relation(other, a) for a in first) and any(same_relation(one, b) for b in second))
        for first, second in WORDS["apart"]
    )
