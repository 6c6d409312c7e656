"""Questions that compare: who is taller, what two things have in common, whether all people are of the same gender."""

from collections.abc import Iterator, Sequence

from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NAME, NO, YES
from hf_vqa_mc.engines.gqa.patterns import wordings
from hf_vqa_mc.engines.gqa.program import Part, Question, joined, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, selected
from hf_vqa_mc.engines.gqa.reference import Fact, Reference
from hf_vqa_mc.engines.gqa.spoken_of import BODY_PART, PEOPLE
from hf_vqa_mc.engines.gqa.wording import MATERIAL, several, spelled
from hf_vqa_mc.engines.rng import Chance

WHICH, IN_COMMON = wordings("compare")["any"], wordings("common")["any"]
TWO = {"same": wordings("same"), "different": wordings("different")}
ALL = {"same": wordings("same all"), "different": wordings("different all")}
BOTH_SAME = wordings("same all of two")
COMPARED = ("color", MATERIAL, "shape", "pattern")
"""Types of which two things are the same or different for anybody: not size or age."""
LARGER = 2.0
"""How many times as much of the image the larger of two things must take at least."""
COMMON = {"color": "color", MATERIAL: "material", "shape": "shape", "size": "size", "pattern": "pattern"}
"""Types that two things can have in common, with how their sameness is said."""


def pairs(asking: Asking, chance: Chance) -> list[tuple[str, str]]:
    """Pairs of objects, first those of one category, which people would rather compare."""
    keys = chance.shuffled(
        key for key in asking.objects if not asking.isa(key, BODY_PART) and asking.references.has_sides(key)
    )
    kindred: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for place, key in enumerate(keys):
        kinds = set(asking.kinds_asked(asking.name(key)))
        for other in keys[:place]:
            alike = kinds & set(asking.kinds_asked(asking.name(other)))
            (kindred if alike else others).append((key, other))
    return [*chance.shuffled(kindred)[:40], *chance.shuffled(others)[:10]]


def refer_to_both(
    asking: Asking, one: str, other: str, kinds: Sequence[str], chance: Chance
) -> tuple[Reference, Reference] | None:
    """Clear references to both, that tell neither of the types nor of each other."""
    if asking.ontology.nouns[asking.name(one)].kind == asking.ontology.nouns[asking.name(other)].kind:
        return None
    hidden: set[Fact] = {(key, kind) for key in (one, other) for kind in kinds}
    first = _refer(asking, one, {*hidden, (other,)}, chance)
    if first is None:
        return None
    mentioned = {fact for fact in first.facts if len(fact) == 1}
    second = _refer(asking, other, {*hidden, *mentioned}, chance)
    if second is None or first.the == second.the or first.said.text == second.said.text:
        return None
    return first, second


def _refer(asking: Asking, key: str, hidden: set[Fact], chance: Chance) -> Reference | None:
    """A short reference where there is one: two long ones in one question are hard to read."""
    short = asking.refer(key, chance, hidden, 0) if chance.happens(0.75) else None
    return short or asking.refer(key, chance, hidden, 1)


