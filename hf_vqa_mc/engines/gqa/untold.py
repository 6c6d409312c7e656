"""What may be in an image though nobody named it: annotations tell of much, never of all (Sect. 3.2).

The paper confirms absence with object detectors; without any, what is told speaks for what is not: a wheel for a car,
a man for a shirt, and anything for walls and skies, which few annotators name.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph

TELLS_OF: Mapping[str, tuple[str, ...]] = {
    "body part": ("person", "animal", "bird"),
    "clothing": ("person",),
    "footwear": ("person",),
    "accessory": ("person",),
    "tableware": ("table", "counter", "desk", "tray", "napkin"),
    "utensil": ("table", "counter", "plate", "bowl", "napkin"),
    "vehicle part": ("vehicle", "car", "bicycle", "bike", "motorcycle", "aircraft", "cart", "object with wheels"),
}
"""Category to what its members speak for: parts for the whole, clothes for whom they are on."""
KINDS_TELL_OF: Mapping[str, tuple[str, ...]] = {
    "leaf": ("tree", "plant", "flower", "bush"),
    "branch": ("tree", "plant", "bush"),
    "trunk": ("tree", "elephant", "suitcase", "car"),
    "tree trunk": ("tree",),
    "wheel": ("car", "bike", "bicycle", "motorcycle", "truck", "bus", "cart", "wagon", "wheelchair", "skateboard"),
    "tire": ("car", "bike", "bicycle", "motorcycle", "truck", "bus"),
    "window": ("building", "house", "door"),
    "roof": ("building", "house"),
    "wall": ("building", "house", "room"),
    "chimney": ("building", "house", "roof"),
    "hair": ("person", "animal"),
    "fur": ("animal",),
    "skin": ("person", "animal"),
    "frame": ("picture", "mirror", "window", "painting"),
    "cloud": ("sky",),
    "sun": ("sky",),
    "snow": ("ground", "hill", "mountain", "slope"),
    "wave": ("ocean", "sea", "water"),
    "sand": ("beach", "ground"),
    "water": ("ocean", "sea", "lake", "river", "pond", "pool"),
    "lid": ("pot", "bottle", "jar", "container", "toilet", "box"),
    "drawer": ("dresser", "cabinet", "desk"),
    "keyboard": ("computer",),
    "screen": ("computer", "television", "laptop", "phone", "monitor"),
    "seat": ("chair", "bench", "toilet", "bike", "motorcycle"),
    "sail": ("boat", "sailboat"),
    "cockpit": ("airplane", "helicopter"),
    "crust": ("pizza", "pie"),
    "topping": ("pizza",),
    "icing": ("cake", "donut", "cupcake"),
    "frosting": ("cake", "donut", "cupcake"),
    "tile": ("floor", "wall"),
    "faucet": ("sink", "bathtub"),
    "pillow": ("bed", "couch"),
    "blanket": ("bed",),
    "traffic light": ("street", "road"),
    "crosswalk": ("street", "road"),
    "sidewalk": ("street", "road"),
    "meat": ("sandwich", "hamburger"),
    "glasses": ("person",),
    "pizza": ("table", "plate", "pan", "tray"),
    "cake": ("table", "plate", "tray", "icing", "frosting"),
    "sandwich": ("table", "plate", "bread", "bun"),
    "hot dog": ("table", "plate", "bun"),
    "meal": ("table", "plate"),
    "breakfast": ("table", "plate"),
    "lunch": ("table", "plate"),
    "dinner": ("table", "plate"),
    "salad": ("table", "plate", "bowl"),
    "soup": ("table", "bowl"),
    "tablecloth": ("table",),
    "napkin": ("table",),
    "placemat": ("table", "plate"),
    "tray": ("table", "counter"),
    "vase": ("table", "flower"),
    "laptop": ("table", "desk", "keyboard"),
    "monitor": ("table", "desk", "computer"),
    "mouse pad": ("table", "desk", "computer mouse"),
    "computer mouse": ("table", "desk", "computer", "mouse pad"),
    "chair": ("table", "desk"),
    "bed": ("bedroom", "pillow", "blanket", "sheet", "mattress"),
    "stove": ("kitchen", "burner"),
    "oven": ("kitchen",),
    "refrigerator": ("kitchen",),
    "microwave": ("kitchen", "counter"),
    "sink": ("bathroom", "kitchen", "faucet", "counter"),
    "toilet": ("bathroom", "toilet paper"),
    "bathtub": ("bathroom", "faucet"),
    "shower": ("bathroom", "faucet"),
    "cabinet": ("kitchen", "drawer"),
    "couch": ("living room", "cushion", "pillow"),
    "curtain": ("window",),
    "train": ("train track", "railroad", "train station"),
    "boat": ("water", "ocean", "lake", "river", "sail"),
    "surfboard": ("ocean", "wave", "water", "beach"),
    "surfer": ("ocean", "wave", "water", "beach", "surfboard", "wetsuit"),
    "ski": ("snow", "slope", "person", "ski pole"),
    "ski pole": ("snow", "slope", "person", "ski"),
    "skier": ("snow", "slope", "ski", "ski pole"),
    "snowboard": ("snow", "slope", "person"),
    "snowboarder": ("snow", "slope", "snowboard"),
    "skateboarder": ("skateboard",),
    "saddle": ("horse",),
    "bridle": ("horse",),
    "leash": ("dog",),
    "racket": ("person", "ball", "tennis court"),
    "baseball bat": ("person", "ball"),
    "umbrella": ("person",),
    "flag": ("pole",),
    "airplane": ("airport", "wing", "engine"),
    "price tag": ("store",),
}
"""Kind to what it speaks for."""
HAVE: Mapping[str, tuple[str, ...]] = {
    "person": tuple(
        "shirt pants jeans shorts shoe sneaker boot sandal sock jacket coat sweater t-shirt sweatshirt blouse clothes "
        "outfit belt watch wristwatch ring earring necklace glasses sunglasses eyeglasses hat cap glove button "
        "bracelet pocket collar sleeve zipper bag purse phone leggings trousers trunks underwear jewelry".split()
    ),
    "animal": ("body part", "fur", "hair", "feathers"),
    "vehicle": ("vehicle part", "window", "door", "mirror", "light", "driver", "license plate", "number", "seat"),
    "building": ("window", "door", "wall", "roof", "brick", "doorway", "chimney"),
    "plant": ("leaf", "branch", "stem", "plant", "flower", "trunk", "tree trunk", "twig"),
    "furniture": ("drawer", "handle", "knob", "leg", "cushion", "shelf"),
    "place": ("ground", "floor"),
    "appliance": ("door", "handle", "knob", "button", "wire", "cable", "cord"),
    "device": ("button", "screen", "wire", "cable", "cord", "keyboard"),
}
"""Category to kinds and categories that its members have."""
RARELY_TOLD = frozenset(
    "wall floor ground sky ceiling window door roof cloud air tree leaf branch building road street sidewalk "
    "grass plant shadow reflection light line letter number word sign pole post wire cable cord rope brick tile "
    "dirt sand rock stone water background photo picture spot logo label handle button knob string screw paint "
    "pavement curb frame board people crowd part fence outlet switch lid cap edge hair leg number pipe bush hill "
    "field bolt crumb stem vent sun doorway trim wood metal glass paper cloth gravel weed twig symbol character "
    "writing text sticker tag".split()
)
"""Kinds of which it is never taken for sure that there are none."""
WIDE_WORDS = frozenset(
    "produce liquid beverage drink meal snack breakfast lunch dinner dish food seafood meat dessert ingredient "
    "topping groceries merchandise equipment machine decoration artwork silverware cutlery tableware utensil "
    "container device appliance tool furniture textile clothing clothes attire outfit accessory footwear plant "
    "trash garbage display symbol character game entrance shelter cover traffic".split()
)
"""Kinds so wide that what is there may be one of them by some reading: never taken for absent either."""
ALWAYS_PARTS = frozenset({"body part", "vehicle part", "part", "nature environment", "urban environment"})
"""Categories of which neither."""
ANY_OF: Mapping[str, tuple[str, ...]] = {
    "meal": ("food",),
    "snack": ("food",),
    "dinner": ("food",),
    "lunch": ("food",),
    "breakfast": ("food",),
    "buffet": ("food",),
    "dish": ("food",),
    "salad": ("vegetable", "fruit"),
    "soup": ("vegetable", "meat"),
    "sandwich": ("meat", "vegetable", "sauce"),
    "pizza": ("meat", "vegetable", "sauce", "cheese"),
    "topping": ("food", "meat", "vegetable", "fruit"),
    "produce": ("food", "vegetable", "fruit"),
    "groceries": ("food", "drink", "container", "fruit", "vegetable"),
    "merchandise": ("food", "clothing", "toy", "container", "bag"),
    "bouquet": ("plant", "flower"),
    "machine": ("appliance", "device"),
    "decoration": ("toy", "plant", "flower", "object"),
    "traffic": ("vehicle",),
    "silverware": ("utensil",),
    "luggage": ("bag",),
    "herd": ("animal",),
    "crowd": ("person", "clothing", "accessory", "bag"),
    "city": ("building", "vehicle", "place"),
    "town": ("building", "vehicle", "place"),
    "liquid": ("drink",),
    "drink": ("drink",),
    "beverage": ("drink",),
}
"""Kinds that stand for any of a category, of whatever name."""


class Told(NamedTuple):
    """What an image's objects tell of kinds."""

    kinds: frozenset[str]
    """those of the objects"""
    might_be: frozenset[str]
    """what the objects are, with what is above, and what they might be called"""
    untold: frozenset[str]
    """kinds and categories of what may be there though nobody named it"""
    context: Mapping[str, float] = MappingProxyType({})
    """how likely kinds are in such an image, the likeliest first"""


def told_by(graph: SceneGraph, ontology: Ontology) -> Told:
    """What an image's objects tell; ``context`` is left empty."""
    kinds = {ontology.nouns[thing.name].kind for thing in graph.objects.values()} | graph.unclear
    might_be, untold = set(kinds), set[str]()
    for kind in kinds:
        parents = ontology.nouns[kind].parents
        might_be.update(parents, ontology.similar_kinds.get(kind, ()))
        untold.update(KINDS_TELL_OF.get(kind, ()), ANY_OF.get(kind, ()))
        for above in (kind, *parents):
            untold.update(TELLS_OF.get(above, ()), HAVE.get(above, ()))
    return Told(frozenset(kinds), frozenset(might_be), frozenset(untold))
