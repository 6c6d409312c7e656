"""Questions about what an object is like: color, material, size, what it is doing, where in the image it is."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.patterns import detailed_types, wordings
from hf_vqa_mc.engines.gqa.program import Part, Program, Question, Step, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, slots_of
from hf_vqa_mc.engines.gqa.reference import Fact, Reference
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, VERTICAL
from hf_vqa_mc.engines.gqa.spoken_of import DOING, MENTIONS
from hf_vqa_mc.engines.gqa.wording import MATERIAL, POSITIONS, is_doing, one, spelled, with_article
from hf_vqa_mc.engines.rng import Chance

QUERIES, QUERY_TYPES = wordings("query attribute"), detailed_types("query attribute")
VERIFY, BOTH = wordings("verify attribute"), wordings("logical attribute")["both"]
CHOOSE, CHOOSE_TYPES = wordings("choose attribute"), detailed_types("choose attribute")
TELLS = {"color": ("tone", "brightness"), "tone": ("color", "brightness"), "size": ("height", "length")}
"""Types whose values tell something of another one's: a dark coat is not white."""
OPPOSITE = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}


def hidden_by(object_id: str, kind: str) -> set[Fact]:
    """What a reference must not tell when a type is asked about."""
    return {(object_id, other) for other in (DOING if kind in DOING else (kind, *TELLS.get(kind, ())))}


def refer(asking: Asking, object_id: str, chance: Chance, *kinds: str) -> Reference | None:
    """A reference that does not tell the types; places are neither told by what else is to the left or right."""
    hidden = set[Fact]().union(*(hidden_by(object_id, kind) for kind in kinds))
    if HORIZONTAL in kinds:
        hidden |= {
            (object_id, target) for relation, target in asking.thing(object_id).relations if relation in (LEFT, RIGHT)
        }
    reference = asking.refer(object_id, chance, hidden)
    if reference is not None and len(reference.words) > 1 and (HORIZONTAL in kinds or VERTICAL in kinds):
        return asking.refer(object_id, chance, hidden, 0)  # on the left of what?
    return reference


def can_be_asked(asking: Asking, object_id: str, kind: str) -> bool:
    """Whether a type can be asked about: not the age of a baby."""
    if kind == "age":
        return asking.ontology.nouns[asking.name(object_id)].kind not in MENTIONS.young
    return kind not in ("gender", "race", "fatness")


def group(kind: str) -> str:
    """The global group of a type: positions have none, as in GQA's files."""
    return "" if kind in (HORIZONTAL, VERTICAL) else kind


def states(asking: Asking, object_id: str, kind: str, value: str) -> list[Part]:
    """The sentence that an object has a value."""
    where = " of the image" if (kind, value) in POSITIONS else ""
    place = {HORIZONTAL: "on the ", VERTICAL: "at the "}.get(kind)
    text = f"{place}{value}{where}" if place else asking.predicate(kind, value)
    return [*asking.the(object_id), (asking.said(object_id).be, ""), (text, "")]


