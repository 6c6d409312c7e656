"""Singular and plural of English nouns, by rule and by a list of those that follow none."""

from collections.abc import Callable, Iterable

IRREGULAR = {
    "child": "children",
    "foot": "feet",
    "goose": "geese",
    "man": "men",
    "mouse": "mice",
    "ox": "oxen",
    "person": "people",
    "tooth": "teeth",
    "woman": "women",
    "calf": "calves",
    "half": "halves",
    "knife": "knives",
    "leaf": "leaves",
    "life": "lives",
    "loaf": "loaves",
    "scarf": "scarves",
    "shelf": "shelves",
    "thief": "thieves",
    "wife": "wives",
    "wolf": "wolves",
    "hoof": "hooves",
    "cactus": "cacti",
    "octopus": "octopuses",
    "bus": "buses",
    "gas": "gases",
    "iris": "irises",
    "walrus": "walruses",
    "hippopotamus": "hippopotamuses",
    "mango": "mangoes",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "hero": "heroes",
    "die": "dice",
}
"""Singulars whose plural no rule gives, and those that a rule might take for plurals."""

SAME = frozenset({"bison", "deer", "fish", "moose", "salmon", "sheep", "shrimp", "squid", "aircraft", "trout", "elk"})
"""Nouns whose singular and plural look alike."""

IN_COMPOUNDS = (
    "child", "foot", "goose", "mouse", "tooth", "calf", "knife", "leaf", "loaf", "scarf", "shelf", "thief", "wife",
    "wolf", "hoof", "person",
)  # fmt: skip
"""Irregular nouns that compounds end in: bookshelf, penknife, grandchild."""

NO_COMPOUNDS = frozenset({"mongoose"})

NO_MEN = frozenset("human talisman ottoman caiman cayman shaman german roman norman brahman dragoman hetman".split())
"""Words that end in man and are no men."""

PAIRS = frozenset(
    "binoculars boxers briefs clothes earphones eyeglasses glasses goggles headphones jeans leggings overalls "
    "pajamas panties pants pliers pyjamas scissors shades shorts slacks stockings sunglasses sweatpants "
    "swimtrunks tights tongs trousers trunks tweezers underpants".split()
)
"""Plurals of one thing, without a singular."""

COLLECTIVE_PLURALS = frozenset(
    "bleachers cattle earbuds fries greens groceries herbs leftovers nachos oats office supplies outdoors outskirts "
    "police remains seasonings stairs supplies surroundings toiletries veggies".split()
)
"""Plurals of many things that nobody counts."""

SINGULAR_IN_S = frozenset(
    "asparagus atlas bass campus canvas chess christmas citrus class compass cosmos cutlass dais eucalyptus "
    "glass grass harness hibiscus hummus kids lens mattress molasses moss news octopus overpass platypus "
    "plexiglass rhinoceros suds tennis waitress wilderness".split()
)
"""Words that end in s and are no plurals."""


def plural_of(name: str) -> str:
    """The plural of a singular noun or noun phrase whose last word is the noun.

    >>> [plural_of(name) for name in ("berry", "wine glass", "policeman", "ottoman", "bookshelf", "goldfish")]
    ['berries', 'wine glasses', 'policemen', 'ottomans', 'bookshelves', 'goldfish']
    """
    return _of_last_word(name, _plural)


def singular_of(name: str) -> str:
    """The singular of a plural noun; "" where there is none or no rule is sure of it.

    >>> [singular_of(name) for name in ("berries", "wine cups", "policemen", "pants", "grass", "penknives")]
    ['berry', 'wine cup', 'policeman', '', '', 'penknife']
    """
    return _of_last_word(name, _singular)


def is_surely_plural(name: str) -> bool:
    """Whether the form tells that a word is a plural."""
    last = name.split()[-1] if name.split() else ""
    return last in PAIRS or last in COLLECTIVE_PLURALS or bool(singular_of(name))


def _of_last_word(name: str, rule: Callable[[str], str]) -> str:
    words = name.split()
    if not words:
        return ""
    changed = rule(words[-1])
    return " ".join([*words[:-1], changed]) if changed else ""


def _plural(word: str) -> str:
    if word in SAME or word in PAIRS or word in COLLECTIVE_PLURALS or word.endswith("fish"):
        return word
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word.endswith("man") and len(word) > 4 and word not in NO_MEN:
        return word[:-3] + "men"
    if (end := _compound_end(word, IN_COMPOUNDS)) and word not in NO_COMPOUNDS:
        return word.removesuffix(end) + IRREGULAR[end]
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + ("es" if not word.endswith("ch") or word != "stomach" else "s")
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _compound_end(word: str, ends: Iterable[str]) -> str:
    """The end of a compound; "" where it is none."""
    return next((end for end in ends if word.endswith(end) and len(word) > len(end) + 1), "")


_SINGULARS = {plural: singular for singular, plural in IRREGULAR.items()}


def _singular(word: str) -> str:
    if word in PAIRS or word in COLLECTIVE_PLURALS or word in SINGULAR_IN_S or word in SAME or word in IRREGULAR:
        return ""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if word.endswith("men") and len(word) > 5:
        return word[:-3] + "man"
    if end := _compound_end(word, [IRREGULAR[singular] for singular in IN_COMPOUNDS]):
        return word.removesuffix(end) + _SINGULARS[end]
    if not word.endswith("s") or len(word) < 4 or word.endswith(("ss", "us", "is", "ous")):
        return ""
    if word.endswith("ies") and len(word) > 4:
        return word if word in ("series", "species") else word[:-3] + ("ie" if word in _IN_IE else "y")
    if word.endswith(("ches", "shes", "xes", "sses", "zzes")) and word not in _IN_CHE:
        return word[:-2]
    return word[:-1]


_IN_IE = frozenset(
    {"cookies", "brownies", "selfies", "hoodies", "veggies", "zombies", "beanies", "smoothies", "movies"}
)
_IN_CHE = frozenset({"quiches", "axes", "caches", "headaches", "moustaches", "mustaches"})
