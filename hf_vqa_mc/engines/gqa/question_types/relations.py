"""Questions about how objects are to one another: who is wearing the hat, is the cat to the left of the flower."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.executor import NO, SHORT, YES
from hf_vqa_mc.engines.gqa.ontology import ANYTHING
from hf_vqa_mc.engines.gqa.patterns import wordings
from hf_vqa_mc.engines.gqa.program import Part, Question, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, kind_of, selected, slots_of
from hf_vqa_mc.engines.gqa.question_types.objects import WORN, depth_of_relations, nobody_at, other_relation, triples
from hf_vqa_mc.engines.gqa.reference import Fact, Reference
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT
from hf_vqa_mc.engines.gqa.spoken_of import MENTIONS, PEOPLE
from hf_vqa_mc.engines.gqa.wording import as_category, called, relation_form
from hf_vqa_mc.engines.rng import Chance

QUERY = wordings("query relation")
VERIFY = wordings("verify relation")["any"]
CHOOSE, CHOOSE_OBJECT = wordings("choose relation"), wordings("choose object")
ENDS = {"s": "subject", "o": "object"}
"""Sides of a relation, as programs have them, with what is asked for."""


def query(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Who is wearing the hat? What is the small girl wearing? What kind of furniture is behind the man?"""
    for subject, relation, target in triples(asking, chance):
        side = chance.pick(("s", "s", "o"))
        given, wanted = (target, subject) if side == "s" else (subject, target)
        category = asked_as(asking, wanted, chance)
        reference = refer(asking, given, wanted, chance)
        if reference is None or category is None or (side == "o" and hard_to_read(reference, relation)):
            continue
        if category == "clothing" and side == "o":  # people wear several pieces
            continue
        if category == ANYTHING and side == "s" and relation_form(relation) == "verb" and asking.lives(wanted):
            continue  # what is wearing the collar?
        name = asking.name(wanted)
        said, is_kind = asking.said(wanted), category not in (ANYTHING, PEOPLE)
        cat = as_category(asking.ontology, category, said.plural) if is_kind else None
        if is_kind and cat is None:
            continue
        slots = slots_of(reference) | {"relation": relation, "kind": category}
        if cat is not None:
            kind, verb = kind_of(asking.ontology, category, said.plural)
            slots |= {"cat": cat.text, "be": cat.be, "kind": kind, "kis": verb}
            if side == "s":
                slots["is"] = cat.be
        form = "who" if category == PEOPLE else "kind" if is_kind else "what"
        yield from asking.question(
            "query relation",
            f"{'categoryRel' if is_kind else 'rel'}{side.upper()}",
            then(then(reference.program, "relate", category, relation, side), "query", "name"),
            name,
            QUERY[f"{form} {ENDS[side]}"],
            slots,
            told(asking, subject, relation, target),
            (asking.category(name), f"{15 if is_kind else 14}-{asking.name(given)}_{relation},{side}"),
            chance,
        )


def asked_as(asking: Asking, key: str, chance: Chance) -> str | None:
    """As what something is asked for: who, what, or what kind of furniture."""
    if asking.isa(key, PEOPLE):
        return PEOPLE if asking.name(key) != PEOPLE else None
    kinds = [kind for kind in asking.kinds_asked(asking.name(key)) if as_category(asking.ontology, kind, False)]
    if kinds and chance.happens(0.6):
        return chance.pick(kinds)
    return ANYTHING


def refer(asking: Asking, given: str, other: str, chance: Chance, sides: bool = False) -> Reference | None:
    """A reference to one end of a relation that tells nothing of the other end."""
    hidden: set[Fact] = {(other,), (given, other), (other, given)}
    if sides:
        hidden |= {(given, HORIZONTAL)}
    return asking.refer(given, chance, hidden, depth_of_relations(chance))


def hard_to_read(reference: Reference, relation: str) -> bool:
    """Whether a reference would leave a preposition far behind: what is the cup to the left of the dog near."""
    return relation_form(relation) == "place" and len(reference.words) > 1


def repeats(reference: Reference, relation: str) -> bool:
    """Whether a reference has the relation already, or the other side of it."""
    words = {text for text, _ in reference.words}
    return relation in words or (relation in (LEFT, RIGHT) and bool(words & {LEFT, RIGHT}))


def told(asking: Asking, subject: str, relation: str, target: str) -> list[Part]:
    """The man is wearing the hat."""
    return [*asking.the(subject), (f"{asking.said(subject).be} {relation}", ""), *asking.the(target)]


