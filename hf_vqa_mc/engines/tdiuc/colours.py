"""Common colours, as answers and in the names and attributes that annotators type."""

COLOURS = {
    "white": "white",
    "black": "black",
    "red": "red",
    "blue": "blue",
    "brown": "brown",
    "green": "green",
    "yellow": "yellow",
    "gray": "gray",
    "grey": "gray",
    "orange": "orange",
    "silver": "silver",
    "pink": "pink",
    "purple": "purple",
    "tan": "tan",
    "beige": "beige",
    "gold": "gold",
}
"""The "commonly used colors" of Kafle and Kanan 2017, with the spelling that is answered."""
_SHADES = frozenset(
    "maroon navy cream teal turquoise blonde golden violet bronze dark light multicolored colorful".split()
)


def colours_in(text: str) -> set[str]:
    """The common colours that a text names."""
    return {COLOURS[word] for word in text.replace("-", " ").split() if word in COLOURS}


def one_spelling(text: str) -> str:
    """The text with each common colour in the spelling that is answered.

    >>> one_spelling("grey and white")
    'gray and white'
    """
    return " ".join(COLOURS.get(word, word) for word in text.split())


def single_colour(attributes: tuple[str, ...]) -> str | None:
    """The one common colour of an object, if it has one and no other, nor a shade or mixture."""
    named = [one for one in attributes if colours_in(one) or set(one.split()) & _SHADES]
    if not named or any(one not in COLOURS for one in named):
        return None
    answers = {COLOURS[one] for one in named}
    return answers.pop() if len(answers) == 1 else None
