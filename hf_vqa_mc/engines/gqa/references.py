"""The words of questions, and unambiguous references to objects (Hudson and Manning 2019, Sect. 3.3).

Direct if the name or category alone is unambiguous (the bear, this animal), else with a modifier: an attribute (the
white bear), a position (the bear on the left), a relation (the bear that is wearing the coat), a negation (the bear
that is not white), also nested. A reference is unambiguous if its program finds that object and no other possible one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import Executor, Part, Program, Step, then
from hf_vqa_mc.engines.gqa.ontology import BODY_PART, LIVING, PEOPLE, VALUES, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, VERTICAL, SceneGraph
from hf_vqa_mc.engines.vocabulary import Vocabulary, plural_of, with_article

WORDS = Vocabulary("gqa/wording")
PARTITIVES = WORDS.read("partitives", dict[str, str])
_SWITCHED = WORDS.read("switched", dict[str, str])
_POSITIONS = WORDS.read("positions", dict[str, dict[str, tuple[str, ...]]])
DOING = ("activity", "sportActivity", "pose")  # Types of values that only people and animals have.
MATERIAL = "material"

Phrase: TypeAlias = Sequence[Part]

NOT_UNIQUE = {"glass"}  # Countable names whose plural names another thing.

_CAPITALS = {word.lower(): word for word in WORDS["capitals"]}
POSITIONS = {(kind, value): phrases for kind, values in _POSITIONS.items() for value, phrases in values.items()}


class NounPhrase(NamedTuple):
    """A noun phrase and its grammar."""

    text: str
    plural: bool = False  # takes a plural verb
    mass: bool = False  # takes no indefinite article
    proper: bool = False  # a proper name
    unique: bool = False  # usually one per image: the sky

    @property
    def be(self) -> str:
        """The verb form "is" or "are"."""
        return "are" if self.plural else "is"

    @property
    def some(self) -> str:
        """With an indefinite article if it takes one: an apple, apples, water."""
        if self.unique:
            return f"the {self.text}"
        return self.text if self.plural or self.mass or self.proper else with_article(self.text)


@lru_cache(maxsize=1 << 16)
def spelled(text: str) -> str:
    """A name or value with its capitals."""
    return " ".join(_CAPITALS.get(word, word) for word in text.split(" "))


@cache
def relation_form(name: str) -> str | None:
    """The form of a relation: "verb" (wearing), "state" (parked on), "place" (near); None if it cannot follow "is"."""
    first = name.split()[0]
    if name in WORDS["prepositions"]:
        return "place"
    if first in WORDS["passives"]:
        return "state"
    return "verb" if first.endswith("ing") and first not in ("during", "king") else None


_TEMPLATES = Vocabulary("gqa/templates")
_PHRASES = _TEMPLATES.read("phrases", dict[str, tuple[str, ...]])
_BY_TYPE = _TEMPLATES.read("templates", dict[str, dict[str, tuple[str, ...]]])  # by question type and variant
DETAILED_TYPES = _TEMPLATES.read("detailed types", dict[str, dict[str, str]])  # GQA's names, by type and variant


class Pattern:
    """A wording with slots ``{x}`` and phrases ``{X}`` with alternatives: ``{WHAT} color {THINK} {is} {the}?``."""

    def __init__(self, text: str, phrases: Mapping[str, Sequence[str]]) -> None:
        pieces = re.split(r"\{([A-Z_]+)\}", text.removesuffix("?"))
        choices = [phrases[piece] if at % 2 else [piece] for at, piece in enumerate(pieces)]
        self.forms: list[list[tuple[str, bool]]] = []  # alternating texts and slots
        for form in dict.fromkeys(re.sub(r"\s*,", " ,", "".join(chosen)) for chosen in product(*choices)):
            found = [(" ".join(piece.split()), at % 2 == 1) for at, piece in enumerate(re.split(r"\{(\w+)\}", form))]
            if (parts := [(piece, is_slot) for piece, is_slot in found if piece]) not in self.forms:
                self.forms.append(parts)

    def fill(self, rng: SeededRng, slots: Mapping[str, str | Phrase], avoided: Set[str] = frozenset()) -> list[Part]:
        """A random form with its slots filled, without the avoided words if there is such a form."""
        forms = self.forms
        if avoided:
            fixed = (" ".join(text for text, is_slot in form if not is_slot).split() for form in forms)
            forms = [form for form, words in zip(forms, fixed, strict=True) if avoided.isdisjoint(words)] or forms
        parts: list[Part] = []
        for text, is_slot in rng.pick(forms):
            value = slots[text] if is_slot else text
            parts.extend([(value, "")] if isinstance(value, str) else value)
        return parts


def wordings(question_type: str) -> dict[str, tuple[Pattern, ...]]:
    """The wordings of a question type by variant."""
    by_variant = _BY_TYPE[question_type].items()
    return {variant: tuple(Pattern(text, _PHRASES) for text in texts) for variant, texts in by_variant}


INDIRECT = 0.45  # Fraction of references with a modifier where the name alone is unambiguous.
BY_CATEGORY = 0.25  # Fraction of references by category (this animal) where the name is unambiguous.
LARGEST_SIDE = 0.6  # Objects wider than this fraction of the image are not to the left or right of anything.
PROMINENT = 0.1  # Objects that cover this fraction of the image may be called "this".
NEAREST = 4  # How many of the nearest objects to the left and right may be used in references.

Fact: TypeAlias = tuple[str, ...]
"""A fact that a reference mentions: (object,) itself, (object, "name"), (object, type), (subject, object)."""
NO_FACTS: frozenset[Fact] = frozenset()
NAMED = "name"
_NO_SIDES = WORDS["background"] | WORDS["on others"]


class Reference(NamedTuple):
    """One way to refer to an object."""

    object_id: str
    head: NounPhrase  # its noun in the reference
    program: Program
    words: tuple[Part, ...]  # without the article
    facts: frozenset[Fact]
    depth: int  # nested modifiers: 0 for the bear
    determiner: str = "the"

    @property
    def with_that(self) -> "Reference":
        """With "that is" after its noun, so that more words may follow: the cup that is on the left."""
        if len(self.words) < 2 or self.words[1][0].startswith("that"):
            return self
        head, (behind, key), *more = self.words
        if not behind and (not more or not more[0][0] or relation_form(more[0][0]) is None):  # the hat the man has on
            return self
        return self._replace(words=(head, (f"that {self.head.be} {behind}".strip(), key), *more))

    @property
    def the(self) -> tuple[Part, ...]:
        """With the article."""
        return ((self.determiner, ""), *self.words)


class References(Executor):
    """The words of one image, and references to its objects with ``depth`` nested modifiers at most."""

    def __init__(self, graph: SceneGraph, ontology: Ontology, depth: int) -> None:
        super().__init__(graph, ontology)
        self.depth, self.things = depth, graph.objects
        self.names = {key: thing.name for key, thing in graph.objects.items()}
        self.nouns = {key: ontology.nouns[name] for key, name in self.names.items()}
        self.kinds = {key: noun.kind for key, noun in self.nouns.items()}
        self.heads, self.links = cache(self._heads), cache(self._links)
        self.plain = cache(lambda object_id: tuple(self._plain(object_id)))

    def called(self, name: str) -> NounPhrase:
        """A noun as a phrase."""
        noun = self.ontology.nouns[name]
        mass = (noun.mass or name in WORDS["uncounted"]) and not noun.plural
        unique = not (noun.plural or mass or noun.proper or noun.plural_form or name in NOT_UNIQUE)
        return NounPhrase(name.title() if noun.proper else spelled(name), noun.plural, mass, noun.proper, unique)

    def one(self, name: str) -> NounPhrase | None:
        """The singular phrase: "apple" for apples; None for nouns without a singular (pants, water)."""
        noun = self.ontology.nouns[name]
        uncounted = noun.mass or noun.proper or name in WORDS["uncounted"] or not noun.plural_form
        return None if uncounted or (noun.plural and not noun.singular) else NounPhrase(spelled(noun.singular or name))

    def several(self, name: str) -> NounPhrase:
        """The plural phrase, or that of a mass noun: apples, pants, water."""
        noun = self.ontology.nouns[name]
        as_it_is = noun.plural or not noun.plural_form or name in WORDS["uncounted"]
        return self.called(name) if as_it_is else NounPhrase(spelled(noun.plural_form), plural=True)

    def as_category(self, category: str, plural: bool) -> NounPhrase | None:
        """The phrase for an object by its category, such as "piece of furniture"; None if there is none."""
        if category in PARTITIVES:
            return NounPhrase(category, mass=True) if plural else NounPhrase(f"{PARTITIVES[category]} of {category}")
        noun = self.ontology.nouns.get(category)
        if noun is None:
            return NounPhrase(spelled(plural_of(category) if plural else category), plural)
        form = noun.plural_form if plural and not (noun.mass or noun.plural) else category
        if noun.vague or noun.proper or (noun.plural and not plural) or not form:
            return None
        return NounPhrase(spelled(form), plural=plural and not noun.mass, mass=noun.mass)

    def predicate(self, kind: str, value: str) -> str:
        """A value after "is": red, made of wood, on the left."""
        if (kind, value) in POSITIONS:
            return POSITIONS[kind, value][0]
        is_made = kind == MATERIAL
        adjective = f"made of {spelled(value)}" if is_made else spelled(self.ontology.attributes[value].adjective)
        return _SWITCHED.get(value, adjective)

    def stands_before(self, kind: str, value: str) -> str | None:
        """A value as an adjective before its noun; None if it follows the noun (waiting, on the left)."""
        attribute = self.ontology.attributes.get(value)
        follows = attribute is None or attribute.verb or value in VALUES["after only"] or (kind, value) in POSITIONS
        return None if follows or attribute is None else spelled(attribute.adjective)

    def stands_behind(self, kind: str, value: str, phrase: NounPhrase, negated: bool, rng: SeededRng) -> str:
        """A value after its noun: that is red, made of wood, on the left, that is not waiting."""
        if (kind, value) in POSITIONS and not negated:
            return f"{rng.pick(('', f'that {phrase.be} '))}{rng.pick(POSITIONS[kind, value])}"
        short = kind == MATERIAL and not negated and rng.happens(0.5)
        return f"{'' if short else f'that {phrase.be} '}{'not ' if negated else ''}{self.predicate(kind, value)}"

    def kind_of(self, category: str, plural: bool) -> tuple[str, str]:
        """A category after "what kind of", with its verb: devices are, clothing is."""
        phrase = self.as_category(category, plural)
        if phrase is None or phrase.mass or category in PARTITIVES:
            return category, "is"
        return phrase.text, phrase.be

    def _heads(self, object_id: str) -> tuple[tuple[str, NounPhrase], ...]:
        """The names of an object, its own first, then two categories, with their words."""
        noun = self.nouns[object_id]
        wider = [
            (category, phrase)
            for category in self.categories(noun.name)
            if category not in WORDS["too wide"] and category != noun.kind and noun.name not in WORDS["own name only"]
            if (phrase := self.as_category(category, noun.plural)) is not None
        ]
        return ((noun.name, self.called(noun.name)), *wider[:2])

    def categories(self, name: str) -> tuple[str, ...]:
        """Categories by which an object can be referred to; not of clothes, as people wear more than is annotated."""
        parents = () if self.graph.nameless else self.ontology.nouns[name].parents
        return tuple(category for category in parents if category not in WORDS["worn categories"])

    def _plain(self, object_id: str) -> Iterator[Reference]:
        rng = SeededRng(0, self.graph.image_id, object_id, "references")
        for index, (name, phrase) in enumerate(self.heads(object_id)):
            select: Program = (Step("select", (name,)),)
            named: set[Fact] = {(object_id,)} if index else {(object_id,), (object_id, NAMED)}
            direct = self.is_clear(select, object_id)
            if direct:
                reference = Reference(object_id, phrase, select, ((phrase.text, object_id),), frozenset(named), 0)
                yield reference
                _, _, width, height = self.things[object_id].box
                if index and not phrase.proper and width * height >= PROMINENT * self.graph.width * self.graph.height:
                    yield reference._replace(determiner="these" if phrase.plural else "this")
            for kind, value, negated in self._modifiers(object_id, name, direct):
                program = then(select, "filter", kind, value, negated)
                if not self.is_clear(program, object_id):
                    continue
                before = None if negated else self.stands_before(kind, value)
                facts = frozenset({*named, (object_id, kind)})
                if before is not None:
                    words: tuple[Part, ...] = ((f"{before} {phrase.text}", object_id),)
                    yield Reference(object_id, phrase, program, words, facts, 1)
                if before is None or kind == MATERIAL:
                    behind = self.stands_behind(kind, value, phrase, bool(negated), rng)
                    words = ((phrase.text, object_id), (behind, ""))
                    yield Reference(object_id, phrase, program, words, facts, 1)

    def _modifiers(self, object_id: str, name: str, direct: bool) -> list[tuple[str, str, str]]:
        values, own_name = self.things[object_id].values, self.names[object_id]
        attributes = self.ontology.attributes
        unique = self.called(name).unique if name in self.ontology.nouns else False
        own = [
            (kind, value, "")
            for kind, several in values.items()
            for value in several
            if (kind in (HORIZONTAL, VERTICAL) or value in attributes) and value not in name.split()
            if not (unique and kind in (HORIZONTAL, VERTICAL)) and self.can_have(own_name, kind)
            if kind or not {*DOING} & {*attributes[value].types}  # a disc that is sitting
            if value != "middle" or (kind == HORIZONTAL and values.get(VERTICAL, ()) in ((), ("middle",)))
        ]
        if direct or unique:
            return own
        others = {
            (kind, value, "not")
            for key, other in self.things.items()
            if key != object_id and self.ontology.may_be(other.name, name)
            for kind, several in other.values.items()
            if kind in values and kind not in ("", HORIZONTAL, VERTICAL)
            for value in several
            if value in attributes
        }
        return own + sorted(others)

    def is_clear(self, program: Program, object_id: str) -> bool:
        """Whether a program finds this object and no other possible one."""
        found = self.find(program)
        return found is not None and found.only == object_id

    def has_sides(self, *names: str) -> bool:
        """Whether left and right are natural for such objects."""
        nouns = map(self.ontology.nouns.__getitem__, names)
        return all(noun.kind not in _NO_SIDES and BODY_PART not in noun.parents for noun in nouns)

    def side_by_side(self, one: str, other: str) -> bool:
        """Whether left and right are natural, neither is wide, and they overlap by half of the narrower at most."""
        (x, _, width, _), (x2, _, width2, _) = (self.things[key].box for key in (one, other))
        return (
            self.has_sides(self.names[one], self.names[other])
            and max(width, width2) <= LARGEST_SIDE * self.graph.width
            and min(x + width, x2 + width2) - max(x, x2) <= 0.5 * min(width, width2)
        )

    def can_have(self, name: str, kind: str) -> bool:
        """Whether a thing can have a value of a type: a man has activities but no material, a room no color."""
        noun = self.ontology.nouns[name]
        if kind in WORDS["types of surfaces"] and (noun.kind in WORDS["whole places"] or "room" in noun.parents):
            return False
        if kind in WORDS["types of people"]:
            return self.ontology.isa(name, PEOPLE)
        if kind in WORDS["types of things"] and self.ontology.isa(name, PEOPLE):
            return False
        if kind not in DOING and kind != MATERIAL:
            return True
        return any(self.ontology.isa(name, category) for category in LIVING) == (kind in DOING)

    def _links(self, object_id: str) -> tuple[tuple[NounPhrase, str, str, str, str], ...]:
        """Relations that identify an object: its noun and name, the relation, "s" (subject) or "o", other object."""
        ends = [(relation, "s", target) for relation, target in sorted(self.things[object_id].relations)]
        relations = self.ontology.relations
        edges = ((key, *edge) for key, thing in self.things.items() for edge in sorted(thing.relations))
        directed = ((name, key) for key, name, target in edges if target == object_id)
        ends += [(name, "o", key) for name, key in directed if not relations[name].inverse]
        center = {key: thing.box[0] + thing.box[2] / 2 for key, thing in self.things.items()}
        sides = [end for end in ends if end[0] in (LEFT, RIGHT) and self.side_by_side(object_id, end[2])]
        nearest = sorted(sides, key=lambda end: abs(center[object_id] - center[end[2]]))
        return tuple(
            (phrase, name, relation, side, other)
            for relation, side, other in [*(end for end in ends if end[0] not in (LEFT, RIGHT)), *nearest[:NEAREST]]
            if relation_form(relation) is not None
            and self.askable(other)
            and not (relation in WORDS["within"] and self.kinds[other] in WORDS["pictures"])
            and self.kinds[object_id] != self.kinds[other]
            for name, phrase in self.heads(object_id)
            if (anchor := self.plain(other)[:1])
            and self.is_clear(then(anchor[0].program, "relate", name, relation, side), object_id)
        )

    def askable(self, object_id: str) -> bool:
        """Whether people would refer to an object by itself."""
        noun = self.nouns[object_id]
        return not noun.vague and (noun.plural or noun.kind not in WORDS["several each"])

    def pick(
        self, object_id: str, rng: SeededRng, hidden: Set[Fact] = NO_FACTS, depth: int | None = None
    ) -> Reference | None:
        """An unambiguous reference without ``hidden`` facts, of ``depth`` nested modifiers at most; or None."""
        if not self.askable(object_id):
            return None
        depth = self.depth if depth is None else depth
        plain = [one for one in self.plain(object_id) if one.depth <= depth and one.facts.isdisjoint(hidden)]
        direct, modified = ([one for one in plain if (one.depth > 0) == deep] for deep in (False, True))
        if not direct or (depth > 0 and rng.happens(INDIRECT)):
            related = depth > 0 and not self.heads(object_id)[0][1].unique and bool(self.links(object_id))
            if related and (not modified or rng.happens(0.5)):
                if (reference := self._by_relation(object_id, rng, hidden, depth)) is not None:
                    return reference
            if modified:
                return rng.pick(modified)
        own, wider = ([one for one in direct if ((object_id, NAMED) in one.facts) == named] for named in (True, False))
        if not direct:
            return None
        return rng.pick(wider if wider and (not own or rng.happens(BY_CATEGORY)) else own)

    def _by_relation(self, object_id: str, rng: SeededRng, hidden: Set[Fact], depth: int) -> Reference | None:
        for head, name, relation, side, other in rng.shuffled(self.links(object_id))[:3]:
            own: set[Fact] = {(object_id,), (object_id, other), (other, object_id)}
            if name == self.names[object_id]:
                own.add((object_id, NAMED))
            if not own.isdisjoint(hidden) or (other,) in hidden:
                continue
            anchor = self.pick(other, rng, {*hidden, (object_id,)}, depth - 1)
            if anchor is None or any(step.argument[-1:] == ("not",) for step in anchor.program):
                continue  # not "the man wearing the hat that is not tan"
            if side == "s":
                nested = len(anchor.words) > 1 or (relation in (LEFT, RIGHT) and rng.happens(0.5))
                that = f"that {head.be}" if nested or rng.happens(0.3) else ""
                behind = [(that, ""), (relation, ""), *anchor.the]
            elif len(anchor.words) == 1:
                short = anchor.depth == 0 and relation_form(relation) == "verb" and rng.happens(0.5)
                behind = [("" if short else "that", ""), *anchor.the, (f"{anchor.head.be} {relation}", "")]
            else:
                continue
            program = then(anchor.program, "relate", name, relation, side)
            words = ((head.text, object_id), *behind)
            return Reference(object_id, head, program, words, anchor.facts | own, anchor.depth + 1)
        return None
