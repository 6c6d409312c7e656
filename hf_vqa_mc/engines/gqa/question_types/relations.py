"""Questions about relations between objects: who is wearing the hat, is there an apple on the black table."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.distractors import UNANNOTATED
from hf_vqa_mc.engines.gqa.executor import SHORT
from hf_vqa_mc.engines.gqa.ontology import ANYTHING
from hf_vqa_mc.engines.gqa.program import Part, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Draft, kind_of, selected, slots_of, yes_no
from hf_vqa_mc.engines.gqa.question_types.objects import ObjectForm, cannot_be_missing
from hf_vqa_mc.engines.gqa.references import Fact, Reference, side_by_side
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT
from hf_vqa_mc.engines.gqa.wording import LIVING, MENTIONS, PEOPLE, as_category, called, relation_form, wordings
from hf_vqa_mc.engines.rng import SeededRng

WORN = {"wearing", "worn by", "dressed in"}
EXIST, QUERY, VERIFY = wordings("exist relation"), wordings("query relation"), wordings("verify relation")["any"]
CHOOSE, CHOOSE_OBJECT = wordings("choose relation"), wordings("choose object")
ENDS = {"s": "subject", "o": "object"}  # Sides of a relation, as programs have them, with what is asked for.
_SCENERY = MENTIONS.background | MENTIONS.scenery


def exist(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is there an apple on the black table?"""
    for subject, relation, target in _triples(asking, rng):
        way, detailed = rng.below(4), "existRelS"
        name: str | None = asking.name(subject)
        asked: str | None = relation
        if way < 2:
            if rng.happens(0.2) and (wider := asking.kinds_asked(asking.name(subject))):
                name = rng.pick(wider)
                if as_category(asking.ontology, name, False) is None and name != asking.name(subject):
                    continue
        elif way == 2 or relation in WORN:
            name = _absent_at(asking, target, relation, "s", rng)
        else:
            asked, detailed = _other_relation(asking, subject, relation, target, rng), "existRelSR"
            others = asking.all_of(asking.name(subject))
            if asked is not None and any(asking.graph.related(key, asked, target) for key in others):
                continue
        if name is None or asked is None:
            continue
        reference = _refer(asking, target, subject, rng)
        noun = asking.ontology.nouns.get(name)
        if reference is None or noun is None or noun.vague or cannot_be_missing(asking, name):
            continue
        if noun.kind == asking.kind(target):
            continue  # not "a bike near the bike"
        form = ObjectForm(asking, name, rng)
        program = then(then(reference.program, "relate", name, asked, "s"), "exist")
        slots = slots_of(reference) | form.slots | {"relation": asked}
        begin = (f"there {asking.said(subject).be}", "")
        there_is = [begin, *asking.a(subject), (relation, ""), *asking.the(target)]
        full = there_is if detailed == "existRelS" else _states(asking, subject, relation, target)
        local = f"13-{asking.name(target)}_{name}"
        yield yes_no(detailed, program, way < 2, EXIST[form.variant], slots, full, local)


