"""Questions that compare: who is taller, what do two things have in common, are all people of the same gender."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NAME, YES, Part, joined, then
from hf_vqa_mc.engines.gqa.ontology import BODY_PART, PEOPLE
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext, selected, slots_of
from hf_vqa_mc.engines.gqa.references import MATERIAL, Fact, Phrase, Reference, spelled, wordings

WHICH, IN_COMMON = wordings("compare")["any"], wordings("common")["any"]
TWO = {"same": wordings("same"), "different": wordings("different")}
ALL = {"same": wordings("same all"), "different": wordings("different all")}
BOTH_SAME = wordings("same all of two")
SHORT_NAME = {"same": "same", "different": "diff"}  # As in GQA's types and groups.
COMPARED = ("color", MATERIAL, "shape", "pattern")  # Types on which people agree; not size or age.
LARGER = 2.0  # The larger of two things must cover at least this many times the area of the smaller.
COMMON = ("color", MATERIAL, "shape", "size", "pattern")  # Types that two things can have in common.


def _pairs(image: ImageContext, rng: SeededRng) -> list[tuple[str, str]]:
    keys = [key for key in image.objects if not image.is_any(image.names[key], BODY_PART)]
    keys = rng.shuffled(key for key in keys if image.has_sides(image.names[key]))
    pairs = [(key, other) for index, key in enumerate(keys) for other in keys[:index]]
    kindred = [pair for pair in pairs if _kinds_of_both(image, *pair)]
    others = [pair for pair in pairs if not _kinds_of_both(image, *pair)]
    return [*rng.shuffled(kindred)[:40], *rng.shuffled(others)[:10]]


def _kinds_of_both(image: ImageContext, one: str, other: str) -> set[str]:
    return set(image.kinds_asked(image.names[one])).intersection(image.kinds_asked(image.names[other]))


def _refer_to_both(
    image: ImageContext, one: str, other: str, kinds: Sequence[str], rng: SeededRng
) -> tuple[Reference, Reference] | None:
    """Unambiguous references to both that mention neither the types nor each other."""
    if image.kinds[one] == image.kinds[other]:
        return None
    hidden: set[Fact] = {(key, kind) for key in (one, other) for kind in kinds}
    if (first := _refer(image, one, {*hidden, (other,)}, rng)) is None:
        return None
    second = _refer(image, other, {*hidden, *(fact for fact in first.facts if len(fact) == 1)}, rng)
    is_other = second is not None and first.the != second.the and first.head.text != second.head.text
    return (first, second) if second is not None and is_other else None


def _refer(image: ImageContext, key: str, hidden: set[Fact], rng: SeededRng) -> Reference | None:
    """A short reference if there is one: two long ones in one question are hard to read."""
    short = image.pick(key, rng, hidden, 0) if rng.happens(0.75) else None
    return short or image.pick(key, rng, hidden, 1)


def compare(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Who is taller, the boy or the girl?"."""
    for more, (kind, high, low) in rng.shuffled(COMPARATIVES.items()):
        values = {key: image.things[key].values.get(kind) for key in image.objects}
        winners, losers = ([key for key, of in values.items() if of == (value,)] for value in (high, low))
        for winner, loser in product(winners, losers):
            if not _can_be_compared(image, kind, winner, loser):
                continue
            first, second = rng.shuffled((winner, loser))
            both = _refer_to_both(image, first, second, (kind,), rng)
            if both is None or any(reference.head.plural for reference in both):
                continue
            name = image.names[winner]
            which = "Who" if image.is_any(name, PEOPLE) else "Which"
            program = joined(both[0].program, both[1].program, "compare", more)
            slots: dict[str, str | Phrase] = {"which": which, "more": more, "one": both[0].the, "other": both[1].the}
            full = [*image.the(winner), (f"is {more} than", ""), *image.the(loser)]
            local, category = f"09{more}-{_names(image, winner, loser)}", image.category(name)
            yield Draft("comparativeChoose", program, name, WHICH, slots, full, local, category)


def _can_be_compared(image: ImageContext, kind: str, more: str, less: str) -> bool:
    """Whether the comparison is clear in the image; values are relative to a kind."""
    if image.names[more] == image.names[less] or BODY_PART in image.nouns[more].parents:
        return False
    _, _, width, height = image.things[more].box
    _, _, less_width, less_height = image.things[less].box
    if kind == "size":
        is_clear = width * height >= LARGER * less_width * less_height
        return is_clear and image.has_sides(image.names[more], image.names[less])
    return bool(_kinds_of_both(image, more, less)) and (kind != "height" or height > less_height)


def _names(image: ImageContext, one: str, other: str) -> str:
    return "_".join(sorted((image.names[one], image.names[other])))


