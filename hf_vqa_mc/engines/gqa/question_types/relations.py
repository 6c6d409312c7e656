"""Questions about how objects are to one another: who is wearing the hat, is the cat to the left of the flower."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.executor import NO, SHORT, YES
from hf_vqa_mc.engines.gqa.ontology import ANYTHING
from hf_vqa_mc.engines.gqa.program import Part, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Draft, kind_of, selected, slots_of
from hf_vqa_mc.engines.gqa.question_types.objects import WORN, depth_of_relations, nobody_at, other_relation, triples
from hf_vqa_mc.engines.gqa.references import Fact, Reference
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT
from hf_vqa_mc.engines.gqa.wording import LIVING, MENTIONS, PEOPLE, as_category, called, relation_form, wordings
from hf_vqa_mc.engines.rng import SeededRng

QUERY = wordings("query relation")
VERIFY = wordings("verify relation")["any"]
CHOOSE, CHOOSE_OBJECT = wordings("choose relation"), wordings("choose object")
ENDS = {"s": "subject", "o": "object"}  # Sides of a relation, as programs have them, with what is asked for.


def query(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Who is wearing the hat? What is the small girl wearing? What kind of furniture is behind the man?"""
    for subject, relation, target in triples(asking, rng):
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
        yield Draft(
            f"{'categoryRel' if is_kind else 'rel'}{side.upper()}",
            then(then(reference.program, "relate", category, relation, side), "query", "name"),
            name,
            QUERY[f"{form} {ENDS[side]}"],
            slots,
            _states(asking, subject, relation, target),
            f"{15 if is_kind else 14}-{asking.name(given)}_{relation},{side}",
            asking.category(name),
        )


def _asked_as(asking: Asking, key: str, rng: SeededRng) -> str | None:
    """As what something is asked for: who, what, or what kind of furniture."""
    if asking.isa(key, PEOPLE):
        return PEOPLE if asking.name(key) != PEOPLE else None
    kinds = [kind for kind in asking.kinds_asked(asking.name(key)) if as_category(asking.ontology, kind, False)]
    return rng.pick(kinds) if kinds and rng.happens(0.6) else ANYTHING


def _is_odd(asking: Asking, reference: Reference, relation: str, side: str, wanted: str, category: str) -> bool:
    """Whether nobody asks so: what is wearing the collar? What is the cup to the left of the dog near?"""
    form = relation_form(relation)
    if side == "o":
        return form == "place" and len(reference.words) > 1
    return category == ANYTHING and form == "verb" and asking.isa(wanted, *LIVING)


def _refer(asking: Asking, given: str, other: str, rng: SeededRng, sides: bool = False) -> Reference | None:
    """A reference to one end of a relation that states nothing of the other end."""
    hidden: set[Fact] = {(other,), (given, other), (other, given)}
    if sides:
        hidden.add((given, HORIZONTAL))
    return asking.references.pick(given, rng, hidden, depth_of_relations(rng))


def _repeats(reference: Reference, *relations: str) -> bool:
    """Whether a reference has one of the relations already, or the other side of it."""
    words = {text for text, _ in reference.words}
    sides = bool(words & {LEFT, RIGHT})
    return any(relation in words or (relation in (LEFT, RIGHT) and sides) for relation in relations)


def _states(asking: Asking, subject: str, relation: str, target: str) -> list[Part]:
    return [*asking.the(subject), (f"{asking.said(subject).be} {relation}", ""), *asking.the(target)]


def verify(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is she wearing a blue dress?"""
    for subject, relation, target in triples(asking, rng):
        way = rng.below(4)
        name: str | None = asking.name(target)
        asked: str | None = relation
        if way == 3 and relation in WORN:
            way = 2
        if way == 2:
            name = nobody_at(asking, subject, relation, "o", rng)
        elif way == 3:
            asked = other_relation(asking, subject, relation, target, rng)
            others = asking.all_of(asking.name(target))
            if asked is not None and any(asking.graph.related(subject, asked, key) for key in others):
                continue
        reference = _refer(asking, subject, target, rng, relation in (LEFT, RIGHT))
        if name is None or asked is None or reference is None or relation_form(asked) is None:
            continue
        if _repeats(reference, relation, asked) or asking.ontology.nouns[name].kind == asking.kind(subject):
            continue  # a bike near any bikes
        reference = reference.with_that
        yield Draft(
            ("relVerify", "relVerify", "relVerifyCo", "relVerifyCr")[way],
            then(reference.program, "verify rel", name, asked, "o"),
            YES if way < 2 else NO,
            VERIFY,
            slots_of(reference) | {"relation": asked, "a": _some(asking, name, asked)},
            [("Yes ," if way < 2 else "No ,", ""), *_states(asking, subject, relation, target)],
            f"13-{asking.name(subject)}_{name}",
        )


def _some(asking: Asking, name: str, relation: str) -> str:
    said = called(asking.ontology, name)
    if relation_form(relation) == "place" and said.plural:
        return f"any {said.text}"
    if asking.ontology.nouns[name].kind in MENTIONS.background or (said.mass and relation_form(relation) != "verb"):
        return f"the {said.text}"
    return said.some


def choose(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is the cat to the left or to the right of the flower?"""
    for subject, relation, target in triples(asking, rng):
        other = other_relation(asking, subject, relation, target, rng)
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
        texts = [SHORT.get(option, option) for option in options] if sides else options
        yield Draft(
            "relChooser",
            then(reference.program, "choose rel", asking.name(direct), *options, side),
            SHORT.get(relation, relation),
            CHOOSE["side"][:1] if sides and of_picture else CHOOSE["side" if sides else "any"],
            slots | {"one": texts[0], "other": texts[1]},
            _states(asking, subject, relation, target),
            f"13-{asking.name(given)}_{asking.name(direct)}",
        )


def choose_object(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """What is the boy eating, an apple or a slice of pizza?"""
    for subject, relation, target in triples(asking, rng):
        side = rng.pick(("s", "o"))
        given, wanted = (target, subject) if side == "s" else (subject, target)
        reference = _refer(asking, given, wanted, rng)
        category = _asked_as(asking, wanted, rng)
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
        one, other = (called(asking.ontology, option).some for option in options)
        if asking.is_any(name, PEOPLE) != asking.is_any(decoy, PEOPLE):
            continue
        if asking.is_any(name, PEOPLE):
            wh = "Who"
        yield Draft(
            f"{'categoryRel' if is_kind else 'rel'}{side.upper()}Choose",
            then(program, "choose", "name", *options),
            name,
            CHOOSE_OBJECT[ENDS[side]],
            slots_of(reference) | {"wh": wh or "What", "relation": relation, "one": one, "other": other},
            _states(asking, subject, relation, target),
            f"15c-{asking.name(given)}_{relation},{side}",
            asking.category(name),
        )
