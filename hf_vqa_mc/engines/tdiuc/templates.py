"""Which type a question that people asked is of: by template and regular expression.

Kafle and Kanan 2017, "Importing Questions from Existing Datasets": every type but object utility. The expressions are
ours, around the examples of the paper.
"""

import re

from hf_vqa_mc.engines.tdiuc.colours import COLOURS
from hf_vqa_mc.engines.tdiuc.mentions import names_many, objects_named
from hf_vqa_mc.engines.tdiuc.numbers_in_words import COUNTABLE
from hf_vqa_mc.engines.tdiuc.question import NO, YES
from hf_vqa_mc.scoring.tdiuc_types import (
    ACTIVITY,
    ATTRIBUTE,
    COLOR,
    COUNTING,
    POSITION,
    PRESENCE,
    SCENE,
    SENTIMENT,
    SPORT,
    SUBORDINATE,
)

YES_NO = frozenset((YES, NO))
SPORTS = frozenset("baseball,tennis,soccer,frisbee,skateboarding,surfing,skiing,snowboarding,basketball".split(","))
"""Nine common sports."""
ACTIVITIES = frozenset(
    "walking,running,eating,sitting,standing,sleeping,jumping,riding,swimming,talking,reading,cooking,drinking,"
    "smiling,grazing".split(",")
)
"""Fifteen common activities."""
_DOING = re.compile(
    r"\b(doing|playing|played|play|plays|throwing|riding|performing|performed|practicing|happening|engaged|sport|sports"
    r"|activity|game|action)\b"
)
_QUESTION_WORD = re.compile(r"^(what|which)\b")
_HOW_MANY = re.compile(r"^how many (?!many\b)[a-z].* (are|were|do|does|did|can|could|have|will)\b.*")
"""With a verb, and one that agrees: "How many dogs in the yard" is no question."""
_COLOR = re.compile(
    r"^((what|which) colou?rs? ([a-z]+ ){0,2}(is|are|was|were|does|do|has|have)\b"
    r"|what is the (main |primary |dominant )?colou?r of\b|what are the (main )?colou?rs of\b).+"
)
_FEELING = re.compile(
    r"^(is|are|does|do|was|were) (?!there\b).+\b(feeling|happy|sad|angry|upset|excited|scared|afraid|bored|lonely"
    r"|having fun|enjoying)\b.*"
)
_WHICH_FEELING = re.compile(
    r"^(how (is|are|does|do) .+ (feel|feeling)\b.*|what (emotion|mood|expression)\b.*"
    r"|what is .+ (mood|expression)\b.*)"
)
_WEATHER_OR_PLACE = (
    "raining|rainy|sunny|cloudy|overcast|snowing|snowy|foggy|windy|daytime|nighttime|night time|night|day|dark outside"
    "|inside|outside|indoors|outdoors|winter|summer|spring|fall|autumn"
)
_IS_SCENE = re.compile(
    rf"^(is|was) (it|this|the weather|this photo|this picture|this image|the photo|the picture)( taken)?( an?| the)?"
    rf"( in| at| during)?( the)? ({_WEATHER_OR_PLACE})( scene| day| photo| picture| image| outside)?$"
)
_WHICH_SCENE = re.compile(
    r"^(what|which) (room|season) (is|was) (this|it|shown|pictured|in the (photo|picture|image))"
    r"( photo| picture| image)?"
    r"( taken)?( in)?$"
    r"|^what (is|was) the (weather|season|weather like|weather like outside|weather like here|room)$"
    r"|^how is the weather( outside)?$|^what (time of day|season|time of year) is (it|this|shown)$"
    r"|^what kind of weather is (it|this|there)$"
)
_WHERE = re.compile(r"^where (is|was) (this|the|this (photo|picture|image)|the (photo|picture|image|scene))( taken)?$")
_PLACES = frozenset(
    "kitchen,bathroom,bedroom,living room,office,beach,street,zoo,park,airport,city,restaurant,farm,ocean,field,"
    "classroom,train station,indoors,outdoors,inside,outside,dining room,library,museum,forest,baseball field".split(
        ","
    )
)
_SCENE_ANSWERS = _PLACES | frozenset(
    "sunny,cloudy,rainy,overcast,snowy,clear,cold,warm,hot,foggy,windy,wet,winter,summer,spring,fall,autumn,daytime,"
    "nighttime,night,day,morning,afternoon,evening,dusk,noon,hallway,garage,basement,attic,den,closet".split(",")
)
_MADE_OF = re.compile(
    r"^what (is|are) .+ made (out of|of|from)$|^what (material|shape|pattern|texture|size) (is|are|of) .+"
    r"|^what is the (material|shape|pattern|texture|size) of .+|^what (material|pattern) (is|are) .+"
)
_KIND = re.compile(
    r"^(what|which) ((kind|type|sort|breed) of )?(animals?|vehicles?|foods?|furniture|fruits?|vegetables?"
    r"|appliances?|birds?|dogs?|cats?|bears?|electronics?|device|dessert|flowers?|trees?|boats?|planes?|airplanes?"
    r"|trucks?|instrument|transportation)"
    r" (is|are|was) (this|that|it|these|those|they|shown|pictured|visible|there|here|being shown"
    r"|(shown |pictured |seen )?in (the|this) (photo|picture|image|scene))$"
)
_PLACED = re.compile(
    r"^(what|who) (is|are) ((sitting|standing|lying|placed|located|hanging) )?(to the (left|right)( side)? of"
    r"|on the (left|right)( side)? of|behind|in front of|above|below|beneath|underneath|under|on top of|next to|beside"
    r"|near|on|in|over) (the|this|that|his|her|their) .+"
)
MASS = frozenset("fruit food furniture luggage baggage silverware traffic broccoli".split())
MANY = ("are there any", "are there some", "do you see any", "can you see any")
_IS_THERE = re.compile(
    r"^(?P<how>is there an?|is there any|are there any|are there some|do you see an?|do you see any|can you see an?"
    r"|can you see any) (?P<thing>[a-z]+( [a-z]+)?)"
    r"( (in|on) (the|this) (photo|picture|image|scene|background))?$"
)


