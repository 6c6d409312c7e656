"""Questions about attributes: of an object (color, position), of the image (weather), compared (who is taller)."""

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import combinations, product

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa import references
from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NAME, NO, YES, Part, Step, joined, then
from hf_vqa_mc.engines.gqa.ontology import BODY_PART, PEOPLE
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext, selected, slots_of
from hf_vqa_mc.engines.gqa.references import DOING, MATERIAL, POSITIONS, WORDS, Fact, Reference, spelled, wordings
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, SCENE, VERTICAL
from hf_vqa_mc.engines.vocabulary import with_article

QUERIES, QUERY_TYPES = wordings("query attribute"), references.DETAILED_TYPES["query attribute"]
VERIFY, LOGICAL = wordings("verify attribute"), wordings("logical attribute")
CHOOSE, CHOOSE_TYPES = wordings("choose attribute"), references.DETAILED_TYPES["choose attribute"]
HINTS = {"color": ("tone", "brightness"), "tone": ("color", "brightness"), "size": ("height", "length")}
"""Types whose values give away something about another type: a dark coat is not white."""
OPPOSITE_SIDE = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}
SIDES = (HORIZONTAL, VERTICAL)


def _refer(image: ImageContext, object_id: str, rng: SeededRng, *kinds: str) -> Reference | None:
    """A reference that mentions none of the types; for positions, nor what is to the left or right."""
    hidden: set[Fact] = set()
    for kind in kinds:
        hidden |= {(object_id, other) for other in (DOING if kind in DOING else (kind, *HINTS.get(kind, ())))}
    if HORIZONTAL in kinds:
        hidden |= {(object_id, other) for name, other in image.things[object_id].relations if name in (LEFT, RIGHT)}
    reference = image.pick(object_id, rng, hidden)
    if reference is not None and len(reference.words) > 1 and not {*SIDES}.isdisjoint(kinds):
        return image.pick(object_id, rng, hidden, 0)  # on the left of what?
    return reference


def _values(image: ImageContext, kinds: Container[str]) -> list[tuple[str, str, str]]:
    """(Object, type, value) of types that are asked about: not the age of a baby."""
    return [
        (key, kind, value)
        for key in image.objects
        for kind, value in image.value_kinds(key)
        if kind in kinds and kind not in ("gender", "race", "fatness")
        if kind != "age" or image.kinds[key] not in WORDS["young"]
    ]


def _states(image: ImageContext, object_id: str, kind: str, value: str) -> list[Part]:
    where = " of the image" if (kind, value) in POSITIONS else ""
    place = {HORIZONTAL: "on the ", VERTICAL: "at the "}.get(kind)
    text = f"{place}{value}{where}" if place else image.predicate(kind, value)
    return [*image.the(object_id), (image.phrase(object_id).be, ""), (text, "")]


