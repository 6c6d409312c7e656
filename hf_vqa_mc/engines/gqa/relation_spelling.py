"""Relations as annotators write them, in the form that stands after "is"."""

import re

from hf_vqa_mc.engines.gqa.cleaning import folded
from hf_vqa_mc.engines.gqa.relation_names import RELATIONS

_THIRD_PERSON = re.compile(r"^([a-z]+?)(?:(ie)s|(sse|she|che|xe|zze)s|s)$")


def cleaned_relation(text: str) -> str:
    """A relation as annotators write it, in the form that stands after "is"; "" where it says nothing.

    >>> [cleaned_relation(text) for text in ("ON", "wears", "are sitting in a", "has", "laying on", "left of")]
    ['on', 'wearing', 'sitting in', '', 'lying on', 'to the left of']
    """
    words = re.sub(r"[^a-z ]", " ", folded(text).lower()).split()
    while words and words[0] in ("is", "are", "was", "were", "be", "being", "been", "currently"):
        words = words[1:]
    while len(words) > 1 and words[-1] in ("a", "an", "the", "his", "her", "its", "their", "one", "two", "some"):
        words = words[:-1]
    if words and words[0] not in RELATIONS.prepositions:
        words[0] = _participle(words[0])
    name = " ".join(words)
    name = RELATIONS.spellings.get(name, name)
    return "" if name in RELATIONS.says_nothing else name


def _participle(word: str) -> str:
    """wears, wear: wearing; other words as they are."""
    found = _THIRD_PERSON.match(word)
    bases = [word]
    if found:
        stem = found[1] + ("y" if found[2] else (found[3] or ""))
        bases += [stem, stem.removesuffix("e")]
    base = next((base for base in bases if base in RELATIONS.verbs), "")
    if not base:
        return word
    if base == "lie":
        return "lying"
    if base in RELATIONS.doubled:
        return base + base[-1] + "ing"
    return (base[:-1] if base.endswith("e") and not base.endswith("ee") else base) + "ing"
