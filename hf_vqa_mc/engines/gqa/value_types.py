"""Of which type a value is of a thing: a short man is not tall, short hair is not long."""

from collections import Counter
from collections.abc import Iterable

from hf_vqa_mc.engines.gqa.ontology import Noun, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL

_PATTERNED = frozenset(
    "striped,plaid,checkered,colorful,multicolored,dotted,floral,patterned,rainbow colored,black and white,assorted,"
    "mixed".split(",")
)
_LIVING = frozenset({"person", "animal", "bird"})


def values_by_type(
    values: Iterable[str], noun: Noun, ontology: Ontology, problems: Counter[str]
) -> dict[str, tuple[str, ...]]:
    """A thing's values by type, those of none under "".

    Args:
        values: of the ontology.
        noun: what the thing is.
        ontology: of both.
        problems: takes the counts of values left out.
    """
    found: dict[str, list[str]] = {}
    for value in values:
        of_type = _type_for(value, noun, ontology)
        if of_type is None:
            problems["value: not of such a thing"] += 1
        else:
            found.setdefault(of_type, []).append(value)
    for kind in list(found):
        if kind in _ONE_VALUE and any(
            not ontology.alike(one, other) for one in found[kind][:-1] for other in found[kind]
        ):
            problems["value: contradicted by another"] += len(found.pop(kind))
    for one, other in _OPPOSED:
        if all(value in found.get(kind, ()) for kind, value in (one, other)):
            for kind, value in (one, other):
                found[kind].remove(value)
                problems["value: contradicted by another"] += 1
                if not found[kind]:
                    del found[kind]
    if "color" in found and _PATTERNED & {value for those in found.values() for value in those}:
        problems["value: color of something patterned"] += len(found["color"])
        found.setdefault("", []).extend(found.pop("color"))
    return {kind: tuple(those) for kind, those in found.items()}


_ONE_VALUE = frozenset(
    "openness fullness wetness cleanliness hardness power lighting realism ripeness age size gender height "
    "length thickness weight fatness width depth freshness peeling paving orientation pose sportActivity".split()
)
"""Types of which two different values are a mistake; of colors and materials a thing may have two. What sits
and stands does neither for anybody who asks."""
_OPPOSED = (
    (("tone", "dark"), ("brightness", "bright")),
    (("tone", "light"), ("brightness", "dim")),
    (("tone", "dark"), ("color", "white")),
    (("tone", "light"), ("color", "black")),
    (("newness", "new"), ("age", "old")),
    (("newness", "old"), ("age", "young")),
    (("newness", "new"), ("style", "antique")),
    (("newness", "new"), ("style", "vintage")),
    (("newness", "old"), ("style", "modern")),
    (("size", "tiny"), ("height", "tall")),
)
"""Values of two types that nobody gives to one thing."""
_HAS_LENGTH = frozenset("hair skirt dress sleeve beard shorts mane tail neck tie leash".split())
"""Kinds of which short is the opposite of long, not of tall."""
_ALIVE = _LIVING | frozenset("chicken turkey fish crowd couple family team herd flock audience fans".split())
_LIT = frozenset(
    "lamp|light|street light|traffic light|candle|screen|sign|monitor|stove|oven|burner|fan|chandelier|tv".split("|")
)
ONLY_OF = {
    "pose": _ALIVE,
    "activity": _ALIVE,
    "sportActivity": _ALIVE,
    "gender": _ALIVE,
    "race": frozenset({"person"}),
    "face expression": _ALIVE | {"face"},
    "fatness": _ALIVE,
    "age": _ALIVE,
    "maturity": _ALIVE,
    "leaves": frozenset({"plant", "tree", "bush", "flower", "branch", "tree branch", "hedge", "vine", "leaf"}),
    "state": frozenset({"water", "ocean", "sea", "lake", "river", "pond", "wave", "harbor", "pool"}),
    "power": _LIT | {"device", "appliance", "lamp", "street light", "light fixture"},
    "ground cover": frozenset({"place", "ground", "hill", "field", "mountain", "road", "hillside", "beach", "shore"}),
    "weather": frozenset({"sky"}),
    "fullness": frozenset(
        "container tableware bag vehicle furniture room box bottle bowl cup glass basket bucket plate shelf bench "
        "chair seat pot jar vase mug tray sink refrigerator drawer pool bookcase moon street "
        "road sidewalk court field".split()
    )
    | {"trash can", "parking lot", "wine glass"},
}
"""Types to the kinds and categories that they are types of; what others are said to be is not asked about."""
_NEVER_OF_OTHERS = frozenset({"activity", "sportActivity", "power", "gender", "face expression"})
"""Types whose values are mistakes on other things: a shirt that is on, water that is drinking."""
_OF_IMAGES = frozenset({"place", "location", HORIZONTAL, VERTICAL})
_UNCLEAR = frozenset({"left", "right", "middle", "top", "bottom", "straight", "dull", "little"})


def _type_for(value: str, noun: Noun, ontology: Ontology) -> str | None:
    """The type of a value, by what it is a value of: "" if it may mean several things, None if it is a mistake."""
    above = {noun.kind, *noun.parents}
    types = [kind for kind in ontology.attributes[value].types if kind not in _OF_IMAGES]
    possible = [kind for kind in types if kind not in ONLY_OF or not above.isdisjoint(ONLY_OF[kind])]
    possible.sort(key=lambda kind: kind not in ONLY_OF)  # a thin man is fat or not, not thick or not
    if value in _UNCLEAR or (value == "clear" and "weather" not in possible):
        return ""
    if value == "short" and {"height", "length"} <= set(types):
        if noun.kind in _HAS_LENGTH:
            return "length"
        return "height" if not above.isdisjoint(_LIVING | {"building", "tree"}) else ""
    if value == "light" and "tone" in types:
        return "tone"
    if possible:
        return possible[0]
    mistaken = (
        types and set(types) <= _NEVER_OF_OTHERS and not ("vehicle" in above and value in ("driving", "waiting"))
    )
    return None if mistaken else ""