def query(asking: Asking, chance: Chance) -> Iterator[Question]:
    """What color is the apple?"""
    pairs = [
        (key, kind, value) for key in asking.objects for kind, value in asking.value_kinds(key) if kind in QUERY_TYPES
    ]
    places = [
        (key, HORIZONTAL, value)
        for key in asking.objects
        for value in asking.thing(key).values.get(HORIZONTAL, ())
        if value in OPPOSITE and asking.references.has_sides(key)
    ]
    pairs = [pair for pair in pairs if can_be_asked(asking, pair[0], pair[1])]
    room = max(4, len(pairs) // 3)
    for key, kind, value in chance.shuffled([*pairs, *pairs, *pairs, *chance.shuffled(places)[:room]]):
        if kind in DOING and sum(kind in DOING for kind, _ in asking.value_kinds(key)) != 1:
            continue
        if kind in DOING and not is_doing(asking.ontology.attributes[value]):
            continue
        reference = refer(asking, key, chance, kind)
        if reference is None:
            continue
        side = kind == HORIZONTAL
        yield from asking.question(
            "query attribute",
            "positionQuery" if side else QUERY_TYPES[kind],
            then(reference.program, "query", kind),
            value,
            QUERIES["side" if side else kind],
            slots_of(reference),
            states(asking, key, kind, value),
            (group(kind), f"10q-{asking.name(key)}_{kind}"),
            chance,
        )


def verify(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is the apple red?"""
    for key, kind, value in _values_and_places(asking, chance):
        asked = value if chance.happens(0.5) else _other_value(asking, key, kind, value, chance)
        reference = refer(asking, key, chance, kind)
        if asked is None or reference is None:
            continue
        right = asked == value
        detailed, form = _verify_wordings(asking, kind, asked, reference, chance)
        slots = slots_of(reference)
        attribute = asking.ontology.attributes.get(asked)
        text = asked if kind in (HORIZONTAL, VERTICAL) else asking.predicate(kind, asked)
        look = "look" if reference.said.plural else "looks"
        slots |= {"value": text, "noun": spelled(asked), "look": look, "a": with_article(text)}
        if detailed == "verifyAttrThis" and attribute is not None:
            slots["a"] = with_article(f"{attribute.adjective or asked} {reference.said.text}")
        full = [("Yes ," if right else "No ,", ""), *states(asking, key, kind, value)]
        yield from asking.question(
            "verify attribute",
            detailed + ("" if right else "C"),
            then(reference.program, "verify", kind, asked),
            YES if right else NO,
            VERIFY[form],
            slots,
            full,
            ("", f"06-{asking.name(key)}_{asked}"),
            chance,
        )


def _verify_wordings(asking: Asking, kind: str, value: str, reference: Reference, chance: Chance) -> tuple[str, str]:
    """GQA's detailed type, and the variant of the wordings."""
    if kind in (HORIZONTAL, VERTICAL):
        return "positionVerify", kind
    if kind == MATERIAL:
        return "materialVerify", MATERIAL
    attribute = asking.ontology.attributes[value]
    alone = reference.depth == 0 and one(asking.ontology, asking.name(reference.object_id)) == reference.said
    if alone and not attribute.verb and not attribute.after_only and chance.happens(0.2):
        return "verifyAttrThis", "this"
    if not attribute.verb and not attribute.after_only and chance.happens(0.2):
        return "verifyAttrK", "look"
    return "verifyAttr", "color" if kind == "color" else "any"


def logical(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is the apple red and shiny?"""
    items = [(key, pairs) for key in asking.objects if len(pairs := _pairs(asking, key)) > 0]
    for key, pairs in chance.shuffled([*items, *items, *items]):
        chosen = _two_values(asking, key, pairs, chance)
        if chosen is None:
            continue
        (kind, value), (other_kind, other) = chosen
        reference = refer(asking, key, chance, kind, other_kind)
        if reference is None:
            continue
        told = [asking.settles(key, kind, value), asking.settles(key, other_kind, other)]
        if None in told:
            continue
        right = told == [YES, YES]
        program = _both(reference.program, (kind, value), (other_kind, other))
        slots = slots_of(reference)
        texts = [asking.predicate(form, word) for form, word in sorted(chosen, key=lambda pair: pair[0] == MATERIAL)]
        slots |= {"one": texts[0], "other": texts[1]}
        attribute_forms = [
            asking.ontology.attributes[word].verb or form == MATERIAL
            for word, form in ((value, kind), (other, other_kind))
        ]
        materials = "AttrAnd" if any(attribute_forms) else "Attrs"
        yield from asking.question(
            "logical attribute",
            f"verify{materials}{'' if right else 'C'}",
            program,
            YES if right else NO,
            BOTH[:1] + BOTH[2:] if any(attribute_forms) else BOTH,
            slots,
            [("Yes ," if right else "No ,", ""), *_what_it_is(asking, key, chosen, told)],
            ("", "05-" + "_".join(sorted((value, other)))),
            chance,
        )


def _pairs(asking: Asking, key: str) -> list[tuple[str, str]]:
    return [
        (kind, value)
        for kind, value in asking.value_kinds(key)
        if kind in asking.ontology.exclusive and can_be_asked(asking, key, kind)
    ]


def _two_values(
    asking: Asking, key: str, pairs: list[tuple[str, str]], chance: Chance
) -> list[tuple[str, str]] | None:
    """Two of an object's values of different types, half of the time one or both replaced by what it is not."""
    if len(pairs) < 2:
        return None
    chosen = chance.shuffled(pairs)[:2]
    if chosen[0][0] in DOING and chosen[1][0] in DOING:
        return None
    if chance.happens(0.5):
        for place in (0,) if chance.happens(0.8) else (0, 1):
            kind = chosen[place][0]
            decoy = asking.decoys.attribute(asking.graph, key, kind, chance)
            if decoy is None or not asking.can_be_said(kind, decoy):
                return None
            chosen[place] = (kind, decoy)
    return chance.shuffled(chosen)


def _both(program: Program, one_value: tuple[str, str], other: tuple[str, str]) -> Program:
    last = len(program) - 1
    return (
        *program,
        Step("verify", one_value, (last,)),
        Step("verify", other, (last,)),
        Step("and", (), (last + 1, last + 2)),
    )


def _what_it_is(asking: Asking, key: str, chosen: list[tuple[str, str]], told: list[str | None]) -> list[Part]:
    """The horses are large but brown: what is right, and what is instead of what is not."""
    values = asking.thing(key).values
    right = [pair for pair, is_so in zip(chosen, told, strict=True) if is_so == YES]
    instead = [(kind, values[kind][0]) for (kind, _), is_so in zip(chosen, told, strict=True) if is_so == NO]
    word = "and" if not right or not instead else "but"
    pairs = [*right, *instead] if word == "but" else sorted([*right, *instead], key=lambda pair: pair[0] == MATERIAL)
    texts = [asking.predicate(kind, value) for kind, value in pairs]
    return [*asking.the(key), (f"{asking.said(key).be} {texts[0]} {word} {texts[1]}", "")]


def choose(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is the apple green or red?"""
    for key, kind, value in _values_and_places(asking, chance):
        decoy = _other_value(asking, key, kind, value, chance)
        reference = refer(asking, key, chance, kind)
        if decoy is None or reference is None:
            continue
        options = chance.shuffled((value, decoy))
        form = kind if kind in CHOOSE else "any"
        if kind in DOING and not all(is_doing(asking.ontology.attributes[option]) for option in options):
            form = "any"
        patterns = CHOOSE[form]
        if kind == "color" and len(reference.words) > 1:
            patterns = patterns[:-1]  # is the color of the cup on the table in the kitchen red or blue
        plain = kind in (HORIZONTAL, VERTICAL, MATERIAL)
        texts = [spelled(option) if plain else asking.predicate(kind, option) for option in options]
        yield from asking.question(
            "choose attribute",
            CHOOSE_TYPES.get(form, "chooseAttr"),
            then(reference.program, "choose", kind, *options),
            value,
            patterns,
            slots_of(reference) | {"one": texts[0], "other": texts[1]},
            states(asking, key, kind, value),
            (group(kind), f"10c-{asking.name(key)}_{kind}"),
            chance,
        )


def _values_and_places(asking: Asking, chance: Chance) -> list[tuple[str, str, str]]:
    """Objects with a type and value each, positions not more than a third, in random order."""
    pairs = [
        (key, kind, value)
        for key in asking.objects
        for kind, value in asking.value_kinds(key)
        if kind in asking.ontology.exclusive and can_be_asked(asking, key, kind)
    ]
    places = [
        (key, kind, value)
        for key in asking.objects
        for kind in (HORIZONTAL, VERTICAL)
        for value in asking.thing(key).values.get(kind, ())
        if value in OPPOSITE and asking.references.has_sides(key)
    ]
    return chance.shuffled([*pairs, *pairs, *pairs, *chance.shuffled(places)[: max(4, len(pairs) // 3)]])


def _other_value(asking: Asking, key: str, kind: str, value: str, chance: Chance) -> str | None:
    """A value that an object does not have."""
    if kind in (HORIZONTAL, VERTICAL):
        return OPPOSITE[value]
    decoy = asking.decoys.attribute(asking.graph, key, kind, chance)
    return decoy if decoy is not None and asking.can_be_said(kind, decoy) else None
