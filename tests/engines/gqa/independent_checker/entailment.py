"""Whether the answer to one question gives that to another, reasoned from what both say about the same ids."""

from collections.abc import Mapping
from typing import Any

from tests.engines.gqa.independent_checker.meaning import Fact, Meaning
from tests.engines.gqa.independent_checker.program import Unreadable
from tests.engines.gqa.independent_checker.raw_graph import OPPOSITE
from tests.engines.gqa.independent_checker.relations import apart, inverse, same_relation
from tests.engines.gqa.independent_checker.vocabulary import NO, PERSONS, SURE, Vocabulary

Found = Mapping[int, str]
"""steps of a program to the one object they find"""


def contradiction(
    record: Mapping[str, Any], other: Mapping[str, Any], words: Vocabulary, found: tuple[Found, Found] = ({}, {})
) -> str:
    """How the answers of two questions about the same image contradict each other, "" if they do not."""
    try:
        one, two = Meaning(record, found[0]), Meaning(other, found[1])
    except Unreadable:
        return ""
    for fact in one.told | one.granted:
        for its in two.told:
            if _against(fact, its, words):
                return f"{fact} and {its}"
    return ""


def _against(one: Fact, other: Fact, words: Vocabulary) -> bool:
    kinds = {one[0], other[0]}
    if kinds == {"has", "hasnot"} and one[1] == other[1]:
        return words.same_value(one[2], other[2])
    if one[0] == other[0] == "has" and one[1] == other[1]:
        return words.excludes(one[2], other[2])
    if one[0] == other[0] == "rel" and one[1] == other[3] and one[3] == other[1]:
        return one[2] in OPPOSITE and one[2] == other[2]
    if one[0] == other[0] == "rel" and (one[1], one[3]) == (other[1], other[3]):
        return OPPOSITE.get(one[2]) == other[2]
    if kinds == {"same", "different"}:
        return one[1:] == other[1:]
    if kinds == {"scene", "scenenot"}:
        return one[1:] == other[1:]
    return kinds == {"is", "none"} and _none_of(one, other, words)


def _none_of(one: Fact, other: Fact, words: Vocabulary) -> bool:
    known, none = (one, other) if one[0] == "is" else (other, one)
    name, relation, *_ = none[1].split("/")
    return len(none) == 2 and not relation and words.fits(known[2], name) == SURE


def entails(
    record: Mapping[str, Any], other: Mapping[str, Any], words: Vocabulary, found: tuple[Found, Found] = ({}, {})
) -> bool | None:
    """Whether who knows the answer to one question knows that to the other; None where this reasoning cannot tell."""
    try:
        one, two = Meaning(record, found[0]), Meaning(other, found[1])
    except Unreadable:
        return None
    known = _closure(one.told | one.granted | two.granted)
    if _other_option(known, two, words):
        return True
    if two.unclear:
        if one.told == two.told:
            return True
        verdict = _joined(known, two, words)
        return None if any(fact[0] == "joined" for fact in one.told) and not verdict else verdict
    return all(_follows(fact, known, words) for fact in two.told)


def _other_option(known: set[Fact], two: Meaning, words: Vocabulary) -> bool:
    """Of two that are offered it is the one if it is not the other."""
    last = two.program[-1]
    if last.operation == "choose" and two.program[last.inputs[0]].name == "scene":
        return any(("scenenot", last.type, value) in known for value in last.values if value != two.answer)
    key = two.ids.get(last.inputs[0]) if last.operation in ("choose", "choose rel") else None
    if key is None:
        return False
    if last.operation == "choose rel":
        chosen = {fact[2] for fact in two.told if fact[0] == "rel"}
        pair = (last.ids[0], key) if last.side == "s" else (key, last.ids[0])
        return any(_ruled_out((pair[0], one, pair[1]), known, words) for one in last.values if one not in chosen)
    others = [value for value in last.values if value != two.answer]
    if last.type == "name":
        return any(_none(("none", f"{value}///"), known, words) for value in others)
    return any(_hasnot(("hasnot", key, value), known, words) for value in others)


def _closure(facts: set[Fact]) -> set[Fact]:
    back = {("rel", fact[3], inverse(fact[2]), fact[1]) for fact in facts if fact[0] == "rel" and inverse(fact[2])}
    return facts | back


