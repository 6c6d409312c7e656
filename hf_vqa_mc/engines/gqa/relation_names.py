"""The meaning of relations: inverses, which ones are similar, which ones exclude each other.

From our own table; verbs with a preposition that it has only in parts (sunbathing on) are derived by rule.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from hf_vqa_mc.engines.gqa.ontology import RelationName
from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Relations:
    """The schema of ``relations.yaml``, which describes its keys."""

    prepositions: dict[str, frozenset[str]]
    sure: dict[str, frozenset[str]]
    opposites: dict[str, frozenset[str]]
    actions: dict[str, frozenset[str]]
    apart: dict[str, frozenset[str]]
    many: frozenset[str]
    one_subject: frozenset[str]
    inverses: dict[str, str]
    postures: tuple[str, ...]
    posture_prepositions: tuple[str, ...]
    postures_alike: frozenset[tuple[str, ...]]
    participles: frozenset[str]
    no_participles: frozenset[str]
    says_nothing: frozenset[str]
    spellings: dict[str, str]
    verbs: frozenset[str]
    doubled: frozenset[str]


RELATIONS = vocabulary("gqa/relations", Relations)
_INVERSES = {**RELATIONS.inverses, **{back: name for name, back in RELATIONS.inverses.items() if back}}


class RelationTable(Mapping[str, RelationName]):
    """All relations: those of the tables, which iteration yields, and participles with prepositions, by rule."""

    def __init__(self) -> None:
        self._known = {
            name: _preposition(name) for name in RELATIONS.prepositions if name not in RELATIONS.says_nothing
        }
        self._known |= {name: _action(name) for name in RELATIONS.actions}
        for posture, preposition in product(RELATIONS.postures, RELATIONS.posture_prepositions):
            self._known[f"{posture} {preposition}"] = _compound(posture, preposition)
        self._by_rule: dict[str, RelationName] = {}

    def __getitem__(self, name: str) -> RelationName:
        """The relation of this name; KeyError if it is in no table and no rule derives it."""
        found = self._known.get(name) or self._by_rule.get(name)
        if found is None:
            if (parts := _parts(name)) is None:
                raise KeyError(name)
            found = self._by_rule[name] = _compound(*parts)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _parts(name: str) -> tuple[str, str] | None:
    verb, _, rest = name.partition(" ")
    regular = verb.isalpha() and verb.endswith("ing") and len(verb) > 4 and verb not in RELATIONS.no_participles
    if not regular and verb not in RELATIONS.participles:
        return None
    if not rest:
        return (verb, "") if verb not in RELATIONS.participles and verb not in RELATIONS.postures else None
    return (verb, rest) if rest in RELATIONS.prepositions and rest not in ("for", "of") else None


def _preposition(name: str) -> RelationName:
    meant = RELATIONS.prepositions[name]
    sure = RELATIONS.sure.get(name, frozenset())
    against = {other for one, others in RELATIONS.opposites.items() if one in sure for other in others}
    against |= {one for one, others in RELATIONS.opposites.items() if sure & others}
    excludes = {other for other, meanings in RELATIONS.sure.items() if against & meanings}
    related = {other for other, meanings in RELATIONS.prepositions.items() if meant & meanings} - {name}
    return RelationName(name, _INVERSES.get(name, ""), frozenset(excludes), many=True, related=frozenset(related))


def _action(name: str) -> RelationName:
    meant = RELATIONS.actions[name]
    related = {other for other, meanings in RELATIONS.actions.items() if meant & meanings} - {name}
    against = {one for meaning in meant for one in RELATIONS.apart.get(meaning, ())}
    against |= {one for one, others in RELATIONS.apart.items() if meant & others}
    excludes = {other for other, meanings in RELATIONS.actions.items() if against & meanings} - related - {name}
    return RelationName(
        name,
        _INVERSES.get(name, ""),
        frozenset(excludes),
        one_subject=name in RELATIONS.one_subject,
        many=bool(meant & RELATIONS.many),
        related=frozenset(related),
    )


def _compound(verb: str, preposition: str) -> RelationName:
    if not preposition:  # nothing else is known of the verb
        return RelationName(verb, many=True)
    plain = _preposition(preposition)
    name, related, excludes = f"{verb} {preposition}", {*plain.related, preposition}, set(plain.excludes)
    if verb in RELATIONS.postures:
        for other in RELATIONS.postures:
            same = other == verb or tuple(sorted((verb, other))) in RELATIONS.postures_alike
            (related if same else excludes).add(f"{other} {preposition}")
    elif preposition in ("on", "on top of"):
        excludes.clear()  # a lamp hanging on the ceiling is under it
    return RelationName(name, excludes=frozenset(excludes), many=True, related=frozenset(related - excludes - {name}))