def common(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "What is common to the shirt and the flower?"."""
    for one, other in _pairs(image, rng):
        both = _refer_to_both(image, one, other, COMMON, rng)
        if both is None:
            continue
        program = joined(both[0].program, both[1].program, "common")
        kind = image.run(program).answer
        if kind not in COMMON or not all(image.can_have(image.names[key], kind) for key in (one, other)):
            continue
        end = (f"have the same {kind}, {spelled(image.things[one].values[kind][0])}", "")
        full = [("Both", ""), *image.the(one), ("and", ""), *image.the(other), end]
        slots, local = ({"one": both[0].the, "other": both[1].the}, f"09common-{_names(image, one, other)}")
        yield Draft("twoCommon", program, kind, IN_COMMON, slots, full, local, "common")


def two(operation: str, image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Do the shirt and the flower have the same color?"."""
    for one, other in _pairs(image, rng):
        both_have = [kind for kind in COMPARED if all(image.can_have(image.names[key], kind) for key in (one, other))]
        values = [image.things[key].values for key in (one, other)]
        kinds = [kind for kind in both_have if all(len(of.get(kind, ())) == 1 for of in values)]
        if not kinds:
            continue
        kind = rng.pick(kinds)
        if (both := _refer_to_both(image, one, other, (kind,), rng)) is None:
            continue
        is_same = values[0][kind] == values[1][kind]
        detailed = f"two{operation.title()}{'Material' if kind == MATERIAL else ''}"
        program = joined(both[0].program, both[1].program, operation, kind)
        slots = slots_of(both[0]) | {"one": both[0].the, "other": both[1].the}
        full, local = (_both_values(image, one, other, kind), f"09{SHORT_NAME[operation]}-{_names(image, one, other)}")
        right = is_same == (operation == "same")
        yield Draft(detailed, program, "", TWO[operation][kind], slots, full, local).yes_no(right)


def _both_values(image: ImageContext, one: str, other: str, kind: str) -> list[Part]:
    value, other_value = (image.predicate(kind, image.things[key].values[kind][0]) for key in (one, other))
    if value == other_value:
        return [("both", ""), *image.the(one), ("and", ""), *image.the(other), (f"are {value}", "")]
    first = [*image.the(one), (f"{image.phrase(one).be} {value} and", "")]
    return [*first, *image.the(other), (f"{image.phrase(other).be} {other_value}", "")]


def all_of(operation: str, image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Are all the people there the same gender?"."""
    groups = {(image.kinds[key], kind) for key in image.objects for kind in ("color", MATERIAL)}
    groups |= {(PEOPLE, "gender")}
    groups |= {(category, NAME) for key in image.objects for category in image.kinds_asked(image.names[key])}
    for name, kind in rng.shuffled(sorted(groups)):
        if name not in image.ontology.nouns or (name == PEOPLE) != (kind == "gender"):
            continue
        if kind in COMPARED and not image.can_have(name, kind):
            continue
        found, phrase = image.find(selected(name)), image.several(name)
        answer = image.run(then(selected(name), "same", kind)).answer
        if found is None or len(found.certain) < 2 or not phrase.plural or answer is None:
            continue
        two = len(found.certain) == 2 and not any(image.phrase(key).plural for key in found.certain)
        compared = phrase.text.title().replace(" ", "") if kind == NAME else kind.title()
        program, right = then(selected(name), operation, kind), (answer == YES) == (operation == "same")
        patterns = (BOTH_SAME if two and operation == "same" else ALL[operation])[kind]
        slots = {"all": f"the {phrase.text}", "plain": phrase.text}
        full, short = _all_values(image, found.certain, kind, phrase.text, two), SHORT_NAME[operation]
        local = f"07{short}-all{phrase.text}"
        yield Draft(f"{short}{compared}", program, "", patterns, slots, full, local).yes_no(right)


def _all_values(image: ImageContext, keys: Sequence[str], kind: str, text: str, two: bool) -> list[Part]:
    everything = f"both {text}" if two else f"all the {text}"
    if kind == NAME:
        mixed_up, names = image.ontology.mixed_up, image.names
        apart = (pair for pair in combinations(keys, 2) if not mixed_up(names[pair[0]], names[pair[1]]))
        pair = min(apart, key=lambda pair: keys.index(pair[1]), default=None)  # that with the earliest second
        if pair is None:
            return [(f"{everything} are {image.several(image.names[keys[0]]).text}", "")]
        if two:
            return [("one is", ""), *image.a(pair[0]), ("and the other is", ""), *image.a(pair[1])]
        one, other = (image.several(image.names[key]).text for key in pair)
        return [(f"some are {one} and some are {other}", "")]
    first, *others = dict.fromkeys(image.predicate(kind, image.things[key].values[kind][0]) for key in keys)
    if not others:
        return [(f"{everything} are {first}", "")]
    some = "one is {} and the other is {}" if two else f"some of the {text} are {{}} and some are {{}}"
    return [(some.format(first, others[0]), "")]
