"""Vocabularies of the engines (YAML files, which describe their keys), English articles and plurals."""

import re
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import yaml

T = TypeVar("T")

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # text needs no quotes in the file, not even "on" or "no"


class Vocabulary(dict[str, frozenset[str]]):
    """The lists of words of a YAML file as sets, by key; ``gqa/nouns`` is ``engines/gqa/data/nouns.yaml``."""

    def __init__(self, name: str) -> None:
        engine, _, file = name.partition("/")
        path = Path(__file__).parent / engine / "data" / f"{file}.yaml"
        self._content = yaml.load(path.read_text("utf-8"), Loader=_LOADER)
        lists = {key: value for key, value in self._content.items() if isinstance(value, list)}
        super().__init__({key: frozenset(value) for key, value in lists.items() if set(map(type, value)) <= {str}})

    def read(self, key: str, kind: type[T]) -> T:
        """The content of a key as a type of text, numbers, tuples, frozensets, dictionaries, dataclasses."""
        read: T = converted(self._content[key], kind)
        return read


def read_vocabulary(path: Path, schema: type[T]) -> T:
    """Read a YAML file as a dataclass with a field per key, with ``_`` for spaces."""
    made: T = converted(yaml.load(path.read_text("utf-8"), Loader=_LOADER), schema)
    return made


def converted(value: Any, kind: Any) -> Any:  # noqa: ANN401  a YAML value, a type
    """A value of texts, lists and mappings as the type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        types, made = get_type_hints(kind), cast(Callable[..., Any], kind)
        names = {key.replace(" ", "_"): item for key, item in value.items()}
        return made(**{name: converted(item, types[name]) for name, item in names.items()})
    if origin is dict:
        return {key: converted(item, arguments[1]) for key, item in value.items()}
    return origin(converted(item, arguments[0]) for item in value) if origin else kind(value)


AN_BEFORE = re.compile(
    r"(?!(?:eu|ew|uni(?!n|m)|us[aeu]|ut[ei]|ufo|uk|one|once)|u\b)[aeiou]|hour|honest|heir|(?:mp3|x-ray|suv|rv|lcd|led|mri|hd)\b"
)
"""Words that begin with the sound of a vowel: an apple, an hour, an SUV, but a unicorn, a one-way sign."""

PLURALS = Vocabulary("gqa/plurals")
_IRREGULAR = PLURALS.read("irregular", dict[str, str])
_IN_COMPOUNDS = PLURALS.read("in compounds", tuple[str, ...])
_SINGULARS = {plural: singular for singular, plural in _IRREGULAR.items()}
_COMPOUND_PLURALS = [_IRREGULAR[singular] for singular in _IN_COMPOUNDS]
_BOTH = PLURALS["pairs"] | PLURALS["collective"]  # plural verbs, but no other form
_NO_SINGULAR = _BOTH | PLURALS["singular in s"] | PLURALS["same"] | _IRREGULAR.keys()


def plural_of(name: str) -> str:
    """The plural of a singular noun or noun phrase whose last word is the noun.

    >>> [plural_of(name) for name in ("berry", "wine glass", "policeman", "ottoman", "bookshelf", "goldfish")]
    ['berries', 'wine glasses', 'policemen', 'ottomans', 'bookshelves', 'goldfish']
    """
    before, space, word = name.rpartition(" ")
    if word in PLURALS["same"] or word in _BOTH or word.endswith("fish"):
        plural = word
    elif word in _IRREGULAR:
        plural = _IRREGULAR[word]
    elif word.endswith("man") and len(word) > 4 and word not in PLURALS["no men"]:
        plural = word[:-3] + "men"
    elif (end := _compound_end(word, _IN_COMPOUNDS)) and word not in PLURALS["no compounds"]:
        plural = word.removesuffix(end) + _IRREGULAR[end]
    elif word.endswith(("s", "x", "z", "ch", "sh")):
        plural = word + ("s" if word == "stomach" else "es")
    elif word.endswith("y") and word[-2:-1] not in "aeiou":
        plural = word[:-1] + "ies"
    else:
        plural = word + "s"
    return before + space + plural


def singular_of(name: str) -> str:
    """The singular of a plural noun; "" if there is none or no rule is certain.

    >>> [singular_of(name) for name in ("berries", "wine cups", "policemen", "pants", "grass", "penknives")]
    ['berry', 'wine cup', 'policeman', '', '', 'penknife']
    """
    before, space, last = name.rpartition(" ")
    end = _compound_end(last, _COMPOUND_PLURALS)
    if last in _NO_SINGULAR:
        singular = ""
    elif last in _SINGULARS:
        singular = _SINGULARS[last]
    elif last.endswith("men") and len(last) > 5:
        singular = last[:-3] + "man"
    elif end:
        singular = last.removesuffix(end) + _SINGULARS[end]
    elif not last.endswith("s") or len(last) < 4 or last.endswith(("ss", "us", "is", "ous")):
        singular = ""
    elif last.endswith("ies") and len(last) > 4:
        ending = "ie" if last in PLURALS["plural of ie"] else "y"
        singular = last if last in ("series", "species") else last[:-3] + ending
    else:
        is_che = last.endswith(("ches", "shes", "xes", "sses", "zzes")) and last not in PLURALS["plural of che"]
        singular = last[: -2 if is_che else -1]
    return before + space + singular if singular else ""


def is_surely_plural(name: str) -> bool:
    """Whether a word is a plural by its form."""
    return not _BOTH.isdisjoint(name.split()[-1:]) or bool(singular_of(name))


def _compound_end(word: str, ends: Iterable[str]) -> str:
    return next((end for end in ends if word.endswith(end) and len(word) > len(end) + 1), "")


def with_article(text: str) -> str:
    """Words with "a" or "an" before them.

    >>> with_article("unicorn"), with_article("hour glass"), with_article("orange hat")
    ('a unicorn', 'an hour glass', 'an orange hat')
    """
    return f"{'an' if AN_BEFORE.match(text.lower()) else 'a'} {text}"
