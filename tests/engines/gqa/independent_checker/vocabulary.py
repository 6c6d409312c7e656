"""What words mean, read from GQA's ontology files as they were published; none of the engine's own tables."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

SURE, MAYBE, NO = 2, 1, 0
WORDS = yaml.safe_load((Path(__file__).parent / "words.yaml").read_text("utf-8"))
PLACES = ({"left", "right"}, {"top", "bottom"})
"""of an object in the image"""
COLOUR_LIKE = {"color": {"tone", "brightness"}}
"""What color is it? Dark."""


class Noun(NamedTuple):
    """A name of an object."""

    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """names it is a kind of, or that are like it: the published file does not tell these apart"""
    synonyms: tuple[str, ...] = ()


class Value(NamedTuple):
    """A value of an attribute."""

    types: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    similar: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()
    """other words for it: wooden"""


@dataclass
class Vocabulary:
    """The names and values with what is known of them."""

    nouns: dict[str, Noun]
    values: dict[str, Value]
    _lemmas: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.same_values: dict[str, set[str]] = {}
        for name, value in self.values.items():
            for form in value.forms:
                self.same_values.setdefault(form, set()).add(name)
        self.synonym_of: dict[str, set[str]] = {}
        for name, noun in self.nouns.items():
            for synonym in noun.synonyms:
                self.synonym_of.setdefault(synonym, set()).add(name)
        self.fits = cache(self._fits)
        self.names_of = cache(self._names_of)

    # names

    def lemma(self, name: str) -> str:
        """The singular, of the last word where there are several."""
        name = name.strip().lower()
        if name not in self._lemmas:
            self._lemmas[name] = self._singular(name)
        return self._lemmas[name]

    def _singular(self, name: str) -> str:
        first, _, last = name.rpartition(" ")
        if first and name.endswith("es") and name[:-2] in self.nouns:
            return name[:-2]  # wine glasses, though glasses are glasses
        if last in WORDS["irregular"]:
            last = WORDS["irregular"][last]
        elif last.endswith("men") and f"{last[:-2]}an" in self.nouns:
            last = f"{last[:-2]}an"
        elif name[:-1] in self.nouns and name.endswith(("is", "us")):
            return name[:-1]
        elif last not in WORDS["one thing"] and last.endswith("s") and not last.endswith(("ss", "us", "is")):
            last = self._cut(first, last)
        return f"{first} {last}".strip()

    def _cut(self, first: str, last: str) -> str:
        ends = [(r"ies$", "y"), (r"(?<=[sxz])es$", ""), (r"(?<=[cs]h)es$", ""), (r"s$", "")]
        guesses = [re.sub(end, new, last) for end, new in ends if re.search(end, last)]
        known = [guess for guess in guesses if f"{first} {guess}".strip() in self.nouns or guess in self.nouns]
        return (known or guesses)[0]

    def _names_of(self, name: str) -> frozenset[str]:
        """The name, its number variants and its synonyms, as lemmas."""
        lemma = self.lemma(name)
        found = {lemma}
        for key in {name, lemma} | self.synonym_of.get(name, set()) | self.synonym_of.get(lemma, set()):
            found.add(self.lemma(key))
            if key in self.nouns:
                found.update(self.lemma(synonym) for synonym in self.nouns[key].synonyms)
        for plural in [key for key in self._plurals().get(lemma, ())]:
            found.update(self.lemma(synonym) for synonym in self.nouns[plural].synonyms)
        return frozenset(found)

    def _plurals(self) -> dict[str, list[str]]:
        if not hasattr(self, "_plural_table"):
            self._plural_table: dict[str, list[str]] = {}
            for name in self.nouns:
                self._plural_table.setdefault(self.lemma(name), []).append(name)
        return self._plural_table

    def categories(self, name: str) -> frozenset[str]:
        """All categories the name is in, wide and narrow."""
        found: set[str] = set()
        for lemma in self.names_of(name):
            for key in [lemma, *self._plurals().get(lemma, ())]:
                if key in self.nouns:
                    found.update(self.nouns[key].categories)
        last = name.rpartition(" ")[2]
        if not found and last != name:
            return self.categories(last)
        for category in list(found):
            while category in WORDS["wider"]:
                category = WORDS["wider"][category]
                found.add(category)
        return frozenset(found)

    def kinds(self, name: str) -> frozenset[str]:
        """Names it is a kind of, or that are like it, by the published file, all the way up."""
        found: set[str] = set()
        todo = [name]
        while todo:
            current = todo.pop()
            for lemma in self.names_of(current):
                for key in [lemma, *self._plurals().get(lemma, ())]:
                    for kind in self.nouns.get(key, Noun()).kinds:
                        if self.lemma(kind) not in found:
                            found.add(self.lemma(kind))
                            todo.append(kind)
        return frozenset(found)

    def _fits(self, name: str, wanted: str) -> int:
        """Whether an object of that name is what is meant: SURE, MAYBE or NO."""
        if wanted in ("_", "thing", "object"):
            return SURE
        one, other = self.names_of(name), self.names_of(wanted)
        if one & other:
            return SURE
        lemma = self.lemma(wanted)
        categories = self.categories(name)
        categories -= {WORDS["not in"].get(one_name, "") for one_name in one}
        if lemma in categories or wanted in categories or self._is_kind(one, lemma):
            return SURE
        if any(WORDS["no kinds"].get(one_name) == lemma for one_name in one):
            return NO
        return MAYBE if other & self.kinds(name) else NO

    def _is_kind(self, names: frozenset[str], wanted: str) -> bool:
        """Whether one of the names is that kind of thing: by a last word of its own, or by the lists above."""
        if any(WORDS["no kinds"].get(name) == wanted for name in names):
            return False
        listed = {word for word in names if self.lemma(WORDS["kinds"].get(word, "")) in self.names_of(wanted)}
        listed |= {word for word in names if word.rpartition(" ")[2] in WORDS["in category"].get(wanted, "").split()}
        return bool(listed) or any(word.endswith(f" {wanted}") for word in names)

    # values

    def same_value(self, one: str, other: str) -> bool:
        """Whether two values say the same: metal and metallic."""
        one, other = one.strip().lower(), other.strip().lower()
        return one == other or bool(self._value_names(one) & self._value_names(other))

    def _value_names(self, value: str) -> set[str]:
        return {value} | self.same_values.get(value, set()) | set(self.values.get(value, Value()).forms)

    def types(self, value: str) -> frozenset[str]:
        """The types of a value, by any of its names."""
        found: frozenset[str] = frozenset()
        for name in self._value_names(value):
            found |= self.values.get(name, Value()).types
        return found

    def includes(self, annotated: str, wanted: str) -> bool:
        """Whether the annotated value implies the wanted one: steel is metal."""
        if self.same_value(annotated, wanted):
            return True
        classes: set[str] = set()
        for name in self._value_names(annotated):
            classes |= self.values.get(name, Value()).classes
        return any(self.same_value(name, wanted) for name in classes)

    def alike(self, one: str, other: str) -> bool:
        """Whether two values are too like each other to exclude each other: pink and orange."""
        for a, b in ((one, other), (other, one)):
            if self.includes(a, b):
                return True
            for name in self._value_names(a):
                value = self.values.get(name, Value())
                if any(self.same_value(b, similar) for similar in value.similar):
                    return True
        mine, its = (
            set().union(*(self.values.get(name, Value()).classes for name in self._value_names(value)))
            for value in (one, other)
        )
        return bool(mine & its)

    def excludes(self, annotated: str, wanted: str) -> bool:
        """Whether the annotated value rules out the wanted one: a value of the same type that is not like it."""
        if any({annotated, wanted} <= places and annotated != wanted for places in PLACES):
            return True
        shared = self.types(annotated) & self.types(wanted)
        return bool(shared) and not self.alike(annotated, wanted)


def read_vocabulary(objects: Path, attributes: Path) -> Vocabulary:
    """The vocabulary of the two published files."""
    return vocabulary(objects.read_text("utf-8"), attributes.read_text("utf-8"))


def vocabulary(objects: str, attributes: str) -> Vocabulary:
    """The vocabulary of the text of the two published files."""
    nouns: dict[str, Noun] = {}
    for line in objects.splitlines():
        name, *fields = [part.strip() for part in line.split(",")]
        if name:
            nouns[name] = _merged(nouns.get(name), _noun(fields))
    values: dict[str, Value] = {}
    for line in attributes.splitlines():
        name, *fields = [part.strip() for part in line.split(";")]
        name = name.partition(",")[0]
        if name:
            values[name] = _value(fields)
    return Vocabulary(nouns, values)


def _noun(fields: list[str]) -> Noun:
    marked = {key: tuple(text.split(".")) for key, _, text in (part.partition(":") for part in fields) if text}
    words = [part for part in fields if len(part) > 2 and ":" not in part and not part.isdigit()]
    return Noun(tuple(words), marked.get("K", ()), marked.get("E", ()))


def _merged(old: Noun | None, new: Noun) -> Noun:
    if old is None:
        return new
    return Noun(
        tuple(dict.fromkeys(old.categories + new.categories)), old.kinds + new.kinds, old.synonyms + new.synonyms
    )


def _value(fields: list[str]) -> Value:
    marked: dict[str, frozenset[str]] = {}
    types: set[str] = set()
    for index, part in enumerate(fields):
        key, colon, text = part.partition(":")
        if colon:
            marked[key] = frozenset(word.strip() for word in text.split(","))
        elif index or not part.isdigit():  # the first is how often it occurs
            types.update(word.strip() for word in part.split(",") if len(word.strip()) > 1 or word.strip().isdigit())
    none: frozenset[str] = frozenset()
    forms = marked.get("E", none) | marked.get("A", none)
    return Value(frozenset(types), marked.get("C", none), marked.get("S", none), forms)
