"""Relations as annotators write them, in the form that stands after "is"."""

import re

from hf_vqa_mc.engines.gqa.cleaning import folded
from hf_vqa_mc.engines.gqa.relation_words import PREPOSITIONS
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT

SAYS_NOTHING = frozenset(
    "of|with|has|have|having|for|and|to|a|the|is|are|be|can|not|that|as|says|like|from|shows|show|reads|it|taken|"
    "contains|consists of|made of|part of|belonging to|made from|made out of|has a|on it|belongs to".split("|")
)
"""Relations that no question asks for: they tell no more than that two things go together, or cannot follow "is"."""

_SPELLED = {
    "inside of": "inside",
    "outside of": "outside",
    "on side of": "on the side of",
    "on top": "on top of",
    "on top if": "on top of",
    "ontop of": "on top of",
    "atop": "on top of",
    "upon": "on",
    "left of": LEFT,
    "to left of": LEFT,
    "on the left of": LEFT,
    "at left": LEFT,
    "right of": RIGHT,
    "to right of": RIGHT,
    "on the right of": RIGHT,
    "besides": "beside",
    "close to": "near",
    "nearby": "near",
    "beneath": "under",
    "infront of": "in front of",
    "in front": "in front of",
    "in between": "between",
    "in back of": "behind",
    "on back of": "on the back of",
    "on front of": "on the front of",
    "on bottom of": "on the bottom of",
    "off of": "off",
    "seated on": "sitting on",
    "seated in": "sitting in",
    "seated at": "sitting at",
    "laying on": "lying on",
    "laying in": "lying in",
    "resting on top of": "resting on",
    "hanged on": "hanging on",
    "hung on": "hanging on",
    "hung from": "hanging from",
    "dressed in": "wearing",
    "worn by": "",
    "full with": "full of",
    "attached": "attached to",
    "riding on": "riding on",
}
_THIRD_PERSON = re.compile(r"^([a-z]+?)(?:(ie)s|(sse|she|che|xe|zze)s|s)$")
_DOUBLED = frozenset(
    {"sit", "run", "swim", "cut", "hit", "put", "bat", "pet", "hug", "grab", "drag", "sip", "step", "spin"}
)
_VERBS = frozenset(
    "wear hold carry ride eat sit stand lie walk run fly hang lean look watch cover cross play throw hit catch "
    "cut use touch read pull push drive feed lead follow surround drink talk swim jump rest float grow park "
    "graze chase lick kick swing serve brush wash face line border support contain".split()
)


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
    if words and words[0] not in PREPOSITIONS:
        words[0] = _participle(words[0])
    name = " ".join(words)
    name = _SPELLED.get(name, name)
    return "" if name in SAYS_NOTHING else name


def _participle(word: str) -> str:
    """wears, wear: wearing; other words as they are."""
    found = _THIRD_PERSON.match(word)
    base = word
    if word not in _VERBS and found:
        stem = found[1] + ("y" if found[2] else (found[3] or ""))
        base = stem if stem in _VERBS else stem.removesuffix("e") if stem.removesuffix("e") in _VERBS else word
    if base not in _VERBS:
        return word
    if base == "lie":
        return "lying"
    if base in _DOUBLED:
        return base + base[-1] + "ing"
    return (base[:-1] if base.endswith("e") and not base.endswith("ee") else base) + "ing"