def compare(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Who is taller, the boy or the girl?"""
    for more, (kind, high, low) in chance.shuffled(COMPARATIVES.items()):
        for winner in asking.objects:
            if asking.thing(winner).values.get(kind) != (high,):
                continue
            for loser in asking.objects:
                if asking.thing(loser).values.get(kind) != (low,) or not _can_be_compared(asking, kind, winner, loser):
                    continue
                first, second = chance.shuffled((winner, loser))
                both = refer_to_both(asking, first, second, (kind,), chance)
                if both is None or any(reference.said.plural for reference in both):
                    continue
                people = asking.isa(winner, PEOPLE)
                yield from asking.question(
                    "compare",
                    "comparativeChoose",
                    joined(both[0].program, both[1].program, "compare", more),
                    asking.name(winner),
                    WHICH,
                    {"which": "Who" if people else "Which", "more": more, "one": both[0].the, "other": both[1].the},
                    [*asking.the(winner), (f"is {more} than", ""), *asking.the(loser)],
                    (asking.category(asking.name(winner)), f"09{more}-" + names(asking, winner, loser)),
                    chance,
                )


def _can_be_compared(asking: Asking, kind: str, more: str, less: str) -> bool:
    """Whether the one is more so for anybody who looks: values tell of a thing among those of its kind.

    A large cup may be smaller than a small table, so what is larger or taller must take more of the image too; of
    other types only things of one category are compared.
    """
    if asking.name(more) == asking.name(less) or BODY_PART in asking.ontology.nouns[asking.name(more)].parents:
        return False
    _, _, width, height = asking.thing(more).box
    _, _, less_width, less_height = asking.thing(less).box
    if kind == "size":
        return width * height >= LARGER * less_width * less_height and all(
            map(asking.references.has_sides, (more, less))
        )
    kinds = set(asking.kinds_asked(asking.name(more))) & set(asking.kinds_asked(asking.name(less)))
    return bool(kinds) and (kind != "height" or height > less_height)


def names(asking: Asking, one: str, other: str) -> str:
    """Two names as local groups have them."""
    return "_".join(sorted((asking.name(one), asking.name(other))))


def common(asking: Asking, chance: Chance) -> Iterator[Question]:
    """What is common to the shirt and the flower?"""
    for one, other in pairs(asking, chance):
        both = refer_to_both(asking, one, other, tuple(COMMON), chance)
        if both is None:
            continue
        program = joined(both[0].program, both[1].program, "common")
        kind = asking.executor.run(program).answer
        if kind not in COMMON or not all(asking.can_have(key, kind) for key in (one, other)):
            continue
        value = spelled(asking.thing(one).values[kind][0])
        yield from asking.question(
            "common",
            "twoCommon",
            program,
            kind,
            IN_COMMON,
            {"one": both[0].the, "other": both[1].the},
            [("Both", ""), *asking.the(one), ("and", ""), *asking.the(other), (f"have the same {kind}, {value}", "")],
            ("common", "09common-" + names(asking, one, other)),
            chance,
        )


def same(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Do the shirt and the flower have the same color?"""
    yield from _two(asking, "same", chance)


def different(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Are the table and the chair made of different materials?"""
    yield from _two(asking, "different", chance)


def _two(asking: Asking, row: str, chance: Chance) -> Iterator[Question]:
    for one, other in pairs(asking, chance):
        kinds = [
            kind
            for kind in COMPARED
            if all(
                len(asking.thing(key).values.get(kind, ())) == 1 and asking.can_have(key, kind) for key in (one, other)
            )
        ]
        if not kinds:
            continue
        kind = chance.pick(kinds)
        both = refer_to_both(asking, one, other, (kind,), chance)
        if both is None:
            continue
        values = [asking.thing(key).values[kind][0] for key in (one, other)]
        is_same = values[0] == values[1]
        right = is_same == (row == "same")
        detailed = ("twoSame" if row == "same" else "twoDifferent") + ("Material" if kind == MATERIAL else "")
        yield from asking.question(
            row,
            detailed + ("" if right else "C"),
            joined(both[0].program, both[1].program, row, kind),
            YES if right else NO,
            TWO[row][kind],
            {"one": both[0].the, "other": both[1].the, "is": both[0].said.be, "do": both[0].said.do},
            [("Yes ," if right else "No ,", ""), *_both_values(asking, one, other, kind)],
            ("", f"09{'same' if row == 'same' else 'diff'}-{names(asking, one, other)}"),
            chance,
        )


def _both_values(asking: Asking, one: str, other: str, kind: str) -> list[Part]:
    values = [asking.predicate(kind, asking.thing(key).values[kind][0]) for key in (one, other)]
    if values[0] == values[1]:
        return [("both", ""), *asking.the(one), ("and", ""), *asking.the(other), (f"are {values[0]}", "")]
    first = [*asking.the(one), (f"{asking.said(one).be} {values[0]} and", "")]
    return [*first, *asking.the(other), (f"{asking.said(other).be} {values[1]}", "")]


def all_same(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Are all the people there the same gender?"""
    yield from _all(asking, "same", chance)


def all_different(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Are the animals in the image of different types?"""
    yield from _all(asking, "different", chance)


def _all(asking: Asking, operation: str, chance: Chance) -> Iterator[Question]:
    kinds = {name for key in asking.objects for name in (asking.ontology.nouns[asking.name(key)].kind,)}
    groups = {(name, kind) for name in kinds for kind in ("color", MATERIAL)}
    groups |= {(PEOPLE, "gender")}
    groups |= {(category, NAME) for key in asking.objects for category in asking.kinds_asked(asking.name(key))}
    for name, kind in chance.shuffled(sorted(groups)):
        if name not in asking.ontology.nouns or (name == PEOPLE) != (kind == "gender"):
            continue
        if kind in COMPARED and not asking.references.name_can_have(name, kind):
            continue
        found = asking.executor.find(selected(name))
        said = several(asking.ontology, name)
        if found is None or len(found.certain) < 2 or not said.plural:
            continue
        answer = asking.executor.run(then(selected(name), "same", kind)).answer
        if answer is None:
            continue
        right = answer == (YES if operation == "same" else NO)
        two = operation == "same" and len(found.certain) == 2 and not any(map(asking.is_plural, found.certain))
        detailed = ("same" if operation == "same" else "diff") + (
            said.text.title().replace(" ", "") if kind == NAME else kind.title()
        )
        yield from asking.question(
            f"{operation} all",
            detailed + ("" if right else "C"),
            then(selected(name), operation, kind),
            YES if right else NO,
            (BOTH_SAME if two else ALL[operation])[kind],
            {"all": f"the {said.text}", "plain": said.text},
            [("Yes ," if right else "No ,", ""), *_all_values(asking, found.certain, kind, said.text)],
            ("", f"07{'same' if operation == 'same' else 'diff'}-all{said.text}"),
            chance,
        )


def _all_values(asking: Asking, keys: Sequence[str], kind: str, text: str) -> list[Part]:
    """All the people are female; there are both birds and bears."""
    two = len(keys) == 2 and not any(map(asking.is_plural, keys))
    everything = f"both {text}" if two else f"all the {text}"
    if kind == NAME:
        pair = _apart(asking, keys)
        if pair is None:
            return [(f"{everything} are {several(asking.ontology, asking.name(keys[0])).text}", "")]
        if two:
            return [("one is", ""), *asking.a(pair[0]), ("and the other is", ""), *asking.a(pair[1])]
        texts = [several(asking.ontology, asking.name(key)).text for key in pair]
        return [(f"some are {texts[0]} and some are {texts[1]}", "")]
    values = list(dict.fromkeys(asking.predicate(kind, asking.thing(key).values[kind][0]) for key in keys))
    if len(values) == 1:
        return [(f"{everything} are {values[0]}", "")]
    if two:
        return [(f"one is {values[0]} and the other is {values[1]}", "")]
    return [(f"some of the {text} are {values[0]} and some are {values[1]}", "")]


def _apart(asking: Asking, keys: Sequence[str]) -> tuple[str, str] | None:
    """Two objects of kinds that nobody would mix up."""
    for place, one in enumerate(keys):
        for other in keys[:place]:
            names = asking.name(one), asking.name(other)
            if not asking.ontology.may_be(*names) and not asking.ontology.may_be(*names[::-1]):
                return other, one
    return None
