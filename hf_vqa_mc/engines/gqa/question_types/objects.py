"""Questions about which objects are in the image: is there an apple, a red one, either or both of two things."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.program import Part, Program, joined, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Draft, selected, yes_no
from hf_vqa_mc.engines.gqa.wording import (
    MATERIAL,
    NOT_UNIQUE,
    PEOPLE,
    Phrase,
    Said,
    called,
    one,
    several,
    spelled,
    stands_before,
    stands_behind,
    with_article,
    wordings,
)
from hf_vqa_mc.engines.rng import SeededRng

PLACES = ("place", "room")
EXIST, TWO = wordings("exist"), {"or": wordings("exist or")["any"], "and": wordings("exist and")["any"]}
Filters = tuple[tuple[str, str] | None, tuple[str, str] | None]  # (type, value) of the first object and of the second


class ObjectForm:
    """How an object is named where its existence is asked: one, several or a mass."""

    def __init__(self, asking: Asking, name: str, rng: SeededRng, before: str = "") -> None:
        """``before``: an adjective."""
        single, many = one(asking.ontology, name), several(asking.ontology, name)
        before = f"{before} " if before else ""
        is_one = single is not None and (asking.is_any(name, *PLACES) or rng.happens(0.5))
        self.number: Said = single if is_one and single is not None else many
        self.variant = "one" if is_one else "mass" if many.mass else "several"
        some = f"{before}{many.text}"
        self.slots = {"a": with_article(f"{before}{single.text}") if single is not None else some, "several": some}


def exist(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is there an apple in the picture? Is there one that is (not) red?"""
    for key in rng.shuffled([*asking.objects, *asking.objects, *asking.objects]):
        way = rng.below(4)
        if way > 1:
            yield from _there_with(asking, key, way == 3 and rng.happens(0.4), rng)
        elif name := asking.decoys.absent(asking.graph, key, rng) if way else asking.name(key):
            yield from _there(asking, name, rng)


def _there(asking: Asking, name: str, rng: SeededRng) -> Iterator[Draft]:
    noun, there = asking.ontology.nouns[name], asking.is_there(name)
    if there is None or noun.vague or cannot_be_missing(asking, name):
        return
    form, program = ObjectForm(asking, name, rng), then(selected(name), "exist")
    said = several(asking.ontology, name)
    full = there_is(asking, name) if there == YES else [(f"there {said.be} no {said.text}", "")]
    slots = {**form.slots, "more": ""}
    yield yes_no("exist", program, there == YES, EXIST[form.variant], slots, full, f"03-{noun.kind}")


def cannot_be_missing(asking: Asking, name: str) -> bool:
    """Whether its existence is never asked: the sky, a proper name, a plural with another meaning (glasses)."""
    said, noun = called(asking.ontology, name), asking.ontology.nouns[name]
    plural = asking.ontology.nouns.get(noun.plural_form, noun)
    is_place = said.mass and asking.is_any(name, *PLACES)
    return said.proper or said.unique or is_place or name in NOT_UNIQUE or plural.kind != noun.kind


def there_is(asking: Asking, name: str) -> list[Part]:
    """The clause "there is a door" or "there are doors", with the object."""
    keys = asking.all_of(name)
    said = asking.said(keys[0])
    if len(keys) > 1 and not said.mass and not said.plural:
        return [("there are", ""), (several(asking.ontology, asking.name(keys[0])).text, keys[0])]
    return [(f"there {said.be}", ""), *asking.a(keys[0])]


def is_a(said: Said, text: str, key: str) -> list[Part]:
    """The words "is a red apple" or "are red apples", with the object."""
    article = "" if said.plural or said.mass else with_article(text).split(" ")[0]
    return [(f"{said.be} {article}", ""), (text, key)]


def _there_with(asking: Asking, key: str, negated: bool, rng: SeededRng) -> Iterator[Draft]:
    pairs = [pair for pair in asking.value_kinds(key) if pair[0] in asking.ontology.exclusive]
    name = asking.name(key)
    if not pairs or cannot_be_missing(asking, name):
        return
    kind, value = rng.pick(pairs)
    asked = asking.decoy_value(key, kind, rng) if rng.happens(0.5) else value
    if asked is None:
        return
    wanted = NO if negated else YES
    there = [other for other in asking.all_of(name) if asking.executor.has_value(other, kind, asked) == wanted]
    before = None if negated else stands_before(asking.ontology, kind, asked)
    behind = before is None or (kind == MATERIAL and rng.happens(0.5)) or rng.happens(0.3)
    form = ObjectForm(asking, name, rng, "" if behind else before or "")
    more = stands_behind(asking.ontology, kind, asked, form.number, negated, rng) if behind else ""
    detailed = "existMaterial" if kind == MATERIAL else "existThat" if behind else "existAttr"
    detailed, mark = (f"{detailed}Not", "n#") if negated else (detailed, "")
    program = then(then(selected(name), "filter", kind, asked, "not" if negated else ""), "exist")
    full = _with(asking, there[0], kind, asked) if there else _without(asking, name, kind, asked, negated)
    slots, local = {**form.slots, "more": more}, f"04-{name}_{mark}{asked}"
    yield yes_no(detailed, program, bool(there), EXIST[form.variant], slots, full, local)


def _with(asking: Asking, key: str, kind: str, value: str) -> Phrase:
    own, said = asking.thing(key).values.get(kind, (value,))[0], asking.said(key)
    before = stands_before(asking.ontology, kind, own)
    text = f"{before} {said.text}" if before else f"{said.text} that {said.be} {asking.predicate(kind, own)}"
    return [("there", ""), *is_a(said, text, key)]


