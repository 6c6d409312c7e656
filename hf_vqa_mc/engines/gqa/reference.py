"""One way to speak of an object, and what it tells (Hudson and Manning 2019, Sect. 3.3)."""

from typing import NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.program import Part, Program
from hf_vqa_mc.engines.gqa.wording import Said, relation_form

Fact: TypeAlias = tuple[str, ...]
"""What a reference tells: (object,) that it is there, (object, "name"), (object, type of value), (subject, object)."""

NO_FACTS: frozenset[Fact] = frozenset()
NAMED = "name"


class Reference(NamedTuple):
    """One way to speak of an object."""

    object_id: str
    said: Said
    """its noun as the reference has it"""
    program: Program
    words: tuple[Part, ...]
    """without the article"""
    facts: frozenset[Fact]
    depth: int
    """how many modifiers are in one another: 0 for the bear"""
    determiner: str = "the"

    @property
    def with_that(self) -> "Reference":
        """With "that is" before what stands behind its noun, so that more may follow: the cup that is on the left."""
        if len(self.words) < 2 or self.words[1][0].startswith("that"):
            return self
        head, (behind, key), *more = self.words
        if not behind and (not more or not more[0][0] or relation_form(more[0][0]) is None):  # the hat the man has on
            return self
        return self._replace(words=(head, (f"that {self.said.be} {behind}".strip(), key), *more))

    @property
    def the(self) -> tuple[Part, ...]:
        """With the article."""
        return ((self.determiner, ""), *self.words)


class Link(NamedTuple):
    """A relation that tells an object apart."""

    head: Said
    name: str
    relation: str
    side: str
    """"s": the object is the subject; "o": it is the object"""
    anchor: str