def verify(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is she wearing a blue dress?"""
    for subject, relation, target in triples(asking, chance):
        way = chance.below(4)
        name: str | None = asking.name(target)
        asked: str | None = relation
        if way == 3 and relation in WORN:
            way = 2
        if way == 2:
            name = nobody_at(asking, subject, relation, "o", chance)
        elif way == 3:
            asked = other_relation(asking, subject, relation, target, chance)
            if asked is not None and any(
                asking.graph.related(subject, asked, key) for key in asking.all_of(asking.name(target))
            ):
                continue
        reference = refer(asking, subject, target, chance, relation in (LEFT, RIGHT))
        if name is None or asked is None or reference is None or relation_form(asked) is None:
            continue
        if repeats(reference, relation) or repeats(reference, asked):
            continue
        if asking.ontology.nouns[name].kind == asking.kind(subject):
            continue  # a bike near any bikes
        reference = reference.with_that
        yield from asking.question(
            "verify relation",
            ("relVerify", "relVerify", "relVerifyCo", "relVerifyCr")[way],
            then(reference.program, "verify rel", name, asked, "o"),
            YES if way < 2 else NO,
            VERIFY,
            slots_of(reference) | {"relation": asked, "a": _some(asking, name, asked)},
            [("Yes ," if way < 2 else "No ,", ""), *told(asking, subject, relation, target)],
            ("", f"13-{asking.name(subject)}_{name}"),
            chance,
        )


def _some(asking: Asking, name: str, relation: str) -> str:
    """What may be at the other end of a relation: near a tree, near any trees, in the snow, wearing jeans."""
    said = called(asking.ontology, name)
    if relation_form(relation) == "place" and said.plural:
        return f"any {said.text}"
    if asking.ontology.nouns[name].kind in MENTIONS.background or (said.mass and relation_form(relation) != "verb"):
        return f"the {said.text}"
    return said.some


def choose(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is the cat to the left or to the right of the flower?"""
    for subject, relation, target in triples(asking, chance):
        other = other_relation(asking, subject, relation, target, chance)
        if other is None:
            continue
        side = chance.pick(("s", "o"))
        given, direct = (target, subject) if side == "s" else (subject, target)
        if not asking.references.is_clear(selected(asking.name(direct)), direct):
            continue
        reference = refer(asking, given, direct, chance, relation in (LEFT, RIGHT))
        if reference is None or repeats(reference, relation) or repeats(reference, other):
            continue
        reference = reference.with_that
        options = chance.shuffled((relation, other))
        near = asking.the(direct)
        slots = slots_of(reference)
        if side == "s":
            slots |= {"the": near, "is": asking.said(direct).be, "that": reference.the}
        else:
            slots |= {"that": near}
        sides = {LEFT, RIGHT} == {relation, other}
        of_picture = asking.kind(given if side == "s" else direct) in MENTIONS.pictures  # on which side of the picture
        texts = [SHORT.get(option, option) for option in options] if sides else options
        yield from asking.question(
            "choose relation",
            "relChooser",
            then(reference.program, "choose rel", asking.name(direct), *options, side),
            SHORT.get(relation, relation),
            CHOOSE["side"][:1] if sides and of_picture else CHOOSE["side" if sides else "any"],
            slots | {"one": texts[0], "other": texts[1]},
            told(asking, subject, relation, target),
            ("", f"13-{asking.name(given)}_{asking.name(direct)}"),
            chance,
        )


def choose_object(asking: Asking, chance: Chance) -> Iterator[Question]:
    """What is the boy eating, an apple or a slice of pizza?"""
    for subject, relation, target in triples(asking, chance):
        side = chance.pick(("s", "o"))
        given, wanted = (target, subject) if side == "s" else (subject, target)
        reference = refer(asking, given, wanted, chance)
        category = asked_as(asking, wanted, chance)
        if reference is None or category is None or repeats(reference, relation):
            continue
        program = then(reference.program, "relate", category, relation, side)
        if category == ANYTHING and side == "s" and relation_form(relation) == "verb" and asking.lives(wanted):
            continue
        if not asking.references.is_clear(program, wanted):
            asking.left_out["not settled by the graph"] += 1
            continue
        if side == "o" and hard_to_read(reference, relation):
            continue
        kind = None if category in (ANYTHING, PEOPLE) else as_category(asking.ontology, category, False)
        if kind is None:
            decoy = asking.decoys.related(asking.graph, given, relation, side, chance)
        else:
            decoy = asking.decoys.sibling(asking.name(wanted), category, chance, asking.graph)
        if decoy is None or (kind is not None and asking.is_plural(wanted)):
            continue
        options = chance.shuffled((asking.name(wanted), decoy))
        texts = [called(asking.ontology, option).some for option in options]
        person = [asking.ontology.isa(option, PEOPLE) for option in options]
        if person[0] != person[1]:
            continue
        wh = "Who" if person[0] else f"Which {kind.text}" if kind else "What"
        yield from asking.question(
            "choose object",
            f"{'categoryRel' if category not in (ANYTHING, PEOPLE) else 'rel'}{side.upper()}Choose",
            then(program, "choose", "name", *options),
            asking.name(wanted),
            CHOOSE_OBJECT[ENDS[side]],
            slots_of(reference)
            | {
                "wh": wh,
                "relation": relation,
                "one": texts[0],
                "other": texts[1],
            },
            told(asking, subject, relation, target),
            (asking.category(asking.name(wanted)), f"15c-{asking.name(given)}_{relation},{side}"),
            chance,
        )
