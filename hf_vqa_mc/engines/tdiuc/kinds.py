"""Which kind of object, which sport, which room, and indoors or outdoors: from the set of objects on an image.

Kafle and Kanan 2017, "Generating Questions using Image Annotations". Which objects tell a sport or a room is ours: the
paper gives toilet and sink for a bathroom as its example.
"""

from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.engines.tdiuc.coco_files import CocoImage
from hf_vqa_mc.engines.tdiuc.made import Made
from hf_vqa_mc.engines.tdiuc.objects import COCO_OBJECTS
from hf_vqa_mc.engines.tdiuc.question import NO, YES
from hf_vqa_mc.engines.tdiuc.settings import TdiucSettings
from hf_vqa_mc.scoring.tdiuc_types import SCENE, SPORT, SUBORDINATE

KINDS = {
    "furniture": ("piece of furniture", "kind of furniture", "type of furniture"),
    "food": ("food", "kind of food", "type of food"),
    "electronic": ("electronic device", "kind of electronic device", "type of electronic device"),
    "appliance": ("kitchen appliance", "kind of kitchen appliance", "type of kitchen appliance"),
    "animal": ("animal", "kind of animal", "type of animal"),
    "vehicle": ("vehicle", "kind of vehicle", "type of vehicle"),
}
"""The six supercategories that the paper asks about, as a question calls them."""
NO_SUCH_KIND = ("toilet", "potted plant", "sink")
"""Objects that COCO groups so but people do not: no furniture, no kitchen appliance; nothing is asked beside them."""
LIKENESSES = {"animal": ("teddy bear",), "food": ()}
"""What a reader could also name in answer."""
WHICH_KIND = (
    "What {} is in the picture?",
    "What {} is in the photo?",
    "What {} is shown in the image?",
    "What {} can be seen in the picture?",
)

IF_ONE = "What {} is this?"

EQUIPMENT = {
    "tennis racket": "tennis",
    "baseball bat": "baseball",
    "baseball glove": "baseball",
    "skis": "skiing",
    "snowboard": "snowboarding",
    "skateboard": "skateboarding",
    "surfboard": "surfing",
    "frisbee": "frisbee",
    "kite": "kite flying",
}
BALL = "sports ball"
BALL_GAMES = ("tennis", "baseball")
"""Sports whose ball may be there too; a ball alone tells none."""
WHICH_SPORT = (
    "What sport is this?",
    "Which sport is this?",
    "What sport is shown in the picture?",
    "What sport is shown in the photo?",
    "What sport can be seen in the image?",
)

ROOMS: dict[str, tuple[tuple[frozenset[str], int], ...]] = {
    "bathroom": ((frozenset({"toilet"}), 1), (frozenset({"sink", "toothbrush", "hair drier"}), 1)),
    "kitchen": ((frozenset({"oven", "refrigerator"}), 1), (frozenset({"sink", "microwave", "toaster"}), 1)),
    "bedroom": ((frozenset({"bed"}), 1), (frozenset({"book", "clock", "teddy bear", "laptop", "tv", "chair"}), 1)),
    "living room": ((frozenset({"couch"}), 1), (frozenset({"tv"}), 1)),
}
"""What must be there for a room: so many of each set."""
ROOM_MARKS = {
    "bathroom": frozenset({"toilet"}),
    "kitchen": frozenset({"oven", "refrigerator"}),
    "bedroom": frozenset({"bed"}),
    "living room": frozenset({"couch"}),
}
"""What of another room makes a room doubtful."""
WHICH_ROOM = (
    "What room is this?",
    "Which room is this?",
    "What room is shown in the picture?",
    "What room was this photo taken in?",
    "Which room can be seen in the image?",
)

OUTDOOR_SIGNS = frozenset(
    "traffic light,fire hydrant,stop sign,parking meter,car,motorcycle,airplane,bus,train,truck,boat,horse,sheep,cow,"
    "elephant,bear,zebra,giraffe,kite,snowboard,skis,surfboard,baseball bat,baseball glove,bench".split(",")
)
"""With the paper's supercategory "outdoor", what is seldom indoors: one of them, and nothing is said to be indoors."""
OUTDOOR_PROOF = frozenset({"traffic light", "fire hydrant", "stop sign", "parking meter"})
"""Of the paper's supercategory "outdoor" what stands in streets; a bench may be indoors."""
INDOOR_SIGNS = frozenset(
    {name for name, one in COCO_OBJECTS.items() if one.supercategory in ("indoor", "appliance", "electronic")}
    - {"cell phone"}
    | {"bed", "couch", "toilet", "dining table"}
)
INDOOR_PROOF = frozenset({"hair drier", "toothbrush", "microwave", "oven", "toaster", "refrigerator", "toilet"})
INDOOR_PAIR = frozenset({"book", "vase", "scissors", "clock", "sink", "bed", "couch", "tv", "keyboard", "mouse"})
"""Two of these tell an indoor scene as well: books and clocks alone are outdoors too."""
INDOORS, OUTDOORS = "indoors", "outdoors"
WHERE = (
    "Is this indoors or outdoors?",
    "Was this photo taken indoors or outdoors?",
    "Is the picture taken indoors or outdoors?",
    "Is the scene in the image indoors or outdoors?",
)
IS_IT = (
    "Is this {}?",
    "Was this photo taken {}?",
    "Is the scene in the picture {}?",
    "Was the picture taken {}?",
)


