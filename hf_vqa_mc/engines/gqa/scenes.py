"""What an image as a whole shows, where the objects leave no doubt: weather, location, place (Sect. 3.2)."""

from collections.abc import Mapping, Sequence

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.scene_graph import SceneObject

_OUTDOORS = frozenset(
    "sky|cloud|street|road|sidewalk|beach|ocean|sea|lake|river|mountain|hill|forest|field|sun|runway|traffic light|"
    "fire hydrant|crosswalk|wave|pasture|highway|parking meter|lawn|skier|snowboarder|surfer".split("|")
)
_INDOORS = frozenset(
    "ceiling|refrigerator|stove|oven|microwave|toilet|bathtub|shower|bed|couch|sofa|nightstand|kitchen|bathroom|"
    "bedroom|living room|television|dishwasher|desk|carpet|cubicle|shower curtain|wallpaper|toaster|printer|"
    "chandelier".split("|")
)
_SIGNS: Mapping[str, tuple[frozenset[str], int]] = {
    "kitchen": (
        frozenset(
            "stove|oven|refrigerator|microwave|dishwasher|kitchen|toaster|range|blender|coffee maker".split("|")
        ),
        2,
    ),
    "bathroom": (
        frozenset(
            "toilet|bathtub|shower|bathroom|shower curtain|toilet paper|urinal|toilet seat|toilet lid".split("|")
        ),
        2,
    ),
    "bedroom": (frozenset("bed|nightstand|bedroom|bedspread|headboard|comforter|mattress|bedding".split("|")), 2),
    "living room": (
        frozenset("couch|sofa|coffee table|living room|television|fireplace|entertainment center|ottoman".split("|")),
        3,
    ),
}
"""Rooms with the kinds that are found in them, and how many different ones tell if none of another room is there: a
toilet beside a bed is in a cell."""
_NOT_OF_HOMES = frozenset(
    "cash register|customer|store|shop|restaurant|menu|counter top display|wheelchair|nurse|doctor|airplane|train|"
    "bus|office|cubicle|classroom|display case|price tag|hotel room".split("|")
)
"""Kinds that speak against rooms of a home, of which there are models in shops and wards."""
_WIDE = {
    # places that are annotated as objects, if they cover this much of the image; of several the one that stands first
    "beach": 0.15,
    "ocean": 0.4,
    "street": 0.2,
    "road": 0.2,
    "field": 0.3,
    "forest": 0.4,
    "park": 0.4,
    "airport": 0.3,
    "parking lot": 0.2,
    "skate park": 0.3,
    "tennis court": 0.3,
    "zoo": 0.4,
}
_PICTURES = frozenset({"scene", "photo", "picture", "photograph", "image", "view"})


def scene_of(
    objects: Sequence[SceneObject],
    told: Mapping[str, str],
    image_values: Sequence[str],
    size: tuple[int, int],
    ontology: Ontology,
) -> dict[str, str]:
    """Weather, location and place, as far as they are told or follow.

    Args:
        objects: of the image.
        told: by the file, already in the ontology's words; goes before what follows from objects.
        image_values: values that annotators gave to the image itself ("scene: sunny").
        size: of the image.
        ontology: whose values are used.
    """
    scene = dict(told)
    kinds = {ontology.nouns[thing.name].kind for thing in objects}
    for value in image_values:
        for kind in ("weather", "location"):
            if kind in ontology.attributes[value].types:
                scene.setdefault(kind, value)
    weather = {value for thing in objects if thing.name == "sky" for value in thing.values.get("weather", ())}
    if len(weather) == 1:
        scene.setdefault("weather", *weather)
    outdoors, indoors = len(kinds & _OUTDOORS), len(kinds & _INDOORS)
    if outdoors and not indoors and kinds & {"sky", "ocean", "mountain", "beach", "road", "street", "wave"}:
        scene.setdefault("location", "outdoors")
    if indoors >= 2 and not outdoors:
        scene.setdefault("location", "indoors")
    place = _place(objects, kinds, scene.get("location"), size)
    if place and "place" in ontology.attributes[place].types:
        scene.setdefault("place", place)
    return scene


def _place(objects: Sequence[SceneObject], kinds: set[str], location: str | None, size: tuple[int, int]) -> str | None:
    if location != "outdoors":
        told = {room: len(kinds & signs) for room, (signs, _) in _SIGNS.items() if kinds & signs}
        sure = location == "indoors" and len(told) == 1 and kinds.isdisjoint(_NOT_OF_HOMES)
        return next((room for room, signs in told.items() if sure and signs >= _SIGNS[room][1]), None)
    area = size[0] * size[1]
    wide = {thing.name for thing in objects if thing.box[2] * thing.box[3] >= _WIDE.get(thing.name, 2.0) * area}
    return next(iter(wide)) if len(wide) == 1 else None


def is_picture(name: str) -> bool:
    """Whether annotators call the image itself so."""
    return name in _PICTURES
