"""COCO's 80 objects as questions call them: articles, plurals, and which of them a word may mean."""

from functools import cache
from typing import NamedTuple


class CocoObject(NamedTuple):
    """One of COCO's categories."""

    name: str
    """COCO's, which is also the answer"""
    supercategory: str
    asked: str
    """as a question calls one of them"""
    plural: str
    counted: str
    """what follows "How many" """

    @property
    def one(self) -> str:
        """With "Is there" or "Are there" before it, such as "a dog", "any skis", "any broccoli"."""
        return f"any {self.asked}" if self.asked in (*PLURAL_ONLY, *MASS) else with_article(self.asked)

    @property
    def is_or_are(self) -> str:
        """The verb of ``asked``."""
        return "are" if self.asked in PLURAL_ONLY else "is"


PLURAL_ONLY = ("skis", "scissors")
MASS = ("broccoli",)

_SUPERCATEGORIES = {
    "person": ["person"],
    "vehicle": ["bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"],
    "outdoor": ["traffic light", "fire hydrant", "stop sign", "parking meter", "bench"],
    "animal": ["bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"],
    "accessory": ["backpack", "umbrella", "handbag", "tie", "suitcase"],
    "sports": [
        "frisbee",
        "skis",
        "snowboard",
        "sports ball",
        "kite",
        "baseball bat",
        "baseball glove",
        "skateboard",
        "surfboard",
        "tennis racket",
    ],
    "kitchen": ["bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl"],
    "food": [
        "banana",
        "apple",
        "sandwich",
        "orange",
        "broccoli",
        "carrot",
        "hot dog",
        "pizza",
        "donut",
        "cake",
    ],
    "furniture": ["chair", "couch", "potted plant", "bed", "dining table", "toilet"],
    "electronic": ["tv", "laptop", "mouse", "remote", "keyboard", "cell phone"],
    "appliance": ["microwave", "oven", "toaster", "sink", "refrigerator"],
    "indoor": ["book", "clock", "vase", "scissors", "teddy bear", "hair drier", "toothbrush"],
}
_ASKED = {
    "mouse": "computer mouse",
    "remote": "remote control",
    "hair drier": "hair dryer",
    "tie": "necktie",
    "tv": "television",
}
"""Names that a reader could take for something else."""
_PLURALS = {
    "person": "people",
    "people": "people",
    "sheep": "sheep",
    "computer mouse": "computer mice",
    "knife": "knives",
    "mouse": "mice",
    "goose": "geese",
    "calf": "calves",
    "skis": "skis",
    "scissors": "scissors",
    "broccoli": "pieces of broccoli",
}
_COUNTED = {"skis": "pairs of skis", "scissors": "pairs of scissors"}


def with_article(phrase: str) -> str:
    """With "a" or "an", for words that begin as they sound; no name of an object begins otherwise."""
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def plural_of(phrase: str) -> str:
    """The plural of a noun or of a phrase that ends in one.

    >>> [plural_of(one) for one in ("bus", "computer mouse", "wine glass", "cherry", "child")]
    ['buses', 'computer mice', 'wine glasses', 'cherries', 'children']
    """
    if phrase in _PLURALS:
        return _PLURALS[phrase]
    if phrase.endswith("child"):
        return f"{phrase}ren"
    if phrase.endswith("man") and phrase != "human":
        return f"{phrase[:-3]}men"
    if phrase.endswith(("s", "x", "ch", "sh")):
        return f"{phrase}es"
    if phrase.endswith("y") and phrase[-2] not in "aeiou":
        return f"{phrase[:-1]}ies"
    return f"{phrase}s"


def _object(name: str, supercategory: str) -> CocoObject:
    asked = _ASKED.get(name, name)
    return CocoObject(name, supercategory, asked, plural_of(asked), _COUNTED.get(name, plural_of(asked)))


COCO_OBJECTS = {
    name: _object(name, supercategory) for supercategory, names in _SUPERCATEGORIES.items() for name in names
}
"""The 80 that are annotated, by COCO's names."""
UNANNOTATED = (
    "street sign",
    "hat",
    "shoe",
    "eye glasses",
    "plate",
    "mirror",
    "window",
    "desk",
    "door",
    "blender",
    "hair brush",
)
"""The others of COCO's list of 91, which its files do not annotate."""