def _with_positions(
    image: ImageContext, pairs: list[tuple[str, str, str]], kinds: tuple[str, ...], rng: SeededRng
) -> list[tuple[str, str, str]]:
    """(Object, type, value), at most a third of them positions, in random order."""
    keys = [key for key in image.objects if image.has_sides(image.names[key])]
    found = [(key, kind, image.things[key].values.get(kind, ())) for key in keys for kind in kinds]
    positions = [(key, kind, value) for key, kind, values in found for value in values if value in OPPOSITE_SIDE]
    return rng.shuffled([*pairs * 3, *rng.shuffled(positions)[: max(4, len(pairs) // 3)]])


def query(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "What color is the apple?"."""
    for key, kind, value in _with_positions(image, _values(image, QUERY_TYPES), (HORIZONTAL,), rng):
        doings = sum(kind in DOING for kind, _ in image.value_kinds(key))
        if kind in DOING and (doings != 1 or not image.ontology.attributes[value].verb):
            continue
        if (reference := _refer(image, key, rng, kind)) is not None:
            detailed = QUERY_TYPES.get(kind, "positionQuery")
            patterns = QUERIES["side" if kind == HORIZONTAL else kind]
            program, slots = then(reference.program, "query", kind), slots_of(reference)
            full, local = _states(image, key, kind, value), f"10q-{image.names[key]}_{kind}"
            yield Draft(detailed, program, value, patterns, slots, full, local, "" if kind in SIDES else kind)


def verify(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is the apple red?"."""
    for key, kind, value in _with_positions(image, _values(image, image.ontology.exclusive), SIDES, rng):
        asked: str | None = value
        if not rng.happens(0.5):
            asked = OPPOSITE_SIDE[value] if kind in SIDES else image.decoy_value(key, kind, rng)
        reference = _refer(image, key, rng, kind)
        if asked is None or reference is None:
            continue
        detailed, form = _verify_form(image, kind, asked, reference, rng)
        text = asked if kind in SIDES else image.predicate(kind, asked)
        look = "look" if reference.head.plural else "looks"
        slots = slots_of(reference) | {"value": text, "noun": spelled(asked), "look": look, "a": with_article(text)}
        if form == "this":
            slots["a"] = with_article(f"{image.ontology.attributes[asked].adjective} {reference.head.text}")
        program = then(reference.program, "verify", kind, asked)
        full, local = _states(image, key, kind, value), f"06-{image.names[key]}_{asked}"
        yield Draft(detailed, program, "", VERIFY[form], slots, full, local).yes_no(asked == value)


def _verify_form(image: ImageContext, kind: str, value: str, reference: Reference, rng: SeededRng) -> tuple[str, str]:
    if kind in SIDES:
        return "positionVerify", kind
    if kind == MATERIAL:
        return "materialVerify", MATERIAL
    attribute = image.ontology.attributes[value]
    if not attribute.verb and not attribute.after_only:
        alone = reference.depth == 0 and image.one(image.names[reference.object_id]) == reference.head
        if alone and rng.happens(0.2):
            return "verifyAttrThis", "this"
        if rng.happens(0.2):
            return "verifyAttrK", "look"
    return "verifyAttr", kind if kind in VERIFY and (kind not in DOING or attribute.verb) else "any"


def logical(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is the apple red and shiny?"."""
    by_key = defaultdict[str, list[tuple[str, str]]](list)
    for key, kind, value in _values(image, image.ontology.exclusive):
        by_key[key].append((kind, value))
    for key, pairs in rng.shuffled([*by_key.items()] * 3):
        if (chosen := _two_values(image, key, pairs, rng)) is None:
            continue
        reference = _refer(image, key, rng, *(kind for kind, _ in chosen))
        answers = [image.has_value(key, *pair) for pair in chosen]
        if reference is None or None in answers:
            continue
        last = len(reference.program) - 1
        both = (Step("verify", pair, (last,)) for pair in chosen)
        program = (*reference.program, *both, Step("and", (), (last + 1, last + 2)))
        clause = any(image.ontology.attributes[value].verb or kind == MATERIAL for kind, value in chosen)
        detailed, form = ("verifyAttrAnd", "clause") if clause else ("verifyAttrs", "both")
        ordered = sorted(chosen, key=lambda pair: pair[0] == MATERIAL)
        one_text, other_text = (image.predicate(*pair) for pair in ordered)
        slots = slots_of(reference) | {"one": one_text, "other": other_text}
        local = "05-" + "_".join(sorted(value for _, value in chosen))
        full = _what_it_is(image, key, chosen, answers)
        yield Draft(detailed, program, "", LOGICAL[form], slots, full, local).yes_no(answers == [YES, YES])


def _two_values(
    image: ImageContext, key: str, pairs: list[tuple[str, str]], rng: SeededRng
) -> list[tuple[str, str]] | None:
    chosen = rng.shuffled(pairs)[:2] if len(pairs) > 1 else []
    if all(kind in DOING for kind, _ in chosen):
        return None
    if rng.happens(0.5):
        for index in (0,) if rng.happens(0.8) else (0, 1):
            if (decoy := image.decoy_value(key, chosen[index][0], rng)) is None:
                return None
            chosen[index] = (chosen[index][0], decoy)
    return rng.shuffled(chosen)


def _what_it_is(image: ImageContext, key: str, chosen: list[tuple[str, str]], answers: list[str | None]) -> list[Part]:
    """The full answer, such as "the horses are large but brown": wrong values are replaced by the correct ones."""
    values, word = image.things[key].values, "and" if len({*answers}) == 1 else "but"
    pairs = [
        (kind == MATERIAL if word == "and" else answer == NO, kind, value if answer == YES else values[kind][0])
        for (kind, value), answer in zip(chosen, answers, strict=True)
    ]
    one_text, other_text = (image.predicate(*pair) for _, *pair in sorted(pairs, key=lambda pair: pair[0]))
    return [*image.the(key), (f"{image.phrase(key).be} {one_text} {word} {other_text}", "")]


def choose(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is the apple green or red?"."""
    for key, kind, value in _with_positions(image, _values(image, image.ontology.exclusive), SIDES, rng):
        decoy = OPPOSITE_SIDE[value] if kind in SIDES else image.decoy_value(key, kind, rng)
        reference = _refer(image, key, rng, kind)
        if decoy is None or reference is None:
            continue
        options = rng.shuffled((value, decoy))
        is_doing = kind in DOING and all(image.ontology.attributes[option].verb for option in options)
        form = kind if kind in CHOOSE and (kind not in DOING or is_doing) else "any"
        patterns = CHOOSE[form]
        if kind == "color" and len(reference.words) > 1:
            patterns = patterns[:-1]  # is the color of the cup on the table in the kitchen red or blue
        plain = kind in (*SIDES, MATERIAL)
        one_text, other_text = (spelled(option) if plain else image.predicate(kind, option) for option in options)
        slots = slots_of(reference) | {"one": one_text, "other": other_text}
        program, detailed = then(reference.program, "choose", kind, *options), CHOOSE_TYPES.get(form, "chooseAttr")
        full, local = _states(image, key, kind, value), f"10c-{image.names[key]}_{kind}"
        yield Draft(detailed, program, value, patterns, slots, full, local, "" if kind in SIDES else kind)


WEATHER, LOCATION, PLACE = "weather", "location", "place"
QUERY_SCENE, VERIFY_SCENE, CHOOSE_SCENE = (wordings(f"{form} global") for form in ("query", "verify", "choose"))
LOCATIONS = {"indoors": "an indoor", "outdoors": "an outdoor"}


def _scene_forms(image: ImageContext, kind: str, value: str) -> tuple[str, str]:
    """A value after "it is", and with an article."""
    if kind == PLACE:
        some = image.called(value).some if value in image.ontology.nouns else with_article(spelled(value))
        return some, some
    return image.predicate(kind, value) if kind == WEATHER else value, LOCATIONS.get(value, value)


def query_scene(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "How is the weather?"; the location is only verified and chosen."""
    for kind, value in sorted(image.graph.scene.items()):
        if kind in (WEATHER, PLACE):
            program, it = then(selected(SCENE), "query", kind), _scene_forms(image, kind, value)[0]
            full = [(f"it is {it}", "")]
            yield Draft(kind, program, value, QUERY_SCENE[kind], {}, full, f"02q-{kind}", kind)


def verify_scene(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is it cloudy?"."""
    for kind, value in rng.shuffled(sorted(image.graph.scene.items())):
        asked = value if rng.happens(0.5) else _other_scene(image, kind, value, rng)
        if asked is None or kind not in VERIFY_SCENE:
            continue
        text, with_a = _scene_forms(image, kind, asked)
        program, slots = then(selected(SCENE), "verify", kind, asked), {"value": text, "a": with_a}
        full, local = [(f"it is {_scene_forms(image, kind, value)[0]}", "")], f"01-{kind}_{asked}"
        yield Draft(f"{kind}Verify", program, "", VERIFY_SCENE[kind], slots, full, local).yes_no(asked == value)


def choose_scene(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is it sunny or cloudy?"."""
    for kind, value in rng.shuffled(sorted(image.graph.scene.items())):
        other = _other_scene(image, kind, value, rng)
        if other is None or kind not in CHOOSE_SCENE:
            continue
        options = rng.shuffled((value, other))
        one_text, two_text = (_scene_forms(image, kind, option)[0] for option in options)
        program = then(selected(SCENE), "choose", kind, *options)
        slots, full = {"one": one_text, "other": two_text}, [(f"it is {_scene_forms(image, kind, value)[0]}", "")]
        yield Draft(f"{kind}Choose", program, value, CHOOSE_SCENE[kind], slots, full, f"02c-{kind}", kind)


def _other_scene(image: ImageContext, kind: str, value: str, rng: SeededRng) -> str | None:
    """A value that cannot be mistaken for the correct one."""
    nouns = image.ontology.nouns
    decoy = image.decoys.attribute(image.graph, SCENE, kind, rng)
    if decoy is not None:
        possible = kind == PLACE and decoy in nouns and image.exists(decoy) != NO
        return None if possible else decoy
    if kind == LOCATION:
        return next((other for other in LOCATIONS if other != value), None)
    if kind == PLACE and value in nouns:
        return image.decoys.sibling(value, PLACE, rng, image.graph)
    others = [other for other in image.ontology.values.get(kind, ()) if not image.ontology.alike(value, other)]
    return rng.pick(others) if others else None


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
    if (first := _refer_shortly(image, one, {*hidden, (other,)}, rng)) is None:
        return None
    second = _refer_shortly(image, other, {*hidden, *(fact for fact in first.facts if len(fact) == 1)}, rng)
    is_other = second is not None and first.the != second.the and first.head.text != second.head.text
    return (first, second) if second is not None and is_other else None


def _refer_shortly(image: ImageContext, key: str, hidden: set[Fact], rng: SeededRng) -> Reference | None:
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
            slots = slots_of(both[0]) | {"which": which, "more": more, "one": both[0].the, "other": both[1].the}
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
        if (both := _refer_to_both(image, one, other, COMMON, rng)) is None:
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
        texts = {key: image.predicate(kind, image.things[key].values[kind][0]) for key in (one, other)}
        if len({*texts.values()}) == 1:
            full = [("both", ""), *image.the(one), ("and", ""), *image.the(other), (f"are {texts[one]}", "")]
        else:
            full = [*image.the(one), (f"{image.phrase(one).be} {texts[one]} and", "")]
            full += [*image.the(other), (f"{image.phrase(other).be} {texts[other]}", "")]
        local, right = f"09{SHORT_NAME[operation]}-{_names(image, one, other)}", is_same == (operation == "same")
        yield Draft(detailed, program, "", TWO[operation][kind], slots, full, local).yes_no(right)


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
