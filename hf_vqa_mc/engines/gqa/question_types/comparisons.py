"""Questions that compare: who is taller, what do two things have in common, are all people of the same gender."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product

from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NAME, YES
from hf_vqa_mc.engines.gqa.program import Part, joined, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Draft, selected, slots_of, yes_no
from hf_vqa_mc.engines.gqa.references import Fact, Reference
from hf_vqa_mc.engines.gqa.wording import BODY_PART, MATERIAL, PEOPLE, Phrase, several, spelled, wordings
from hf_vqa_mc.engines.rng import SeededRng

WHICH, IN_COMMON = wordings("compare")["any"], wordings("common")["any"]
TWO = {"same": wordings("same"), "different": wordings("different")}
ALL = {"same": wordings("same all"), "different": wordings("different all")}
BOTH_SAME = wordings("same all of two")
SHORT_NAME = {"same": "same", "different": "diff"}  # As in GQA's types and groups.
COMPARED = ("color", MATERIAL, "shape", "pattern")  # Types on which people agree; not size or age.
LARGER = 2.0  # The larger of two things must cover at least this many times the area of the smaller.
COMMON = ("color", MATERIAL, "shape", "size", "pattern")  # Types that two things can have in common.


def _pairs(asking: Asking, rng: SeededRng) -> list[tuple[str, str]]:
    keys = rng.shuffled(
        key
        for key in asking.objects
        if not asking.is_any(asking.name(key), BODY_PART) and asking.references.has_sides(asking.name(key))
    )
    kindred: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for index, key in enumerate(keys):
        for other in keys[:index]:
            (kindred if _kinds_of_both(asking, key, other) else others).append((key, other))
    return [*rng.shuffled(kindred)[:40], *rng.shuffled(others)[:10]]


def _kinds_of_both(asking: Asking, one: str, other: str) -> set[str]:
    return set(asking.kinds_asked(asking.name(one))).intersection(asking.kinds_asked(asking.name(other)))


def _refer_to_both(
    asking: Asking, one: str, other: str, kinds: Sequence[str], rng: SeededRng
) -> tuple[Reference, Reference] | None:
    """Unambiguous references to both that mention neither the types nor each other."""
    if asking.kind(one) == asking.kind(other):
        return None
    hidden: set[Fact] = {(key, kind) for key in (one, other) for kind in kinds}
    first = _refer(asking, one, {*hidden, (other,)}, rng)
    if first is None:
        return None
    mentioned = {fact for fact in first.facts if len(fact) == 1}
    second = _refer(asking, other, {*hidden, *mentioned}, rng)
    if second is None or first.the == second.the or first.said.text == second.said.text:
        return None
    return first, second


def _refer(asking: Asking, key: str, hidden: set[Fact], rng: SeededRng) -> Reference | None:
    """A short reference if there is one: two long ones in one question are hard to read."""
    short = asking.references.pick(key, rng, hidden, 0) if rng.happens(0.75) else None
    return short or asking.references.pick(key, rng, hidden, 1)


def compare(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Who is taller, the boy or the girl?"""
    for more, (kind, high, low) in rng.shuffled(COMPARATIVES.items()):
        winners, losers = (
            [key for key in asking.objects if asking.thing(key).values.get(kind) == (value,)] for value in (high, low)
        )
        for winner, loser in product(winners, losers):
            if not _can_be_compared(asking, kind, winner, loser):
                continue
            first, second = rng.shuffled((winner, loser))
            both = _refer_to_both(asking, first, second, (kind,), rng)
            if both is None or any(reference.said.plural for reference in both):
                continue
            name = asking.name(winner)
            which = "Who" if asking.is_any(name, PEOPLE) else "Which"
            program = joined(both[0].program, both[1].program, "compare", more)
            slots: dict[str, str | Phrase] = {"which": which, "more": more, "one": both[0].the, "other": both[1].the}
            full = [*asking.the(winner), (f"is {more} than", ""), *asking.the(loser)]
            local, category = f"09{more}-{_names(asking, winner, loser)}", asking.category(name)
            yield Draft("comparativeChoose", program, name, WHICH, slots, full, local, category)


def _can_be_compared(asking: Asking, kind: str, more: str, less: str) -> bool:
    """Whether the comparison is clear in the image; values are relative to a kind.

    A large cup may be smaller than a small table, so what is larger or taller must also take more of the image. For
    other types only things of one category are compared.
    """
    if asking.name(more) == asking.name(less) or BODY_PART in asking.noun(more).parents:
        return False
    _, _, width, height = asking.thing(more).box
    _, _, less_width, less_height = asking.thing(less).box
    if kind == "size":
        return width * height >= LARGER * less_width * less_height and asking.references.has_sides(
            asking.name(more), asking.name(less)
        )
    return bool(_kinds_of_both(asking, more, less)) and (kind != "height" or height > less_height)


def _names(asking: Asking, one: str, other: str) -> str:
    return "_".join(sorted((asking.name(one), asking.name(other))))