MAY_MEAN: dict[str, tuple[str, ...]] = {
    # One line of words for each object or group: whoever says one of them may mean any of the objects.
    **dict.fromkeys(
        "person people man woman boy girl child kid lady guy gentleman baby toddler human adult player skier "
        "snowboarder surfer skateboarder rider cyclist pedestrian driver batter catcher umpire pitcher skater biker "
        "teenager teen male female crowd bride groom couple family team chef waiter officer policeman soldier cowboy "
        "someone anyone anybody somebody he she they him her his their spectator passenger worker customer student "
        "athlete swimmer motorcyclist".split(),
        ("person",),
    ),
    **dict.fromkeys(["bicycle"], ("bicycle",)),
    **dict.fromkeys(["bike", "cycle"], ("bicycle", "motorcycle")),
    **dict.fromkeys(["motorcycle", "motorbike", "scooter", "moped"], ("motorcycle", "bicycle")),
    **dict.fromkeys(["car", "taxi", "cab", "sedan", "suv", "automobile", "van"], ("car", "truck", "bus")),
    **dict.fromkeys(["truck", "pickup", "lorry"], ("truck", "car", "bus")),
    **dict.fromkeys(["bus"], ("bus", "car", "truck")),
    **dict.fromkeys(["airplane", "plane", "aeroplane", "jet", "aircraft"], ("airplane",)),
    **dict.fromkeys(["train", "locomotive", "subway", "tram", "trolley"], ("train", "bus")),
    **dict.fromkeys(["boat", "ship", "canoe", "kayak", "sailboat", "yacht", "raft"], ("boat", "surfboard")),
    **dict.fromkeys(["vehicle", "transportation", "traffic"], tuple(_SUPERCATEGORIES["vehicle"])),
    **dict.fromkeys(["traffic light", "traffic signal", "stoplight", "light"], ("traffic light",)),
    **dict.fromkeys(["fire hydrant", "hydrant"], ("fire hydrant",)),
    **dict.fromkeys(["stop sign", "sign"], ("stop sign",)),
    **dict.fromkeys(["parking meter", "meter"], ("parking meter",)),
    **dict.fromkeys(["bench", "seat"], ("bench", "chair", "couch")),
    **dict.fromkeys(["bird", "duck", "goose", "pigeon", "seagull", "parrot", "chicken", "owl"], ("bird",)),
    **dict.fromkeys(["cat", "kitten", "kitty"], ("cat",)),
    **dict.fromkeys(["dog", "puppy"], ("dog", "hot dog")),
    **dict.fromkeys(["horse", "pony", "donkey", "mule"], ("horse",)),
    **dict.fromkeys(["sheep", "lamb", "goat"], ("sheep",)),
    **dict.fromkeys(["cow", "bull", "cattle", "calf", "ox", "steer"], ("cow",)),
    **dict.fromkeys(["elephant"], ("elephant",)),
    **dict.fromkeys(["bear", "teddy bear", "teddy"], ("bear", "teddy bear")),
    **dict.fromkeys(["stuffed animal", "toy", "doll"], ("teddy bear",)),
    **dict.fromkeys(["zebra"], ("zebra",)),
    **dict.fromkeys(["giraffe"], ("giraffe",)),
    **dict.fromkeys(["animal", "pet", "creature", "mammal"], (*_SUPERCATEGORIES["animal"], "teddy bear")),
    **dict.fromkeys(["backpack", "handbag", "purse", "bag"], ("backpack", "handbag", "suitcase")),
    **dict.fromkeys(["suitcase", "luggage", "baggage", "briefcase"], ("suitcase", "handbag", "backpack")),
    **dict.fromkeys(["umbrella", "parasol"], ("umbrella",)),
    **dict.fromkeys(["tie", "necktie", "bow tie"], ("tie",)),
    **dict.fromkeys(["frisbee", "disc", "disk"], ("frisbee",)),
    **dict.fromkeys(["ski"], ("skis", "snowboard")),
    **dict.fromkeys(
        ["snowboard", "skateboard", "surfboard", "board"], ("snowboard", "skateboard", "surfboard", "skis")
    ),
    **dict.fromkeys(["sports ball", "ball", "baseball", "soccer ball", "tennis ball"], ("sports ball",)),
    **dict.fromkeys(["kite"], ("kite",)),
    **dict.fromkeys(["baseball bat", "bat"], ("baseball bat",)),
    **dict.fromkeys(["baseball glove", "glove", "mitt"], ("baseball glove",)),
    **dict.fromkeys(["tennis racket", "racket", "racquet", "tennis racquet"], ("tennis racket",)),
    **dict.fromkeys(["bottle"], ("bottle",)),
    **dict.fromkeys(["wine glass", "glass", "cup", "mug", "goblet"], ("wine glass", "cup")),
    **dict.fromkeys(["fork", "knife", "spoon", "utensil", "silverware"], ("fork", "knife", "spoon")),
    **dict.fromkeys(["bowl", "dish"], ("bowl", "cup")),
    **dict.fromkeys(["banana"], ("banana",)),
    **dict.fromkeys(["apple"], ("apple",)),
    **dict.fromkeys(["sandwich", "burger", "hamburger", "sub"], ("sandwich", "hot dog")),
    **dict.fromkeys(["orange", "tangerine"], ("orange",)),
    **dict.fromkeys(["broccoli"], ("broccoli",)),
    **dict.fromkeys(["carrot"], ("carrot",)),
    **dict.fromkeys(["hot dog", "hotdog", "sausage"], ("hot dog", "sandwich")),
    **dict.fromkeys(["pizza"], ("pizza",)),
    **dict.fromkeys(["donut", "doughnut"], ("donut",)),
    **dict.fromkeys(["cake", "cupcake", "pastry"], ("cake", "donut")),
    **dict.fromkeys(["food", "meal", "snack", "dessert", "fruit", "vegetable"], tuple(_SUPERCATEGORIES["food"])),
    **dict.fromkeys(["chair", "stool", "armchair"], ("chair", "couch", "bench")),
    **dict.fromkeys(["couch", "sofa", "loveseat"], ("couch", "chair", "bed")),
    **dict.fromkeys(["potted plant", "plant", "houseplant", "flowerpot"], ("potted plant",)),
    **dict.fromkeys(["flower"], ("potted plant", "vase")),
    **dict.fromkeys(["bed", "mattress"], ("bed", "couch")),
    **dict.fromkeys(["dining table", "table", "desk"], ("dining table",)),
    **dict.fromkeys(["toilet"], ("toilet",)),
    **dict.fromkeys(["furniture"], tuple(_SUPERCATEGORIES["furniture"])),
    **dict.fromkeys(["tv", "television", "monitor", "screen"], ("tv", "laptop")),
    **dict.fromkeys(["laptop", "computer", "notebook"], ("laptop", "tv")),
    **dict.fromkeys(["computer mouse", "mouse"], ("mouse",)),
    **dict.fromkeys(["remote control", "remote", "controller"], ("remote",)),
    **dict.fromkeys(["keyboard"], ("keyboard", "laptop")),
    **dict.fromkeys(["cell phone", "cellphone", "phone", "telephone", "smartphone"], ("cell phone",)),
    **dict.fromkeys(["electronic", "device", "gadget"], tuple(_SUPERCATEGORIES["electronic"])),
    **dict.fromkeys(["microwave"], ("microwave", "oven")),
    **dict.fromkeys(["oven", "stove"], ("oven", "microwave")),
    **dict.fromkeys(["toaster"], ("toaster",)),
    **dict.fromkeys(["sink", "basin"], ("sink",)),
    **dict.fromkeys(["refrigerator", "fridge", "freezer"], ("refrigerator",)),
    **dict.fromkeys(["appliance"], tuple(_SUPERCATEGORIES["appliance"])),
    **dict.fromkeys(["book", "magazine"], ("book",)),
    **dict.fromkeys(["clock", "watch"], ("clock",)),
    **dict.fromkeys(["vase"], ("vase",)),
    **dict.fromkeys(["scissor"], ("scissors",)),
    **dict.fromkeys(["hair dryer", "hair drier", "hairdryer", "blow dryer"], ("hair drier",)),
    **dict.fromkeys(["toothbrush"], ("toothbrush",)),
}
"""Singular nouns, and the objects that somebody who says one may mean (synonyms, more general and more special words,
and what annotators take for one another)."""

PROVABLE = frozenset(
    [
        *(one.asked for one in COCO_OBJECTS.values() if one.name not in PLURAL_ONLY),
        "ski",
        "scissor",
        *"tie tv remote man woman boy girl child kid lady guy people baby player skier surfer snowboarder bike plane "
        "jet hydrant kitten puppy pony cow sofa fridge doughnut motorbike taxi skateboarder".split(),
    ]
)
"""Words for nothing but annotated objects: where none of what they may mean is annotated, there is none. Not "table"
or "sign", of which COCO annotates some kinds only."""


@cache
def related(name: str) -> frozenset[str]:
    """The objects in whose presence nobody can say that there is no such object: it, and what shares a word with it.

    >>> sorted(related("bear"))
    ['bear', 'teddy bear']
    """
    words = set(name.split())
    return frozenset(other for other in COCO_OBJECTS if words & set(other.split()))
