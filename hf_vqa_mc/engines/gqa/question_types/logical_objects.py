"""Questions about two things at once: is there either, are there both."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.executor import YES
from hf_vqa_mc.engines.gqa.program import Part, Program, joined, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Draft, selected, yes_no
from hf_vqa_mc.engines.gqa.question_types.objects import PLACES, cannot_be_missing, is_a, there_is
from hf_vqa_mc.engines.gqa.wording import Phrase, one, several, spelled, stands_before, with_article, wordings
from hf_vqa_mc.engines.rng import SeededRng

WORDINGS = {"or": wordings("exist or")["any"], "and": wordings("exist and")["any"]}
Filters = tuple[tuple[str, str] | None, tuple[str, str] | None]  # Type and value of the first thing and of the second.


def either(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Do you see either an apple or a banana there?"""
    for key in rng.shuffled(asking.objects):
        here, absent = asking.name(key), asking.absent(rng, key)
        if absent is None:
            continue
        if rng.happens(0.5):
            here_too = asking.absent(rng, key)
            if here_too is None or here_too == absent:
                continue
            here = here_too
        yield from _two(asking, (here, absent), "or", key, rng)


def both(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Do you see both green apples and bananas there?"""
    for key in rng.shuffled(asking.objects):
        other: str | None = asking.name(rng.pick(asking.objects))
        if rng.happens(0.5):
            other = asking.absent(rng, key)
        if other is not None:
            yield from _two(asking, (other, asking.name(key)), "and", key, rng)


def _two(asking: Asking, names: tuple[str, str], word: str, key: str, rng: SeededRng) -> Iterator[Draft]:
    """Two things, the second or both with one value of the object ``key`` at times."""
    first, second = names
    nouns = [asking.ontology.nouns[name] for name in names]
    if None in map(asking.is_there, names) or nouns[0].kind == nouns[1].kind:
        return
    if any(noun.vague or cannot_be_missing(asking, noun.name) for noun in nouns):
        return
    if asking.ontology.isa(first, second) or asking.ontology.isa(second, first):
        return
    places = any(asking.is_any(name, *PLACES) for name in names)
    singles = [one(asking.ontology, name) for name in names]
    if places and None in singles:
        return  # snow or kitchens
    filters = _filters(asking, key, names, word, rng)
    # one number for both: "either an apple or a banana", "either apples or bananas"
    as_one = (places or rng.happens(0.5)) and None not in singles
    programs: list[Program] = []
    forms: list[str] = []
    for name, single, pair in zip(names, singles, filters, strict=True):
        program, before = selected(name), ""
        if pair is not None:
            program, before = then(program, "filter", *pair, ""), stands_before(asking.ontology, *pair) or ""
        programs.append(then(program, "exist"))
        many = f"{before} {several(asking.ontology, name).text}".strip()
        forms.append(with_article(f"{before} {single.text}".strip()) if as_one and single else many)
    present = [asking.executor.run(program).answer for program in programs]
    if None in present:
        asking.left_out["not settled by the graph"] += 1
        return
    is_there = [answer == YES for answer in present]
    with_value = filters[1]
    local = f"04-{second}_{with_value[1]}" if with_value else None
    yield yes_no(
        f"exist{'Attr' if with_value else ''}{word.title()}",
        joined(programs[0], programs[1], word),
        any(is_there) if word == "or" else all(is_there),
        WORDINGS[word],
        {
            "there": "Is there" if as_one or several(asking.ontology, first).mass else "Are there",
            "one": forms[0],
            "other": forms[1],
        },
        _which(asking, names, filters, is_there, word),
        local or f"09exist{word.title()}-{'_'.join(sorted(noun.kind for noun in nouns))}",
    )


def _filters(asking: Asking, key: str, names: tuple[str, str], word: str, rng: SeededRng) -> Filters:
    pairs = [
        (kind, value)
        for kind, value in asking.value_kinds(key)
        if kind in ("color", "size") and stands_before(asking.ontology, kind, value)
    ]
    if not pairs or not rng.happens(0.35) or asking.name(key) not in names:
        return None, None
    kind, value = rng.pick(pairs)
    if not all(asking.references.name_can_have(name, kind) for name in names):  # a black office
        return None, None
    if rng.happens(0.5):
        decoy = asking.decoys.attribute(asking.graph, key, kind, rng)
        if decoy is None or stands_before(asking.ontology, kind, decoy) is None:
            return None, None
        value = decoy
    return ((kind, value) if word == "or" else None), (kind, value)


def _which(asking: Asking, names: tuple[str, str], filters: Filters, is_there: list[bool], word: str) -> Phrase:
    things = list(zip(names, filters, is_there, strict=True))
    parts = [_with(asking, name, pair) for name, pair, there in things if there]
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


def _with(asking: Asking, name: str, pair: tuple[str, str] | None) -> list[Part]:
    if pair is None:
        return [(text.removeprefix("there "), key) for text, key in there_is(asking, name)]
    key = next(key for key in asking.all_of(name) if asking.executor.has_value(key, *pair) == YES)
    said = asking.said(key)
    return is_a(said, f"{stands_before(asking.ontology, *pair)} {said.text}", key)