def common(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """What is common to the shirt and the flower?"""
    for one, other in _pairs(asking, rng):
        both = _refer_to_both(asking, one, other, COMMON, rng)
        if both is None:
            continue
        program = joined(both[0].program, both[1].program, "common")
        kind = asking.executor.run(program).answer
        if kind not in COMMON or not all(asking.references.can_have(asking.name(key), kind) for key in (one, other)):
            continue
        end = (f"have the same {kind}, {spelled(asking.thing(one).values[kind][0])}", "")
        full = [("Both", ""), *asking.the(one), ("and", ""), *asking.the(other), end]
        slots, local = {"one": both[0].the, "other": both[1].the}, f"09common-{_names(asking, one, other)}"
        yield Draft("twoCommon", program, kind, IN_COMMON, slots, full, local, "common")


def _two(operation: str, asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Do the shirt and the flower have the same color? Are the table and the chair made of different materials?"""
    for one, other in _pairs(asking, rng):
        kinds = [
            kind
            for kind in COMPARED
            if all(
                len(asking.thing(key).values.get(kind, ())) == 1 and asking.references.can_have(asking.name(key), kind)
                for key in (one, other)
            )
        ]
        if not kinds:
            continue
        kind = rng.pick(kinds)
        both = _refer_to_both(asking, one, other, (kind,), rng)
        if both is None:
            continue
        is_same = asking.thing(one).values[kind] == asking.thing(other).values[kind]
        detailed = f"two{operation.title()}{'Material' if kind == MATERIAL else ''}"
        program = joined(both[0].program, both[1].program, operation, kind)
        slots = slots_of(both[0]) | {"one": both[0].the, "other": both[1].the}
        full, local = _both_values(asking, one, other, kind), f"09{SHORT_NAME[operation]}-{_names(asking, one, other)}"
        right = is_same == (operation == "same")
        yield yes_no(detailed, program, right, TWO[operation][kind], slots, full, local)


same, different = partial(_two, "same"), partial(_two, "different")


def _both_values(asking: Asking, one: str, other: str, kind: str) -> list[Part]:
    value, other_value = (asking.predicate(kind, asking.thing(key).values[kind][0]) for key in (one, other))
    if value == other_value:
        return [("both", ""), *asking.the(one), ("and", ""), *asking.the(other), (f"are {value}", "")]
    first = [*asking.the(one), (f"{asking.said(one).be} {value} and", "")]
    return [*first, *asking.the(other), (f"{asking.said(other).be} {other_value}", "")]


def _all(operation: str, asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Are all the people there the same gender? Are the animals in the image of different types?"""
    groups = {(asking.kind(key), kind) for key in asking.objects for kind in ("color", MATERIAL)}
    groups |= {(PEOPLE, "gender")}
    groups |= {(category, NAME) for key in asking.objects for category in asking.kinds_asked(asking.name(key))}
    for name, kind in rng.shuffled(sorted(groups)):
        if name not in asking.ontology.nouns or (name == PEOPLE) != (kind == "gender"):
            continue
        if kind in COMPARED and not asking.references.can_have(name, kind):
            continue
        found = asking.executor.find(selected(name))
        said = several(asking.ontology, name)
        if found is None or len(found.certain) < 2 or not said.plural:
            continue
        answer = asking.executor.run(then(selected(name), "same", kind)).answer
        if answer is None:
            continue
        two = len(found.certain) == 2 and not any(asking.said(key).plural for key in found.certain)
        compared = said.text.title().replace(" ", "") if kind == NAME else kind.title()
        program, right = then(selected(name), operation, kind), (answer == YES) == (operation == "same")
        patterns = (BOTH_SAME if two and operation == "same" else ALL[operation])[kind]
        slots = {"all": f"the {said.text}", "plain": said.text}
        full = _all_values(asking, found.certain, kind, said.text, two)
        short = SHORT_NAME[operation]
        yield yes_no(f"{short}{compared}", program, right, patterns, slots, full, f"07{short}-all{said.text}")


all_same, all_different = partial(_all, "same"), partial(_all, "different")


def _all_values(asking: Asking, keys: Sequence[str], kind: str, text: str, two: bool) -> list[Part]:
    everything = f"both {text}" if two else f"all the {text}"
    if kind == NAME:
        apart = (pair for pair in combinations(keys, 2) if not asking.ontology.mixed_up(*map(asking.name, pair)))
        pair = min(apart, key=lambda pair: keys.index(pair[1]), default=None)  # that with the earliest second
        if pair is None:
            return [(f"{everything} are {several(asking.ontology, asking.name(keys[0])).text}", "")]
        if two:
            return [("one is", ""), *asking.a(pair[0]), ("and the other is", ""), *asking.a(pair[1])]
        one, other = (several(asking.ontology, asking.name(key)).text for key in pair)
        return [(f"some are {one} and some are {other}", "")]
    values = list(dict.fromkeys(asking.predicate(kind, asking.thing(key).values[kind][0]) for key in keys))
    if len(values) == 1:
        return [(f"{everything} are {values[0]}", "")]
    if two:
        return [(f"one is {values[0]} and the other is {values[1]}", "")]
    return [(f"some of the {text} are {values[0]} and some are {values[1]}", "")]
