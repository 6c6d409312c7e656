"""Questions about attributes: of an object (color, material, activity, position), of the image (weather, place)."""

from collections import defaultdict
from collections.abc import Container, Iterator

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import NO, YES, Part, Step, then
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext, selected, slots_of
from hf_vqa_mc.engines.gqa.references import (
    DETAILED_TYPES,
    DOING,
    MATERIAL,
    POSITIONS,
    WORDS,
    Fact,
    Reference,
    spelled,
    wordings,
)
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, SCENE, VERTICAL
from hf_vqa_mc.engines.vocabulary import with_article

QUERIES, QUERY_TYPES = wordings("query attribute"), DETAILED_TYPES["query attribute"]
VERIFY, LOGICAL = wordings("verify attribute"), wordings("logical attribute")
CHOOSE, CHOOSE_TYPES = wordings("choose attribute"), DETAILED_TYPES["choose attribute"]
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
        reference = _refer(image, key, rng, kind)
        if reference is not None:
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
        chosen = _two_values(image, key, pairs, rng)
        if chosen is None:
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
            decoy = image.decoy_value(key, chosen[index][0], rng)
            if decoy is None:
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