def type_of(question: str, answer: str) -> str | None:
    """TDIUC's type of a question, or None where no template fits it and its answer.

    Args:
        question: as people wrote it.
        answer: after post-processing: lower case, numbers as words.

    >>> type_of("What color is the cow?", "brown"), type_of("How many cows are there?", "brown")
    ('color', None)
    """
    asked = " ".join(question.lower().rstrip(" ?.!").split())
    yes_no = answer in YES_NO
    rules = (
        (COLOR, answer in COLOURS and _COLOR.match(asked)),
        (COUNTING, _HOW_MANY.match(asked) and answer in COUNTABLE),
        (
            SENTIMENT,
            (yes_no and _FEELING.match(asked)) or (not yes_no and _is_open(answer) and _WHICH_FEELING.match(asked)),
        ),
        (SPORT, answer in SPORTS and _DOING.search(asked) and _QUESTION_WORD.match(asked)),
        (ACTIVITY, answer in ACTIVITIES and _DOING.search(asked) and _QUESTION_WORD.match(asked)),
        (SCENE, yes_no and _IS_SCENE.match(asked)),
        (SCENE, answer in _SCENE_ANSWERS and _WHICH_SCENE.match(asked)),
        (SCENE, answer in _PLACES and _WHERE.match(asked)),
        (ATTRIBUTE, _is_open(answer) and _MADE_OF.match(asked)),
        (SUBORDINATE, _is_open(answer) and _KIND.match(asked)),
        (POSITION, _is_open(answer) and _PLACED.match(asked)),
        (PRESENCE, yes_no and _is_there(asked)),
    )
    return next((kind for kind, fits in rules if fits), None)


def _is_open(answer: str) -> bool:
    """Whether it names something: no yes or no, color, number or refusal."""
    return not (
        answer in YES_NO
        or answer in COLOURS
        or answer in COUNTABLE
        or answer in ("nothing", "none", "unknown", "zero")
    )


def _is_there(asked: str) -> bool:
    found = _IS_THERE.match(asked)
    if not found or not objects_named(found["thing"]):
        return False
    if found["how"] == "is there any":
        return found["thing"].split()[-1] in MASS
    return names_many(found["thing"]) == (found["how"] in MANY)  # "Is there any boys" is not English
