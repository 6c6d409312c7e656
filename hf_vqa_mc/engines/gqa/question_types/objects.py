"""Questions about objects: is there an apple, a red one, either of two things; what kind of fruit is it."""

from collections.abc import Iterator

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa import references
from hf_vqa_mc.engines.gqa.executor import NO, YES, Part, Program, joined, then
from hf_vqa_mc.engines.gqa.ontology import PEOPLE
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext, selected
from hf_vqa_mc.engines.gqa.references import MATERIAL, POSITIONS, NounPhrase, Phrase, Reference, spelled, wordings
from hf_vqa_mc.engines.vocabulary import with_article

PLACES = ("place", "room")
EXIST, TWO = wordings("exist"), {"or": wordings("exist or")["any"], "and": wordings("exist and")["any"]}
Filters = tuple[tuple[str, str] | None, tuple[str, str] | None]  # (type, value) of the first object and of the second


def object_form(
    image: ImageContext, name: str, rng: SeededRng, before: str = ""
) -> tuple[NounPhrase, str, dict[str, str | Phrase]]:
    """A noun, singular, plural or mass, after an adjective: its phrase, the variant of wordings, and their slots."""
    single, many = image.one(name), image.several(name)
    is_one = single is not None and (image.is_any(name, *PLACES) or rng.happens(0.5))
    some = f"{before} {many.text}".strip()
    a = some if single is None else with_article(f"{before} {single.text}".strip())
    phrase = single if is_one and single is not None else many
    return phrase, "one" if is_one else "mass" if many.mass else "several", {"a": a, "several": some}