def _without(asking: Asking, name: str, kind: str, value: str, negated: bool) -> Phrase:
    key, *others = asking.all_of(name)
    many = several(asking.ontology, asking.name(key))
    if others and many.plural:
        none = f"but they are {'all' if negated else 'not'} {asking.predicate(kind, value)}"
        return [("there are", ""), (many.text, key), (none, "")]
    said, own = asking.said(key), asking.thing(key).values.get(kind, (value,))[0]
    it = "they are" if said.plural else f"the {said.text} is" if asking.is_any(asking.name(key), PEOPLE) else "it is"
    return [(f"there {said.be}", ""), *asking.a(key), (f"but {it} {asking.predicate(kind, own)}", "")]


def either(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Do you see either an apple or a banana there?"""
    for key in rng.shuffled(asking.objects):
        absent = asking.decoys.absent(asking.graph, key, rng)
        if absent is None:
            continue
        first = asking.decoys.absent(asking.graph, key, rng) if rng.happens(0.5) else asking.name(key)
        if first is not None and first != absent:
            yield from _two(asking, (first, absent), "or", key, rng)


def both(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Do you see both green apples and bananas there?"""
    for key in rng.shuffled(asking.objects):
        other: str | None = asking.name(rng.pick(asking.objects))
        if rng.happens(0.5):
            other = asking.decoys.absent(asking.graph, key, rng)
        if other is not None:
            yield from _two(asking, (other, asking.name(key)), "and", key, rng)


def _two(asking: Asking, names: tuple[str, str], word: str, key: str, rng: SeededRng) -> Iterator[Draft]:
    """Ask about two names, sometimes with a value of the object ``key`` for the second or for both."""
    first, second = names
    nouns = [asking.ontology.nouns[name] for name in names]
    if (
        None in map(asking.is_there, names)
        or any(noun.vague or cannot_be_missing(asking, noun.name) for noun in nouns)
        or asking.ontology.isa(first, second)  # also if they are of one kind
        or asking.ontology.isa(second, first)
    ):
        return
    places = any(asking.is_any(name, *PLACES) for name in names)
    singles = [one(asking.ontology, name) for name in names]
    if places and None in singles:
        return  # not "snow or kitchens"
    filters = _filters(asking, key, names, word, rng)
    # the same number for both: "either an apple or a banana", "either apples or bananas"
    as_one = (places or rng.happens(0.5)) and None not in singles
    programs: list[Program] = []
    slots = {"there": "Is there" if as_one or several(asking.ontology, first).mass else "Are there"}
    for slot, name, single, pair in zip(("one", "other"), names, singles, filters, strict=True):
        program, before = selected(name), ""
        if pair is not None:
            program, before = then(program, "filter", *pair, ""), stands_before(asking.ontology, *pair) or ""
        programs.append(then(program, "exist"))
        many = f"{before} {several(asking.ontology, name).text}".strip()
        slots[slot] = with_article(f"{before} {single.text}".strip()) if as_one and single else many
    present = [asking.executor.run(program).answer for program in programs]
    if None in present:
        asking.left_out["not settled by the graph"] += 1
        return
    is_there = [answer == YES for answer in present]
    local = f"09exist{word.title()}-{'_'.join(sorted(noun.kind for noun in nouns))}"
    if value := filters[1]:
        local = f"04-{second}_{value[1]}"
    detailed, program = f"exist{'Attr' if value else ''}{word.title()}", joined(programs[0], programs[1], word)
    full = _which(asking, names, filters, is_there, word)
    yield yes_no(detailed, program, (any if word == "or" else all)(is_there), TWO[word], slots, full, local)


def _filters(asking: Asking, key: str, names: tuple[str, str], word: str, rng: SeededRng) -> Filters:
    pairs = [
        (kind, value)
        for kind, value in asking.value_kinds(key)
        if kind in ("color", "size") and stands_before(asking.ontology, kind, value)
    ]
    if not pairs or not rng.happens(0.35) or asking.name(key) not in names:
        return None, None
    kind, value = rng.pick(pairs)
    if not all(asking.references.can_have(name, kind) for name in names):  # a black office
        return None, None
    if rng.happens(0.5):
        value = asking.decoys.attribute(asking.graph, key, kind, rng) or ""
        if stands_before(asking.ontology, kind, value) is None:
            return None, None
    return ((kind, value) if word == "or" else None), (kind, value)


def _which(asking: Asking, names: tuple[str, str], filters: Filters, is_there: list[bool], word: str) -> Phrase:
    things = list(zip(names, filters, is_there, strict=True))
    parts = [_present(asking, name, pair) for name, pair, there in things if there]
    missing = [
        f"{spelled(pair[1]) if pair else ''} {several(asking.ontology, name).text}".strip()
        for name, pair, there in things
        if not there
    ]
    if parts and (word == "or" or missing):
        return [("there", ""), *parts[0], *([] if word == "or" else [(f"but no {missing[0]}", "")])]
    if parts:
        starts = [(words.removeprefix("is").removeprefix("are").strip(), key) for (words, key), *_ in parts]
        return [("there are both", ""), starts[0], *parts[0][1:], ("and", ""), starts[1], *parts[1][1:]]
    one_be, other_be = (several(asking.ontology, name).be for name in names)
    if one_be != other_be:
        return [(f"there {one_be} no {missing[0]} and there {other_be} no {missing[1]}", "")]
    return [(f"there {one_be} no {missing[0]} or {missing[1]}", "")]


def _present(asking: Asking, name: str, pair: tuple[str, str] | None) -> list[Part]:
    if pair is None:
        return [(text.removeprefix("there "), key) for text, key in there_is(asking, name)]
    key = next(key for key in asking.all_of(name) if asking.executor.has_value(key, *pair) == YES)
    said = asking.said(key)
    return is_a(said, f"{stands_before(asking.ontology, *pair)} {said.text}", key)