def ask_kinds(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """What kind of animal, vehicle, ... it is, where there is one kind only, of any size."""
    chance = Chance(settings.seed, "tdiuc", SUBORDINATE, str(image.image_id))
    for group, nouns in KINDS.items():
        members = frozenset(name for name, one in COCO_OBJECTS.items() if one.supercategory == group)
        there = sorted(image.present & members)
        if not there:
            continue
        if not members <= image.annotated:
            made.leave_out(SUBORDINATE, "the file does not annotate all of its kind")
        elif len(there) > 1:
            made.leave_out(SUBORDINATE, "several kinds")
        elif there[0] in NO_SUCH_KIND:
            made.leave_out(SUBORDINATE, f"{there[0]} is not called {nouns[0]}")
        elif image.present & set(LIKENESSES.get(group, ())):
            made.leave_out(SUBORDINATE, "a likeness of its kind beside it")
        elif not any(one.name == there[0] and one.area >= settings.min_area for one in image.instances):
            made.leave_out(SUBORDINATE, f"all smaller than {settings.min_area:g} pixels")
        else:
            single = sum(one.name == there[0] for one in image.instances) == 1
            question = chance.pick((*WHICH_KIND, IF_ONE) if single else WHICH_KIND).format(chance.pick(nouns))
            made.ask(image.image_id, question, there[0], SUBORDINATE, "coco_generated")


def ask_sport(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """Which sport it is, where people are with the equipment of one."""
    sports = {EQUIPMENT[name] for name in image.present if name in EQUIPMENT}
    if not sports:
        if BALL in image.present:
            made.leave_out(SPORT, "a ball alone")
    elif not EQUIPMENT.keys() | {BALL} <= image.annotated:
        made.leave_out(SPORT, "the file does not annotate all equipment")
    elif len(sports) > 1 or (BALL in image.present and not sports & set(BALL_GAMES)):
        made.leave_out(SPORT, "equipment of several sports")
    elif "person" not in image.present:
        made.leave_out(SPORT, "nobody there")
    else:
        chance = Chance(settings.seed, "tdiuc", SPORT, str(image.image_id))
        made.ask(image.image_id, chance.pick(WHICH_SPORT), min(sports), SPORT, "coco_generated")


def ask_scene(image: CocoImage, settings: TdiucSettings, made: Made) -> None:
    """Which room it is, and whether it is indoors, where the objects leave no doubt."""
    if not INDOOR_SIGNS | OUTDOOR_SIGNS <= image.annotated:
        made.leave_out(SCENE, "the file does not annotate all that tells a scene")
        return
    chance = Chance(settings.seed, "tdiuc", SCENE, str(image.image_id))
    where = _where(image.present)
    if where is None:
        made.leave_out(SCENE, "indoors or outdoors is in doubt")
        return
    made.ask(image.image_id, chance.pick(WHERE), where, SCENE, "coco_generated")
    asked = chance.pick((INDOORS, OUTDOORS))  # so that there are about as many yes as no
    made.ask(image.image_id, chance.pick(IS_IT).format(asked), YES if asked == where else NO, SCENE, "coco_generated")
    if where == INDOORS:
        room = _room(image.present)
        if room is None:
            made.leave_out(SCENE, "the room is in doubt")
        else:
            made.ask(image.image_id, chance.pick(WHICH_ROOM), room, SCENE, "coco_generated")


def _where(present: frozenset[str]) -> str | None:
    if present & OUTDOOR_SIGNS:
        return OUTDOORS if present & OUTDOOR_PROOF and not present & INDOOR_SIGNS else None
    return INDOORS if present & INDOOR_PROOF or len(present & INDOOR_PAIR) > 1 else None


def _room(present: frozenset[str]) -> str | None:
    rooms = [room for room, needed in ROOMS.items() if all(len(present & some) >= least for some, least in needed)]
    marked = {room for room, marks in ROOM_MARKS.items() if present & marks}
    return rooms[0] if len(rooms) == 1 and marked == set(rooms) else None