def exist(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Is there an apple in the picture?" and "Is there one that is (not) red?"."""
    for key in rng.shuffled([*image.objects, *image.objects, *image.objects]):
        way = rng.below(4)
        if way > 1:
            yield from _exist_value(image, key, way == 3 and rng.happens(0.4), rng)
            continue
        name = image.decoys.absent(image.graph, key, rng) if way else image.names[key]
        if not name or (answer := image.exists(name)) is None or cannot_be_missing(image, name):
            continue
        _, variant, slots = object_form(image, name, rng)
        phrase, slots["more"] = image.several(name), ""
        full = there_is(image, name) if answer == YES else [(f"there {phrase.be} no {phrase.text}", "")]
        program, local = then(selected(name), "exist"), f"03-{image.ontology.kind(name)}"
        yield Draft("exist", program, "", EXIST[variant], slots, full, local).yes_no(answer == YES)


def cannot_be_missing(image: ImageContext, name: str) -> bool:
    """Whether its existence cannot be asked about: a thing, the sky, a proper name, glasses (not several of glass)."""
    phrase, noun = image.called(name), image.ontology.nouns[name]
    plural = image.ontology.nouns.get(noun.plural_form, noun)
    is_place = phrase.mass and image.is_any(name, *PLACES)
    is_special = noun.vague or phrase.proper or phrase.unique
    return is_special or is_place or name in references.NOT_UNIQUE or plural.kind != noun.kind


def there_is(image: ImageContext, name: str) -> list[Part]:
    """The clause "there is a door" or "there are doors", with the object."""
    keys = image.all_of(name)
    phrase = image.phrase(keys[0])
    if len(keys) > 1 and not phrase.mass and not phrase.plural:
        return [("there are", ""), (image.several(image.names[keys[0]]).text, keys[0])]
    return [(f"there {phrase.be}", ""), *image.a(keys[0])]


def is_a(phrase: NounPhrase, text: str, key: str) -> list[Part]:
    """The words "is a red apple" or "are red apples", with the object."""
    article = "" if phrase.plural or phrase.mass else with_article(text).split(" ")[0]
    return [(f"{phrase.be} {article}", ""), (text, key)]


def _exist_value(image: ImageContext, key: str, negated: bool, rng: SeededRng) -> Iterator[Draft]:
    pairs = [pair for pair in image.value_kinds(key) if pair[0] in image.ontology.exclusive]
    name = image.names[key]
    if not pairs or cannot_be_missing(image, name):
        return
    kind, value = rng.pick(pairs)
    asked = image.decoy_value(key, kind, rng) if rng.happens(0.5) else value
    if asked is None:
        return
    wanted = NO if negated else YES
    matching = [other for other in image.all_of(name) if image.has_value(other, kind, asked) == wanted]
    before = None if negated else image.stands_before(kind, asked)
    behind = before is None or (kind == MATERIAL and rng.happens(0.5)) or rng.happens(0.3)
    phrase, variant, slots = object_form(image, name, rng, "" if behind else before or "")
    slots["more"] = image.stands_behind(kind, asked, phrase, negated, rng) if behind else ""
    detailed = "existMaterial" if kind == MATERIAL else "existThat" if behind else "existAttr"
    detailed, mark = (f"{detailed}Not", "n#") if negated else (detailed, "")
    program = then(then(selected(name), "filter", kind, asked, "not" if negated else ""), "exist")
    full, local = _with_value(image, name, matching, kind, asked, negated), f"04-{name}_{mark}{asked}"
    yield Draft(detailed, program, "", EXIST[variant], slots, full, local).yes_no(bool(matching))


def _with_value(image: ImageContext, name: str, matching: list[str], kind: str, value: str, negated: bool) -> Phrase:
    """What is there of a name: a red apple, or else an apple, but it is green; ``matching``: objects as asked."""
    key, *others = matching or image.all_of(name)
    many, phrase = image.several(image.names[key]), image.phrase(key)
    own = image.things[key].values.get(kind, (value,))[0]
    if matching:
        before = image.stands_before(kind, own)
        text = f"{before} {phrase.text}" if before else f"{phrase.text} that {phrase.be} {image.predicate(kind, own)}"
        return [("there", ""), *is_a(phrase, text, key)]
    if others and many.plural:
        none = f"but they are {'all' if negated else 'not'} {image.predicate(kind, value)}"
        return [("there are", ""), (many.text, key), (none, "")]
    it = f"the {phrase.text}" if image.is_any(image.names[key], PEOPLE) else "it"
    it = "they are" if phrase.plural else f"{it} is"
    return [(f"there {phrase.be}", ""), *image.a(key), (f"but {it} {image.predicate(kind, own)}", "")]


def either(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Do you see either an apple or a banana there?"."""
    for key in rng.shuffled(image.objects):
        if (absent := image.decoys.absent(image.graph, key, rng)) is None:
            continue
        first = image.decoys.absent(image.graph, key, rng) if rng.happens(0.5) else image.names[key]
        if first and first != absent:
            yield from _two(image, (first, absent), "or", key, rng)


def both(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "Do you see both green apples and bananas there?"."""
    for key in rng.shuffled(image.objects):
        shown = image.names[rng.pick(image.objects)]
        if other := image.decoys.absent(image.graph, key, rng) if rng.happens(0.5) else shown:
            yield from _two(image, (other, image.names[key]), "and", key, rng)


def _two(image: ImageContext, names: tuple[str, str], word: str, key: str, rng: SeededRng) -> Iterator[Draft]:
    """Ask about two names, sometimes with a value of the object ``key`` for the second or for both."""
    first, second = names
    nouns = [image.ontology.nouns[name] for name in names]
    if (
        None in map(image.exists, names)
        or any(cannot_be_missing(image, name) for name in names)
        or image.ontology.isa(first, second)  # also if they are of one kind
        or image.ontology.isa(second, first)
    ):
        return
    places = any(image.is_any(name, *PLACES) for name in names)
    singles = [image.one(name) for name in names]
    if places and None in singles:
        return  # not "snow or kitchens"
    filters = _filters(image, key, names, word, rng)
    # the same number for both: "either an apple or a banana", "either apples or bananas"
    as_one = (places or rng.happens(0.5)) and None not in singles
    programs: list[Program] = []
    slots = {"there": "Is there" if as_one or image.several(first).mass else "Are there"}
    for slot, name, single, pair in zip(("one", "other"), names, singles, filters, strict=True):
        program, before = selected(name), ""
        if pair is not None:
            program, before = then(program, "filter", *pair, ""), image.stands_before(*pair) or ""
        programs.append(then(program, "exist"))
        many = f"{before} {image.several(name).text}".strip()
        slots[slot] = with_article(f"{before} {single.text}".strip()) if as_one and single else many
    answers = [image.run(program).answer for program in programs]
    if None in answers:
        image.left_out["not settled by the graph"] += 1
        return
    present = [answer == YES for answer in answers]
    value, kinds = filters[1], "_".join(sorted(noun.kind for noun in nouns))
    local = f"04-{second}_{value[1]}" if value else f"09exist{word.title()}-{kinds}"
    detailed, program = f"exist{'Attr' if value else ''}{word.title()}", joined(programs[0], programs[1], word)
    full = _which(image, names, filters, present, word)
    yield Draft(detailed, program, "", TWO[word], slots, full, local).yes_no((any if word == "or" else all)(present))


def _filters(image: ImageContext, key: str, names: tuple[str, str], word: str, rng: SeededRng) -> Filters:
    known = [pair for pair in image.value_kinds(key) if pair[0] in ("color", "size")]
    pairs = [pair for pair in known if image.stands_before(*pair)]
    if not pairs or not rng.happens(0.35) or image.names[key] not in names:
        return None, None
    kind, value = rng.pick(pairs)
    fits = all(image.can_have(name, kind) for name in names)  # not a black office
    if fits and rng.happens(0.5):
        value = image.decoys.attribute(image.graph, key, kind, rng) or ""
        fits = image.stands_before(kind, value) is not None
    pair = (kind, value) if fits else None
    return pair if word == "or" else None, pair


def _which(image: ImageContext, names: tuple[str, str], filters: Filters, present: list[bool], word: str) -> Phrase:
    things = list(zip(names, filters, present, strict=True))
    parts = [_stated(image, name, pair) for name, pair, is_present in things if is_present]
    lacking = [(image.several(name).text, pair) for name, pair, is_present in things if not is_present]
    missing = [f"{spelled(pair[1]) if pair else ''} {text}".strip() for text, pair in lacking]
    if parts and (word == "or" or missing):
        return [("there", ""), *parts[0], *([] if word == "or" else [(f"but no {missing[0]}", "")])]
    if parts:
        starts = [(words.removeprefix("is").removeprefix("are").strip(), key) for (words, key), *_ in parts]
        return [("there are both", ""), starts[0], *parts[0][1:], ("and", ""), starts[1], *parts[1][1:]]
    one_be, other_be = (image.several(name).be for name in names)
    second = "or" if one_be == other_be else f"and there {other_be} no"
    return [(f"there {one_be} no {missing[0]} {second} {missing[1]}", "")]


def _stated(image: ImageContext, name: str, pair: tuple[str, str] | None) -> list[Part]:
    if pair is None:
        return [(text.removeprefix("there "), key) for text, key in there_is(image, name)]
    key = next(key for key in image.all_of(name) if image.has_value(key, *pair) == YES)
    phrase = image.phrase(key)
    return is_a(phrase, f"{image.stands_before(*pair)} {phrase.text}", key)


QUERY_CATEGORY, CHOOSE_CATEGORY = wordings("query category"), wordings("choose category")


def query_category(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "What kind of fruit is on the left?" and "Who is playing?"."""
    for category, reference in _by_category(image, rng):
        name, filtered = image.names[reference.object_id], reference.program[1:]
        if not filtered:
            detailed, form = ("categoryThis", "this") if rng.happens(0.6) else ("category", "it")
            local = f"11q-{category}"
        else:
            kind, value, negated = filtered[0].argument
            if not image.can_be_said(kind, value):  # a pepper plant "is not pepper"
                continue
            detailed, form = ("categoryThat", "that") if rng.happens(0.6) else ("categoryAttr", "called")
            if category == PEOPLE and reference.head.plural:
                continue
            local = f"12q-{category}_{'n#' if negated else ''}{value}"
            if category == PEOPLE:
                detailed, form, local = "activityWho", "who", value
        slots, full = _category_slots(image, category, reference), _named(image, reference, detailed)
        program = then(reference.program, "query", "name")
        yield Draft(detailed, program, name, QUERY_CATEGORY[form], slots, full, local, image.category(name))


def _by_category(image: ImageContext, rng: SeededRng) -> list[tuple[str, Reference]]:
    """Unambiguous references by category instead of name, in random order; for people only with a modifier."""
    return rng.shuffled(
        (category, reference)
        for key in image.objects
        for reference in image.plain(key)
        if (key, references.NAMED) not in reference.facts and reference.determiner == "the"
        if (category := reference.program[0].argument[0]) in image.kinds_asked(image.names[key])
        if image.names[key] != category and not (category == PEOPLE and len(reference.program) < 2)
    )


def _filter_value(image: ImageContext, reference: Reference) -> str:
    kind, value, negated = reference.program[1].argument
    return f"{'not ' if negated else ''}{image.predicate(kind, value)}"


def _category_slots(image: ImageContext, category: str, reference: Reference) -> dict[str, str | Phrase]:
    phrase = reference.head
    kind, be = image.kind_of(category, phrase.plural or image.phrase(reference.object_id).plural)
    it, this = ("they", "these") if phrase.plural else ("it", "this")
    value = _filter_value(image, reference) if len(reference.program) > 1 else ""
    slots = {"kind": kind, "be": be, "cat": phrase.text, "is": phrase.be, "it": it, "this": this, "value": value}
    return {**slots, "the": reference.the}


def _named(image: ImageContext, reference: Reference, detailed: str) -> list[Part]:
    key, phrase = reference.object_id, image.phrase(reference.object_id)
    if detailed == "activityWho":
        where = " of the image" if reference.program[1].argument[:2] in POSITIONS else ""
        return [*image.the(key), (f"{phrase.be} {_filter_value(image, reference)}{where}", "")]
    if detailed.startswith("categoryThis"):
        return [("These are" if phrase.plural else "This is", ""), *image.a(key)]
    return [("The", ""), (reference.head.text, key), (reference.head.be, ""), *image.a(key)]


def choose_category(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "What kind of fruit is it, an apple or a banana?"."""
    for category, reference in _by_category(image, rng):
        name = image.names[reference.object_id]
        if (decoy := image.decoys.sibling(name, category, rng, image.graph)) is None:
            continue
        options = rng.shuffled((name, decoy))
        one_text, other_text = (image.called(option).some for option in options)
        filtered = len(reference.program) > 1
        unsaid = filtered and not image.can_be_said(*reference.program[1].argument[:2])
        if unsaid or (category == PEOPLE and reference.head.plural):
            continue
        detailed, form = ("categoryThatChoose", "that") if filtered else ("categoryThisChoose", "this")
        form = "who" if category == PEOPLE else form
        program = then(reference.program, "choose", "name", *options)
        slots = _category_slots(image, category, reference) | {"one": one_text, "other": other_text}
        full, local = _named(image, reference, detailed), f"{'12c' if filtered else '11c'}-{category}"
        yield Draft(detailed, program, name, CHOOSE_CATEGORY[form], slots, full, local, image.category(name))