def query(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Who is wearing the hat? What is the small girl wearing? What kind of furniture is behind the man?"""
    for subject, relation, target in _triples(asking, rng):
        side = rng.pick(("s", "s", "o"))
        given, wanted = (target, subject) if side == "s" else (subject, target)
        category = _asked_as(asking, wanted, rng)
        reference = _refer(asking, given, wanted, rng)
        if reference is None or category is None or _is_odd(asking, reference, relation, side, wanted, category):
            continue
        if category == "clothing" and side == "o":  # people wear several pieces
            continue
        name, plural, is_kind = asking.name(wanted), asking.said(wanted).plural, category not in (ANYTHING, PEOPLE)
        slots = slots_of(reference) | {"relation": relation, "kind": category}
        if is_kind:
            cat = as_category(asking.ontology, category, plural)
            if cat is None:
                continue
            kind, verb = kind_of(asking.ontology, category, plural)
            slots |= {"cat": cat.text, "be": cat.be, "kind": kind, "kis": verb}
            if side == "s":
                slots["is"] = cat.be
        form = "who" if category == PEOPLE else "kind" if is_kind else "what"
        detailed = f"{'categoryRel' if is_kind else 'rel'}{side.upper()}"
        program = then(then(reference.program, "relate", category, relation, side), "query", "name")
        patterns, full = QUERY[f"{form} {ENDS[side]}"], _states(asking, subject, relation, target)
        local = f"{15 if is_kind else 14}-{asking.name(given)}_{relation},{side}"
        yield Draft(detailed, program, name, patterns, slots, full, local, asking.category(name))


def _asked_as(asking: Asking, key: str, rng: SeededRng) -> str | None:
    """The name or category by which an object is asked for: who, what, or what kind of furniture."""
    if asking.is_any(asking.name(key), PEOPLE):
        return PEOPLE if asking.name(key) != PEOPLE else None
    kinds = [kind for kind in asking.kinds_asked(asking.name(key)) if as_category(asking.ontology, kind, False)]
    return rng.pick(kinds) if kinds and rng.happens(0.6) else ANYTHING


def _is_odd(asking: Asking, reference: Reference, relation: str, side: str, wanted: str, category: str) -> bool:
    """Whether a question is unnatural: what is wearing the collar, what is the cup to the left of the dog near."""
    form = relation_form(relation)
    if side == "o":
        return form == "place" and len(reference.words) > 1
    return category == ANYTHING and form == "verb" and asking.is_any(asking.name(wanted), *LIVING)


def _refer(asking: Asking, given: str, other: str, rng: SeededRng, sides: bool = False) -> Reference | None:
    """A reference to one end of a relation that does not mention the other end."""
    hidden: set[Fact] = {(other,), (given, other), (other, given)}
    if sides:
        hidden.add((given, HORIZONTAL))
    return asking.references.pick(given, rng, hidden, 1 if rng.happens(0.75) else None)  # mostly one more modifier


def _repeats(reference: Reference, *relations: str) -> bool:
    """Whether a reference has one of the relations already, or the other side of it."""
    words = {text for text, _ in reference.words}
    sides = bool(words & {LEFT, RIGHT})
    return any(relation in words or (relation in (LEFT, RIGHT) and sides) for relation in relations)


def _states(asking: Asking, subject: str, relation: str, target: str) -> list[Part]:
    return [*asking.the(subject), (f"{asking.said(subject).be} {relation}", ""), *asking.the(target)]


def verify(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is she wearing a blue dress?"""
    for subject, relation, target in _triples(asking, rng):
        way = rng.below(4)
        name: str | None = asking.name(target)
        asked: str | None = relation
        if way == 3 and relation in WORN:
            way = 2
        if way == 2:
            name = _absent_at(asking, subject, relation, "o", rng)
        elif way == 3:
            asked = _other_relation(asking, subject, relation, target, rng)
            others = asking.all_of(asking.name(target))
            if asked is not None and any(asking.graph.related(subject, asked, key) for key in others):
                continue
        reference = _refer(asking, subject, target, rng, relation in (LEFT, RIGHT))
        if name is None or asked is None or reference is None or relation_form(asked) is None:
            continue
        if _repeats(reference, relation, asked) or asking.ontology.nouns[name].kind == asking.kind(subject):
            continue  # not "a bike near any bikes"
        reference = reference.with_that
        program = then(reference.program, "verify rel", name, asked, "o")
        slots = slots_of(reference) | {"relation": asked, "a": _some(asking, name, asked)}
        full, local = _states(asking, subject, relation, target), f"13-{asking.name(subject)}_{name}"
        draft = yes_no("relVerify", program, way < 2, VERIFY, slots, full, local)
        yield draft._replace(detailed=draft.detailed + ("", "", "o", "r")[way])


def _some(asking: Asking, name: str, relation: str) -> str:
    said = called(asking.ontology, name)
    if relation_form(relation) == "place" and said.plural:
        return f"any {said.text}"
    if asking.ontology.nouns[name].kind in MENTIONS.background or (said.mass and relation_form(relation) != "verb"):
        return f"the {said.text}"
    return said.some


def choose(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is the cat to the left or to the right of the flower?"""
    for subject, relation, target in _triples(asking, rng):
        other = _other_relation(asking, subject, relation, target, rng)
        if other is None:
            continue
        side = rng.pick(("s", "o"))
        given, direct = (target, subject) if side == "s" else (subject, target)
        if not asking.references.is_clear(selected(asking.name(direct)), direct):
            continue
        reference = _refer(asking, given, direct, rng, relation in (LEFT, RIGHT))
        if reference is None or _repeats(reference, relation, other):
            continue
        reference = reference.with_that
        options = rng.shuffled((relation, other))
        slots = slots_of(reference)
        if side == "s":
            slots |= {"the": asking.the(direct), "is": asking.said(direct).be, "that": reference.the}
        else:
            slots["that"] = asking.the(direct)
        sides = {LEFT, RIGHT} == {relation, other}
        of_picture = asking.kind(target) in MENTIONS.pictures  # on which side of the picture
        slots["one"], slots["other"] = (SHORT.get(option, option) if sides else option for option in options)
        program = then(reference.program, "choose rel", asking.name(direct), *options, side)
        patterns = CHOOSE["side"][:1] if sides and of_picture else CHOOSE["side" if sides else "any"]
        full, local = _states(asking, subject, relation, target), f"13-{asking.name(given)}_{asking.name(direct)}"
        yield Draft("relChooser", program, SHORT.get(relation, relation), patterns, slots, full, local)


def choose_object(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """What is the boy eating, an apple or a slice of pizza?"""
    for subject, relation, target in _triples(asking, rng):
        side = rng.pick(("s", "o"))
        given, wanted = (target, subject) if side == "s" else (subject, target)
        reference, category = _refer(asking, given, wanted, rng), _asked_as(asking, wanted, rng)
        if reference is None or category is None or _repeats(reference, relation):
            continue
        odd = _is_odd(asking, reference, relation, side, wanted, category)
        if odd and side == "s":
            continue
        program, name = then(reference.program, "relate", category, relation, side), asking.name(wanted)
        if not asking.references.is_clear(program, wanted):
            asking.left_out["not settled by the graph"] += 1
            continue
        if odd:
            continue
        is_kind = category not in (ANYTHING, PEOPLE)
        if is_kind and (cat := as_category(asking.ontology, category, False)) is not None:
            decoy, wh = asking.decoys.sibling(name, category, rng, asking.graph), f"Which {cat.text}"
        else:
            decoy, wh = asking.decoys.related(asking.graph, given, relation, side, rng), ""
        if decoy is None or (wh and asking.said(wanted).plural):
            continue
        options = rng.shuffled((name, decoy))
        if asking.is_any(name, PEOPLE) != asking.is_any(decoy, PEOPLE):
            continue
        if asking.is_any(name, PEOPLE):
            wh = "Who"
        detailed = f"{'categoryRel' if is_kind else 'rel'}{side.upper()}Choose"
        program = then(program, "choose", "name", *options)
        one, other = (called(asking.ontology, option).some for option in options)
        slots = slots_of(reference) | {"wh": wh or "What", "relation": relation, "one": one, "other": other}
        full, local = _states(asking, subject, relation, target), f"15c-{asking.name(given)}_{relation},{side}"
        patterns, category = CHOOSE_OBJECT[ENDS[side]], asking.category(name)
        yield Draft(detailed, program, name, patterns, slots, full, local, category)


def _absent_at(asking: Asking, object_id: str, relation: str, side: str, rng: SeededRng) -> str | None:
    """A name that would suit the other end of a relation, of something that is not in the image."""
    if relation in (LEFT, RIGHT):
        absent = asking.decoys.absent(asking.graph, object_id, rng)
        return absent if absent is not None and asking.references.has_sides(absent) else None
    return asking.decoys.related(asking.graph, object_id, relation, side, rng)


def _other_relation(asking: Asking, subject: str, relation: str, target: str, rng: SeededRng) -> str | None:
    """A plausible relation that does not hold, for one that does."""
    if relation in WORN:
        return None
    other = asking.decoys.relation(asking.graph, subject, relation, target, rng)
    if other is None or other in WORN or relation_form(other) is None:
        return None
    is_part = not UNANNOTATED.parts.isdisjoint(asking.noun(subject).parents)
    if {relation, other} & MENTIONS.under and (is_part or asking.kind(target) in MENTIONS.background):
        return None
    return other


def _triples(asking: Asking, rng: SeededRng) -> list[tuple[str, str, str]]:
    """Subject, relation and object that people would mention, in random order; left and right less often."""
    others, sides = [], []
    askable = set(asking.objects)
    for subject in asking.objects:
        for relation, target in sorted(asking.thing(subject).relations):
            if target not in askable or relation_form(relation) is None or asking.name(subject) == asking.name(target):
                continue
            if relation in MENTIONS.within and asking.kind(target) in MENTIONS.pictures:
                continue
            scenery = _SCENERY if asking.is_any(asking.name(target), *LIVING) else MENTIONS.background
            if relation in MENTIONS.nearby and asking.kind(subject) in scenery:
                continue
            if relation not in (LEFT, RIGHT):
                others.append((subject, relation, target))
            elif side_by_side(asking.graph, subject, target) and asking.references.has_sides(
                asking.name(subject), asking.name(target)
            ):
                sides.append((subject, relation, target))
    order = rng.shuffled(sides)[: max(12, 2 * len(others))]
    return [*rng.shuffled(others), *order, *rng.shuffled(others), *rng.shuffled(sides)[: len(others)]]
