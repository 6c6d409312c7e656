"""Which of COCO's objects a text may speak of, and whether it speaks of nothing else."""

import re

from hf_vqa_mc.engines.tdiuc.objects import MAY_MEAN, PROVABLE, plural_of

_WORD = re.compile(r"[a-z]+")
_LONGEST = 2
"""Words in the longest phrase of MAY_MEAN."""
_SINGULAR = {plural_of(phrase): phrase for phrase in MAY_MEAN} | {phrase: phrase for phrase in MAY_MEAN}

PLAIN = frozenset(
    # Words that name no thing, so that a question of them and PROVABLE words asks about those alone.
    "what which who where is are was were does do did a an the this that these those of to in on at with left right "
    "side behind front above below under underneath beneath next beside color colour colors colours kind type sort "
    "there here shown seen visible pictured doing playing holding wearing riding sitting standing eating sleeping "
    "walking running flying lying laying made out being be and sport game material breed picture photo image scene "
    "photograph white black red blue brown green yellow gray grey orange silver pink purple tan beige gold large "
    "small big little tall short old young s top".split()
)


def objects_named(text: str) -> frozenset[str]:
    """The objects that a text may mean, by COCO's names; "hot dog" is no dog.

    >>> sorted(objects_named("A puppy near two hot dogs"))
    ['dog', 'hot dog', 'sandwich']
    """
    found: set[str] = set()
    for phrase in _phrases(text):
        if phrase in _SINGULAR:
            found.update(MAY_MEAN[_SINGULAR[phrase]])
    return frozenset(found)


def objects_asked_of(question: str) -> frozenset[str] | None:
    """The objects that a question may mean, if annotation can prove that there is none; else None.

    None too where a word might name something that is not annotated, and may be there.

    >>> sorted(objects_asked_of("What color is the teddy bear?") or [])
    ['bear', 'teddy bear']
    >>> objects_asked_of("What color is the fence behind the cow?") is None
    True
    """
    found: set[str] = set()
    for phrase in _phrases(question):
        singular = _SINGULAR.get(phrase)
        if singular in PROVABLE:
            found.update(MAY_MEAN[singular])
        elif singular is not None or phrase not in PLAIN:
            return None
    return frozenset(found) or None


def names_many(phrase: str) -> bool:
    """Whether a word of it is the plural of one that may mean one of the objects.

    >>> names_many("young people around"), names_many("a bus")
    (True, False)
    """
    return any(word == "people" or _SINGULAR.get(word, word) != word for word in _phrases(phrase))


def _phrases(text: str) -> list[str]:
    """The words of a text, those that make a phrase of MAY_MEAN as one."""
    words = _WORD.findall(text.lower())
    phrases, at = [], 0
    while at < len(words):
        for length in range(min(_LONGEST, len(words) - at), 0, -1):
            phrase = " ".join(words[at : at + length])
            if length == 1 or phrase in _SINGULAR:
                phrases.append(phrase)
                at += length
                break
    return phrases
