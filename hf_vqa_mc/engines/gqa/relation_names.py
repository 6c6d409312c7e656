"""What relations mean: which follow from others, which cannot hold together.

Of our own table; verbs with a preposition that stand in it only by their parts (sunbathing on) follow by rule.
"""

from collections.abc import Iterator, Mapping

from hf_vqa_mc.engines.gqa.ontology import RelationName
from hf_vqa_mc.engines.gqa.relation_spelling import SAYS_NOTHING
from hf_vqa_mc.engines.gqa.relation_words import (
    ACTIONS,
    APART,
    BOTH_WAYS,
    ONE_SUBJECT,
    OPPOSITES,
    PARTICIPLES,
    POSTURES,
    POSTURES_ALIKE,
    PREPOSITIONS,
    SURE,
)


class RelationTable(Mapping[str, RelationName]):
    """All relations: those of the tables, and by rule every other participle with a known preposition."""

    def __init__(self) -> None:
        self._known = {name: _preposition(name) for name in PREPOSITIONS if name not in SAYS_NOTHING}
        self._known |= {name: _action(name) for name in ACTIONS}
        for posture in POSTURES:
            for preposition in ("on", "in", "at", "near", "next to", "by", "behind", "in front of", "on top of"):
                self._known[f"{posture} {preposition}"] = _compound(posture, preposition)
        self._listed = tuple(self._known)

    def __getitem__(self, name: str) -> RelationName:
        """The relation of this name.

        Raises:
            KeyError: it is in no table, and no participle with a known preposition.
        """
        if name not in self._known:
            parts = _parts(name)
            if parts is None:
                raise KeyError(name)
            self._known[name] = _compound(*parts)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        """Those of the tables."""
        return iter(self._listed)

    def __len__(self) -> int:
        """How many the tables hold."""
        return len(self._listed)


def _parts(name: str) -> tuple[str, str] | None:
    """The participle and preposition of a relation by rule."""
    verb, _, rest = name.partition(" ")
    if verb not in PARTICIPLES and not (
        verb.isalpha() and verb.endswith("ing") and len(verb) > 4 and verb not in _NOUNS
    ):
        return None
    if not rest:
        return (verb, "") if verb not in PARTICIPLES and verb not in POSTURES else None
    return (verb, rest) if rest in PREPOSITIONS and rest not in ("for", "of") else None


_NOUNS = frozenset("thing string spring during building ceiling railing painting wedding morning evening king".split())


def _preposition(name: str) -> RelationName:
    meant = set(PREPOSITIONS[name].split())
    sure = SURE.get(name)
    against = set[str]().union(*(_against(mark) for mark in sure.split())) if sure else set[str]()
    excludes = {other for other, marks in SURE.items() if against & set(marks.split())}
    related = {other for other, marks in PREPOSITIONS.items() if meant & set(marks.split())} - {name}
    return RelationName(name, BOTH_WAYS.get(name, ""), frozenset(excludes), True, False, True, frozenset(related))


def _against(mark: str) -> set[str]:
    return OPPOSITES.get(mark, set()) | {other for other, marks in OPPOSITES.items() if mark in marks}


def _action(name: str) -> RelationName:
    marks = set(ACTIONS[name].split())
    related = {other for other, those in ACTIONS.items() if marks & set(those.split())} - {name}
    against = {mark for of_one in marks for mark in APART.get(of_one, "").split()}
    against |= {mark for mark, others in APART.items() if marks & set(others.split())}
    excludes = {other for other, those in ACTIONS.items() if against & set(those.split())} - related - {name}
    many = bool(marks & {"look", "touch", "joined", "around", "covered", "hang", "lean", "filled", "cover"})
    return RelationName(
        name,
        BOTH_WAYS.get(name, ""),
        frozenset(excludes),
        spatial=False,
        one_subject=name in ONE_SUBJECT,
        many=many,
        related=frozenset(related),
    )


def _compound(verb: str, preposition: str) -> RelationName:
    if not preposition:  # a verb of which nothing else is known
        return RelationName(verb, many=True)
    plain = _preposition(preposition)
    related = set(plain.related) | {preposition}
    excludes = set(plain.excludes)
    if preposition in ("on", "on top of") and verb not in POSTURES:
        excludes.clear()  # what hangs on the ceiling is under it
    if verb in POSTURES:
        for other in POSTURES:
            same = other == verb or frozenset({verb, other}) in POSTURES_ALIKE
            (related if same else excludes).add(f"{other} {preposition}")
    related.discard(f"{verb} {preposition}")
    return RelationName(
        f"{verb} {preposition}", "", frozenset(excludes), True, False, True, frozenset(related - excludes)
    )
