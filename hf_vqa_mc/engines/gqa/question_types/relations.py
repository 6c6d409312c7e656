"""Questions about relations between objects: who is wearing the hat, is there an apple on the black table."""

from collections.abc import Iterator

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.distractors import UNANNOTATED
from hf_vqa_mc.engines.gqa.executor import SHORT, Part, then
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, LIVING, PEOPLE
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext, selected, slots_of
from hf_vqa_mc.engines.gqa.question_types.objects import cannot_be_missing, object_form
from hf_vqa_mc.engines.gqa.references import WORDS, Fact, Reference, relation_form, wordings
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT

WORN = {"wearing", "worn by", "dressed in"}
EXIST, QUERY, VERIFY = wordings("exist relation"), wordings("query relation"), wordings("verify relation")["any"]
CHOOSE, CHOOSE_OBJECT = wordings("choose relation"), wordings("choose object")
ENDS = {"s": "subject", "o": "object"}  # Sides of a relation, as programs have them, with what is asked for.
_SCENERY = WORDS["background"] | WORDS["scenery"]


def exist(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is there an apple on the black table?"."""
    for subject, relation, target in _triples(image, rng):
        way, detailed = rng.below(4), "existRelS"
        name: str | None = image.names[subject]
        asked: str | None = relation
        if way < 2:
            if rng.happens(0.2) and (wider := image.kinds_asked(image.names[subject])):
                name = rng.pick(wider)
                if image.as_category(name, False) is None and name != image.names[subject]:
                    continue
        elif way == 2 or relation in WORN:
            name = _absent_at(image, target, relation, "s", rng)
        else:
            asked, detailed = _other_relation(image, subject, relation, target, rng), "existRelSR"
            others = image.all_of(image.names[subject])
            if asked is not None and any(image.graph.related(key, asked, target) for key in others):
                continue
        if name is None or asked is None:
            continue
        reference = _refer(image, target, subject, rng)
        noun = image.ontology.nouns.get(name)
        if reference is None or noun is None or cannot_be_missing(image, name) or noun.kind == image.kinds[target]:
            continue  # not "a bike near the bike"
        _, variant, slots = object_form(image, name, rng)
        program = then(then(reference.program, "relate", name, asked, "s"), "exist")
        slots |= slots_of(reference) | {"relation": asked}
        full = _states(image, subject, relation, target)
        if detailed == "existRelS":
            full = [(f"there {image.phrase(subject).be}", ""), *image.a(subject), (relation, ""), *image.the(target)]
        local = f"13-{image.names[target]}_{name}"
        yield Draft(detailed, program, "", EXIST[variant], slots, full, local).yes_no(way < 2)


def query(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Who is wearing the hat?" and "What kind of furniture is behind the man?"."""
    for subject, relation, target in _triples(image, rng):
        side = rng.pick(("s", "s", "o"))
        given, wanted = (target, subject) if side == "s" else (subject, target)
        category = _asked_as(image, wanted, rng)
        reference = _refer(image, given, wanted, rng)
        if reference is None or category is None or _is_odd(image, reference, relation, side, wanted, category):
            continue
        if category == "clothing" and side == "o":  # people wear several pieces
            continue
        name, plural, is_kind = image.names[wanted], image.phrase(wanted).plural, category not in (ANYTHING, PEOPLE)
        slots = slots_of(reference) | {"relation": relation, "kind": category}
        if is_kind:
            if (cat := image.as_category(category, plural)) is None:
                continue
            kind, verb = image.kind_of(category, plural)
            slots |= {"cat": cat.text, "be": cat.be, "kind": kind, "kis": verb}
            if side == "s":
                slots["is"] = cat.be
        form = "who" if category == PEOPLE else "kind" if is_kind else "what"
        detailed = f"{'categoryRel' if is_kind else 'rel'}{side.upper()}"
        program = then(then(reference.program, "relate", category, relation, side), "query", "name")
        patterns, full = QUERY[f"{form} {ENDS[side]}"], _states(image, subject, relation, target)
        local = f"{15 if is_kind else 14}-{image.names[given]}_{relation},{side}"
        yield Draft(detailed, program, name, patterns, slots, full, local, image.category(name))


def _asked_as(image: ImageContext, key: str, rng: SeededRng) -> str | None:
    """The name or category by which an object is asked for: who, what, or what kind of furniture."""
    if image.is_any(image.names[key], PEOPLE):
        return PEOPLE if image.names[key] != PEOPLE else None
    kinds = [kind for kind in image.kinds_asked(image.names[key]) if image.as_category(kind, False)]
    return rng.pick(kinds) if kinds and rng.happens(0.6) else ANYTHING


def _is_odd(image: ImageContext, reference: Reference, relation: str, side: str, wanted: str, category: str) -> bool:
    """Whether a question is unnatural: what is wearing the collar, what is the cup to the left of the dog near."""
    form = relation_form(relation)
    if side == "o":
        return form == "place" and len(reference.words) > 1
    return category == ANYTHING and form == "verb" and image.is_any(image.names[wanted], *LIVING)


def _refer(image: ImageContext, given: str, other: str, rng: SeededRng, sides: bool = False) -> Reference | None:
    """A reference to one end of a relation that does not mention the other end."""
    hidden: set[Fact] = {(other,), (given, other), (other, given)}
    if sides:
        hidden.add((given, HORIZONTAL))
    return image.pick(given, rng, hidden, 1 if rng.happens(0.75) else None)  # mostly one more modifier


def _repeats(reference: Reference, *relations: str) -> bool:
    """Whether a reference already mentions one of the relations; left and right count as the same."""
    sides, words = {LEFT, RIGHT}, {text for text, _ in reference.words}
    return bool(words & (sides.union(relations) if sides & {*relations} else {*relations}))


def _states(image: ImageContext, subject: str, relation: str, target: str) -> list[Part]:
    return [*image.the(subject), (f"{image.phrase(subject).be} {relation}", ""), *image.the(target)]


def verify(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is she wearing a blue dress?"."""
    for subject, relation, target in _triples(image, rng):
        way = rng.below(4)
        name: str | None = image.names[target]
        asked: str | None = relation
        if way == 3 and relation in WORN:
            way = 2
        if way == 2:
            name = _absent_at(image, subject, relation, "o", rng)
        elif way == 3:
            asked = _other_relation(image, subject, relation, target, rng)
            others = image.all_of(image.names[target])
            if asked is not None and any(image.graph.related(subject, asked, key) for key in others):
                continue
        reference = _refer(image, subject, target, rng, relation in (LEFT, RIGHT))
        if name is None or asked is None or reference is None or relation_form(asked) is None:
            continue
        if _repeats(reference, relation, asked) or image.ontology.kind(name) == image.kinds[subject]:
            continue  # not "a bike near any bikes"
        reference = reference.with_that
        program = then(reference.program, "verify rel", name, asked, "o")
        phrase, form = image.called(name), relation_form(asked)
        is_known = image.ontology.kind(name) in WORDS["background"] or (phrase.mass and form != "verb")
        some = f"the {phrase.text}" if is_known else phrase.some
        some = f"any {phrase.text}" if form == "place" and phrase.plural else some
        slots = slots_of(reference) | {"relation": asked, "a": some}
        full, local = _states(image, subject, relation, target), f"13-{image.names[subject]}_{name}"
        draft = Draft("relVerify", program, "", VERIFY, slots, full, local).yes_no(way < 2)
        yield draft._replace(detailed=draft.detailed + ("", "", "o", "r")[way])


def choose(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is the cat to the left or to the right of the flower?"."""
    for subject, relation, target in _triples(image, rng):
        if (other := _other_relation(image, subject, relation, target, rng)) is None:
            continue
        side = rng.pick(("s", "o"))
        given, direct = (target, subject) if side == "s" else (subject, target)
        if not image.is_clear(selected(image.names[direct]), direct):
            continue
        reference = _refer(image, given, direct, rng, relation in (LEFT, RIGHT))
        if reference is None or _repeats(reference, relation, other):
            continue
        reference = reference.with_that
        options, slots = rng.shuffled((relation, other)), slots_of(reference) | {"that": image.the(direct)}
        if side == "s":
            slots |= {"the": image.the(direct), "is": image.phrase(direct).be, "that": reference.the}
        sides = {LEFT, RIGHT} == {relation, other}
        of_picture = image.kinds[target] in WORDS["pictures"]  # on which side of the picture
        slots["one"], slots["other"] = (SHORT.get(option, option) if sides else option for option in options)
        program = then(reference.program, "choose rel", image.names[direct], *options, side)
        patterns = CHOOSE["side of a picture" if sides and of_picture else "side" if sides else "any"]
        full, local = _states(image, subject, relation, target), f"13-{image.names[given]}_{image.names[direct]}"
        yield Draft("relChooser", program, SHORT.get(relation, relation), patterns, slots, full, local)


def choose_object(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "What is the boy eating, an apple or a slice of pizza?"."""
    for subject, relation, target in _triples(image, rng):
        side = rng.pick(("s", "o"))
        given, wanted = (target, subject) if side == "s" else (subject, target)
        reference, category = _refer(image, given, wanted, rng), _asked_as(image, wanted, rng)
        if reference is None or category is None or _repeats(reference, relation):
            continue
        odd = _is_odd(image, reference, relation, side, wanted, category)
        program, name = then(reference.program, "relate", category, relation, side), image.names[wanted]
        clear = (odd and side == "s") or image.is_clear(program, wanted)
        image.left_out["not settled by the graph"] += not clear
        if odd or not clear:
            continue
        is_kind = category not in (ANYTHING, PEOPLE)
        if is_kind and (cat := image.as_category(category, False)) is not None:
            decoy, wh = image.decoys.sibling(name, category, rng, image.graph), f"Which {cat.text}"
        else:
            decoy, wh = image.decoys.related(image.graph, given, relation, side, rng), ""
        if decoy is None or (wh and image.phrase(wanted).plural):
            continue
        options, is_person = rng.shuffled((name, decoy)), image.is_any(name, PEOPLE)
        if is_person != image.is_any(decoy, PEOPLE):
            continue
        detailed = f"{'categoryRel' if is_kind else 'rel'}{side.upper()}Choose"
        program = then(program, "choose", "name", *options)
        one, other = (image.called(option).some for option in options)
        slots = slots_of(reference) | {
            "wh": "Who" if is_person else wh or "What",
            "relation": relation,
            "one": one,
            "other": other,
        }
        full, local = _states(image, subject, relation, target), f"15c-{image.names[given]}_{relation},{side}"
        patterns, category = CHOOSE_OBJECT[ENDS[side]], image.category(name)
        yield Draft(detailed, program, name, patterns, slots, full, local, category)


def _absent_at(image: ImageContext, object_id: str, relation: str, side: str, rng: SeededRng) -> str | None:
    """A name that would suit the other end of a relation, of something that is not in the image."""
    if relation in (LEFT, RIGHT):
        absent = image.decoys.absent(image.graph, object_id, rng)
        return absent if absent is not None and image.has_sides(absent) else None
    return image.decoys.related(image.graph, object_id, relation, side, rng)


def _other_relation(image: ImageContext, subject: str, relation: str, target: str, rng: SeededRng) -> str | None:
    if relation in WORN:
        return None
    other = image.decoys.relation(image.graph, subject, relation, target, rng)
    if other is None or other in WORN or relation_form(other) is None:
        return None
    is_part = not UNANNOTATED["parts"].isdisjoint(image.nouns[subject].parents)
    odd = {relation, other} & WORDS["under"] and (is_part or image.kinds[target] in WORDS["background"])
    return None if odd else other


def _triples(image: ImageContext, rng: SeededRng) -> list[tuple[str, str, str]]:
    """Subject, relation and object that people would mention, in random order; left and right less often."""
    others, sides = [], []
    askable = set(image.objects)
    for subject in image.objects:
        for relation, target in sorted(image.things[subject].relations):
            if target not in askable or relation_form(relation) is None or image.names[subject] == image.names[target]:
                continue
            if relation in WORDS["within"] and image.kinds[target] in WORDS["pictures"]:
                continue
            scenery = _SCENERY if image.is_any(image.names[target], *LIVING) else WORDS["background"]
            if relation in WORDS["nearby"] and image.kinds[subject] in scenery:
                continue
            if relation not in (LEFT, RIGHT):
                others.append((subject, relation, target))
            elif image.side_by_side(subject, target):
                sides.append((subject, relation, target))
    order = rng.shuffled(sides)[: max(12, 2 * len(others))]
    return [*rng.shuffled(others), *order, *rng.shuffled(others), *rng.shuffled(sides)[: len(others)]]