def _joined(known: set[Fact], two: Meaning, words: Vocabulary) -> bool | None:
    """A "no" to both, a "yes" to either: one part is enough."""
    last = two.program[-1]
    if last.operation not in ("and", "or") or two.answer not in ("yes", "no"):
        return None
    if (last.operation == "and") == (two.answer == "yes"):
        return None
    for place in last.inputs:
        part = Meaning.__new__(Meaning)
        part.record, part.program, part.answer, part.ids = two.record, two.program, two.answer, two.ids
        part.granted, part.told, part.unclear = set(), set(), False
        part._last(place, two.answer)
        told = [fact for fact in part.told if fact[0] != "only"]
        if not part.unclear and all(_follows(fact, known, words) for fact in told):
            return True
    return False


def _follows(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    if fact in known:
        return True
    rule = {
        "is": _is,
        "has": _has,
        "hasnot": _hasnot,
        "rel": _rel,
        "norel": _norel,
        "none": _none,
        "some": _some,
        "scene": _scene_is,
        "scenenot": _scenenot,
        "same": _alike,
        "different": _unlike,
        "more": _more,
    }.get(fact[0])
    return rule(fact, known, words) if rule else False


def _is(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    if fact[2] in PERSONS:
        return any(one[:2] == fact[:2] for one in known)
    return any(one[0] == "is" and one[1] == fact[1] and words.fits(one[2], fact[2]) == SURE for one in known)


def _has(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    return any(
        (one[0] == "has" and one[1] == fact[1] and words.includes(one[2], fact[2]))
        or (one[0] == "none" and _none_is_this(one, ("", fact[1], f"not {fact[2]}"), known, words))
        for one in known
    )


def _hasnot(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    return any(
        (one[0] == "has" and one[1] == fact[1] and words.excludes(one[2], fact[2]))
        or (one[0] == "hasnot" and one[1] == fact[1] and words.same_value(one[2], fact[2]))
        or (one[0] == "none" and _none_is_this(one, fact, known, words))
        for one in known
    )


def _none_is_this(none: Fact, fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    """There is no orange grass: so the grass is not orange."""
    if len(none) != 3 or not words.same_value(none[2].removeprefix("not "), fact[2].removeprefix("not ")):
        return False
    if none[2].startswith("not ") != fact[2].startswith("not "):
        return False
    name, relation, side, other = none[1].split("/")
    if not _is(("is", fact[1], name), known, words):
        return False
    pair = (fact[1], other) if side == "s" else (other, fact[1])
    return not relation or _rel(("rel", pair[0], relation, pair[1]), known, words)


def _rel(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    _, subject, relation, target = fact
    for one in known:  # not to the left of it is, where these two are the choice, to the right
        if one[0] == "norel" and OPPOSITE.get(relation) == one[2]:
            pair = (subject, target) if one[3] == "o" else (target, subject)
            if pair[0] == one[4] and pair[1] in one[5:]:
                return True
    return any(
        one[0] == "rel" and (one[1], one[3]) == (fact[1], fact[3]) and same_relation(one[2], fact[2]) for one in known
    )


def _norel(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    _, name, relation, side, key, *ids = fact
    for one in known:
        if one[0] == "norel" and same_relation(one[2], relation) and one[3:5] == (side, key):
            if words.fits(name, one[1]) == SURE:
                return True
        if one[0] == "none" and len(one) == 2 and _none_at(one, name, (relation, side, key), words):
            return True
    if _none(("none", f"{name}///"), known, words):
        return True
    only = [one[2] for one in known if one[0] == "only" and words.fits(name, one[1]) == SURE]
    pairs = [(other, key) if side == "s" else (key, other) for other in {*ids, *only}]
    return any(_ruled_out((one, relation, two), known, words) for one, two in pairs)


def _ruled_out(pair: tuple[str, str, str], known: set[Fact], words: Vocabulary) -> bool:
    """Whether it is known that one is not in that relation to the other."""
    subject, relation, target = pair
    for one in known:
        if one[0] == "rel" and (one[1], one[3]) == (subject, target) and apart(one[2], relation):
            return True
        if one[0] == "rel" and (one[3], one[1]) == (subject, target) and apart(one[2], inverse(relation) or "?"):
            return True
        if one[0] == "norel" or (one[0] == "none" and len(one) == 2):
            name, told, side, key = one[1:5] if one[0] == "norel" else one[1].split("/")
            told, side = (inverse(told), "s") if side == "o" and inverse(told) else (told, side)
            for way, ends in ((relation, (subject, target)), (inverse(relation), (target, subject))):
                at, other = ends[::-1] if side == "s" else ends
                if way and told and at == key and same_relation(way, told) and _is(("", other, name), known, words):
                    return True
    return False


def _none_at(none: Fact, name: str, where: tuple[str, str, str], words: Vocabulary) -> bool:
    """Whether there is none at all, or none there."""
    wide, relation, side, key = none[1].split("/")
    return words.fits(name, wide) == SURE and (
        not relation or (same_relation(relation, where[0]) and (side, key) == where[1:])
    )


def _none(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    name, relation, side, key = fact[1].split("/")
    for one in known:
        if one[0] == "none" and set(one[2:]) <= set(fact[2:]) and _none_at(one, name, (relation, side, key), words):
            return True
        if one[0] == "only" and words.fits(name, one[1]) == SURE:
            pair = (one[2], key) if side == "s" else (key, one[2])
            if relation and _ruled_out((pair[0], relation, pair[1]), known, words):
                return True
            if not relation and any(it[:2] == ("is", one[2]) and _not_of(it[2], name, words) for it in known):
                return True
    if (relation or len(fact) > 2) and _none(("none", f"{name}///"), known, words):
        return True
    if relation and _norel(("norel", name, relation, side, key), known, words):
        return True
    named = [one for one in known if one[0] == "is" and words.fits(one[2], name) == SURE]
    if relation and any(
        _ruled_out((one[1], relation, key) if side == "s" else (key, relation, one[1]), known, words) for one in named
    ):
        return True
    return len(fact) == 3 and _only_one_is_other(fact, known, words)


def _not_of(name: str, other: str, words: Vocabulary) -> bool:
    """Whether what has the one name does not have the other: a cake is no bread."""
    return words.fits(name, other) == NO and words.fits(other, name) == NO


def _only_one_is_other(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    """Spoken of as "the apple" it is the only one: if it is not red, there is no red apple."""
    name, relation, side, other = fact[1].split("/")
    negated, value = fact[2].startswith("not "), fact[2].removeprefix("not ")
    test = _has if negated else _hasnot
    for one in known:
        if one[0] == "only" and words.fits(name, one[1]) == SURE and test(("", one[2], value), known, words):
            return True
        if one[0] == "is" and words.fits(one[2], name) == SURE:
            pair = (one[1], other) if side == "s" else (other, one[1])
            there = not relation or _rel(("rel", pair[0], relation, pair[1]), known, words)
            if there and test(("", one[1], value), known, words):
                return True
    return False


def _some(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    name, relation, side, key = fact[1].split("/")
    for one in known:
        if one[0] == "some" and _narrower(one, fact, words):
            return True
        if one[0] == "is" and words.fits(one[2], name) == SURE:
            pair = (one[1], key) if side == "s" else (key, one[1])
            placed = not relation or _rel(("rel", pair[0], relation, pair[1]), known, words)
            if placed and all(_is_so(one[1], value, known, words) for value in fact[2:]):
                return True
    return False


def _is_so(key: str, value: str, known: set[Fact], words: Vocabulary) -> bool:
    test = _hasnot if value.startswith("not ") else _has
    return test(("", key, value.removeprefix("not ")), known, words)


def _narrower(one: Fact, fact: Fact, words: Vocabulary) -> bool:
    """Whether some of one are some of the other: white apples are apples, apples on the table are apples."""
    (its, *there), (asked, *where) = one[1].split("/"), fact[1].split("/")
    if words.fits(its, asked) != SURE or not set(fact[2:]) <= set(one[2:]):
        return False
    return not where[0] or (same_relation(there[0], where[0]) and there[1:] == where[1:])


def _scene_is(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    places = {"place", "room"}
    other = {"indoors": "outdoors", "outdoors": "indoors"}.get(fact[2])
    return ("scenenot", fact[1], other) in known or any(
        one[0] == "scene" and (one[1] == fact[1] or {one[1], fact[1]} <= places) and words.alike(one[2], fact[2])
        for one in known
    )


def _scenenot(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    return any(one[0] == "scene" and one[1] == fact[1] and not words.same_value(one[2], fact[2]) for one in known)


def _pair_values(fact: Fact, known: set[Fact], words: Vocabulary) -> list[list[str]]:
    return [
        [one[2] for one in known if one[0] == "has" and one[1] == key and fact[1] in words.types(one[2])]
        for key in fact[2:]
    ]


def _alike(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    values = _pair_values(fact, known, words)
    return bool(values) and all(values) and all(words.same_value(values[0][0], own[0]) for own in values)


def _unlike(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    values = _pair_values(fact, known, words)
    return bool(values) and all(values) and any(not words.alike(values[0][0], own[0]) for own in values[1:])


def _more(fact: Fact, known: set[Fact], words: Vocabulary) -> bool:
    return any(one[0] == "more" and one[3:] == fact[3:] for one in known)
