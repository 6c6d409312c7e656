"""Questions about two things at once: is there either, are there both."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.patterns import wordings
from hf_vqa_mc.engines.gqa.program import Part, Program, Question, joined, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, selected
from hf_vqa_mc.engines.gqa.question_types.objects import cannot_be_missing, there_is
from hf_vqa_mc.engines.gqa.wording import Phrase, one, several, spelled, stands_before, with_article
from hf_vqa_mc.engines.rng import Chance

WORDINGS = {"or": wordings("exist or")["any"], "and": wordings("exist and")["any"]}


def either(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Do you see either an apple or a banana there?"""
    for key in chance.shuffled(asking.objects):
        here, absent = asking.name(key), asking.decoys.absent(asking.graph, chance, near=key)
        if absent is None:
            continue
        if chance.happens(0.5):
            here_too = asking.decoys.absent(asking.graph, chance, near=key)
            if here_too is None or here_too == absent:
                continue
            here = here_too
        yield from _two(asking, here, absent, "or", key, chance)


def both(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Do you see both green apples and bananas there?"""
    for key in chance.shuffled(asking.objects):
        other: str | None = asking.name(chance.pick(asking.objects))
        if chance.happens(0.5):
            other = asking.decoys.absent(asking.graph, chance, near=key)
        if other is not None:
            yield from _two(asking, other, asking.name(key), "and", key, chance)


def _two(asking: Asking, first: str, second: str, word: str, key: str, chance: Chance) -> Iterator[Question]:
    """Two things, the second or both with one value of the object ``key`` at times."""
    nouns = [asking.ontology.nouns[name] for name in (first, second)]
    there = [asking.is_there(name) for name in (first, second)]
    if (
        None in there
        or any(noun.vague or cannot_be_missing(asking, noun.name) for noun in nouns)
        or nouns[0].kind == nouns[1].kind
    ):
        return
    if asking.ontology.isa(first, second) or asking.ontology.isa(second, first):
        return
    places = [any(asking.ontology.isa(name, category) for category in ("place", "room")) for name in (first, second)]
    if any(places) and any(one(asking.ontology, name) is None for name in (first, second)):
        return  # snow or kitchens
    filters = _filters(asking, key, first, second, word, chance)
    programs = []
    forms: list[str] = []
    present: list[str | None] = []
    # one number for both: "either an apple or a banana", "either apples or bananas"
    as_one = (any(places) or chance.happens(0.5)) and all(
        one(asking.ontology, name) is not None for name in (first, second)
    )
    for name, pair in zip((first, second), filters, strict=True):
        program: Program = selected(name)
        before = ""
        told: str | None = asking.is_there(name)
        if pair is not None:
            program = then(program, "filter", *pair, "")
            before = stands_before(asking.ontology, *pair) or ""
            told = asking.executor.run(then(program, "exist")).answer
            if told is None:
                asking.left_out["not settled by the graph"] += 1
                return
        programs.append(then(program, "exist"))
        single, many = one(asking.ontology, name), several(asking.ontology, name)
        forms.append(
            with_article(f"{before} {single.text}".strip()) if as_one and single else f"{before} {many.text}".strip()
        )
        present.append(told)
    right = (YES in present) if word == "or" else (present == [YES, YES])
    attribute = "Attr" if any(filters) else ""
    is_mass = several(asking.ontology, first).mass
    kinds = sorted(noun.kind for noun in nouns)
    row = "exist or" if word == "or" else "exist and"
    yield from asking.question(
        row,
        f"exist{attribute}{word.title()}{'' if right else 'C'}",
        joined(programs[0], programs[1], word),
        YES if right else NO,
        WORDINGS[word],
        {"there": "Is there" if is_mass or as_one else "Are there", "one": forms[0], "other": forms[1]},
        _which(asking, (first, second), filters, present, word),
        ("", f"09exist{word.title()}-{'_'.join(kinds)}" if not attribute else f"04-{second}_{filters[1][1]}"),  # type: ignore[index]
        chance,
    )


def _filters(
    asking: Asking, key: str, first: str, second: str, word: str, chance: Chance
) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """At times a value for the second thing, or for both where either is looked for."""
    pairs = [
        (kind, value)
        for kind, value in asking.value_kinds(key)
        if kind in ("color", "size") and stands_before(asking.ontology, kind, value)
    ]
    if not pairs or not chance.happens(0.35) or asking.name(key) not in (first, second):
        return None, None
    kind, value = chance.pick(pairs)
    if not all(asking.references.name_can_have(name, kind) for name in (first, second)):  # a black office
        return None, None
    if chance.happens(0.5):
        decoy = asking.decoys.attribute(asking.graph, key, kind, chance)
        if decoy is None or stands_before(asking.ontology, kind, decoy) is None:
            return None, None
        value = decoy
    return ((kind, value) if word == "or" else None), (kind, value)


def _which(
    asking: Asking,
    names: tuple[str, str],
    filters: tuple[tuple[str, str] | None, tuple[str, str] | None],
    present: list[str | None],
    word: str,
) -> Phrase:
    """Yes, there is a bag; no, there is a window but no chairs."""
    parts = [
        _with(asking, name, pair) if told == YES else []
        for name, pair, told in zip(names, filters, present, strict=True)
    ]
    missing = [
        f"{spelled(pair[1]) if pair else ''} {several(asking.ontology, name).text}".strip()
        for name, pair, told in zip(names, filters, present, strict=True)
        if told != YES
    ]
    if word == "or" and YES in present:
        return [("Yes , there", ""), *next(part for part in parts if part)]
    if present == [YES, YES]:
        both = [
            (words.removeprefix("is").removeprefix("are").strip(), key) for part in parts for words, key in part[:1]
        ]
        return [("Yes , there are both", ""), both[0], *parts[0][1:], ("and", ""), both[1], *parts[1][1:]]
    if YES in present:
        return [("No , there", ""), *next(part for part in parts if part), (f"but no {missing[0]}", "")]
    verbs = [several(asking.ontology, name).be for name in names]
    if verbs[0] != verbs[1]:
        return [(f"No , there {verbs[0]} no {missing[0]} and there {verbs[1]} no {missing[1]}", "")]
    return [(f"No , there {verbs[0]} no {missing[0]} or {missing[1]}", "")]


def _with(asking: Asking, name: str, pair: tuple[str, str] | None) -> list[Part]:
    if pair is None:
        return [(text.removeprefix("there "), key) for text, key in there_is(asking, name)]
    key = next(key for key in asking.all_of(name) if asking.settles(key, *pair) == YES)
    said = asking.said(key)
    text = f"{stands_before(asking.ontology, *pair)} {said.text}"
    article = "" if said.plural or said.mass else with_article(text).split(" ")[0]
    return [(f"{said.be} {article}", ""), (text, key)]
