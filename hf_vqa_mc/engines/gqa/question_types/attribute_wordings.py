"""How questions about attributes are worded."""

from hf_vqa_mc.engines.gqa.patterns import Pattern, patterns
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL
from hf_vqa_mc.engines.gqa.spoken_of import DOING
from hf_vqa_mc.engines.gqa.wording import MATERIAL

_HOW = "how"
_DIRECT = "directWhich"
QUERIES: dict[str, tuple[str, tuple[Pattern, ...]]] = {
    "color": (
        _DIRECT,
        patterns(
            "(What|Which) color {is} {the}?",
            "(What|Which) color do you think {the} {is}?",
            "What is the color of {the}?",
            "Of (what|which) color {is} {the}?",
            "{the} {have} (what|which) color?",
            "(What|Which) color {do} {the} have?",
        ),
    ),
    MATERIAL: (
        "material",
        patterns(
            "What {is} {the} made of?",
            "(What|Which) material {is} {the} made of?",
            "Of what [material] {is} {the} made?",
            "What kind of material {is} {the} made of?",
            "{the} {is} made of (what|which material)?",
        ),
    ),
    "shape": (
        _DIRECT,
        patterns("(What|Which) shape {is} {the}?", "What is the shape of {the}?", "What shape {do} {the} have?"),
    ),
    "pattern": (
        _DIRECT,
        patterns(
            "What (kind|type) of pattern {do} {the} have?",
            "(What|Which) pattern {do} {the} (have|show)?",
            "What is the pattern of {the}?",
        ),
    ),
    "size": (
        _HOW,
        patterns(
            "How (big|large) {is} {the}?",
            "How (big|large) do you think {the} {is}?",
            "What size {is} {the}?",
            "What is the size of {the}?",
        ),
    ),
    "height": (
        _HOW,
        patterns("How tall {is} {the}?", "How tall {do} {the} look?", "What is the height of {the}?"),
    ),
    "length": (
        _HOW,
        patterns("How long {is} {the}?", "How long {do} {the} look?", "What is the length of {the}?"),
    ),
    "age": (_HOW, patterns("How old {is} {the}?", "How old {do} {the} look?", "How old would you say {is} {the}?")),
    "weight": (_HOW, patterns("How heavy {is} {the}?", "How heavy {do} {the} look?", "What is the weight of {the}?")),
    "thickness": (
        _HOW,
        patterns("How thick {is} {the}?", "How thick {do} {the} look?", "What is the thickness of {the}?"),
    ),
    "width": (_HOW, patterns("How wide {is} {the}?", "How wide {do} {the} look?", "What is the width of {the}?")),
    "depth": (_HOW, patterns("How deep {is} {the}?", "How deep {do} {the} look?", "What is the depth of {the}?")),
    "hardness": (
        _HOW,
        patterns("How hard {is} {the}?", "How hard {do} {the} look?", "How hard would you say {is} {the}?"),
    ),
    "cleanliness": (
        _HOW,
        patterns("How clean {is} {the}?", "How clean {do} {the} look?", "How clean would you say {is} {the}?"),
    ),
    "brightness": (
        _HOW,
        patterns("How bright {is} {the}?", "How bright {do} {the} look?", "How bright would you say {is} {the}?"),
    ),
    "flavor": (
        _DIRECT,
        patterns("(What|Which) flavor {is} {the}?", "What is the flavor of {the}?", "What flavor {do} {the} have?"),
    ),
    "face expression": (
        "state",
        patterns(
            "(What|Which) facial expression {do} {the} have?",
            "What is the facial expression of {the}?",
            "What expression is on the face of {the}?",
        ),
    ),
    **dict.fromkeys(
        DOING,
        (
            "activity",
            patterns(
                "What {is} {the} doing?",
                "What {is} {the} doing right now?",
                "What do you think {the} {is} doing?",
                "What {is} {the} busy doing?",
                "{the} {is} doing what?",
            ),
        ),
    ),
}
"""Types that can be asked for, with GQA's detailed type and wordings."""

SIDE = patterns(
    "Which side [of the (image|picture|photo)] {is} {the} on?",
    "On (which|what) side [of the (image|picture|photo)] {is} {the}?",
    "{the} {is} on (which|what) side of the (image|picture|photo)?",
)
VERIFY = patterns(
    "{is} {the} {value}?",
    "Would you say {the} {is} {value}?",
    "Do you think {the} {is} {value}?",
    "Is it true that {the} {is} {value}?",
)
VERIFY_LOOK = patterns(
    "{do} {the} look {value}?", "Would you say {the} {look} {value}?", "{do} {the} (appear|seem) to be {value}?"
)
VERIFY_MATERIAL = patterns(
    "{is} {the} made of {noun}?",
    "Would you say {the} {is} made of {noun}?",
    "Do you think {the} {is} made of {noun}?",
)
VERIFY_COLOR = (
    *VERIFY,
    *patterns("Is the color of {the} {value}?", "{do} {the} have {a} color?", "{is} {the} {value} in color?"),
)
VERIFY_PLACE = patterns(
    "{is} {the} (on|at) the {value} [side] [of the (image|picture|photo)]?",
    "Do you see {the} on the {value} [side] of the (image|picture|photo)?",
    "Would you say {the} {is} on the {value} [side]?",
)
VERIFY_LEVEL = patterns(
    "{is} {the} at the {value} of the (image|picture|photo)?",
    "Do you see {the} at the {value} of the (image|picture|photo)?",
    "Would you say {the} {is} at the {value} of the (image|picture)?",
)
VERIFY_THIS = patterns("Is (this|that) {a}?", "Would you say (this|that) is {a}?", "Do you think (this|that) is {a}?")
BOTH = patterns(
    "{is} {the} [both] {one} and {other}?",
    "{do} {the} look [both] {one} and {other}?",
    "Would you say {the} {is} [both] {one} and {other}?",
    "Do you think {the} {is} {one} and {other}?",
)
CHOOSE = patterns(
    "{is} {the} {one} or {other}?",
    "Would you say {the} {is} {one} or {other}?",
    "Do you think {the} {is} {one} or {other}?",
)
CHOOSE_OF: dict[str, tuple[str, tuple[Pattern, ...]]] = {
    "color": (
        "chooseAttr",
        (
            *CHOOSE,
            *patterns("(What|Which) color {is} {the}, {one} or {other}?", "Is the color of {the} {one} or {other}?"),
        ),
    ),
    MATERIAL: (
        "materialChoose",
        patterns(
            "{is} {the} made of {one} or {other}?",
            "What {is} {the} made of, {one} or {other}?",
            "(What|Which) material {is} {the} made of, {one} or {other}?",
        ),
    ),
    HORIZONTAL: (
        "positionChoose",
        patterns(
            "On which side of the (image|picture|photo) {is} {the}, the {one} or the {other}?",
            "{is} {the} on the {one} [side] or on the {other} [side] of the (image|picture|photo)?",
            "Which side of the (image|picture|photo) {is} {the} on, the {one} or the {other}?",
        ),
    ),
    VERTICAL: (
        "positionChoose",
        patterns(
            "In which part of the (image|picture|photo) {is} {the}, the {one} or the {other}?",
            "{is} {the} in the {one} or in the {other} part of the (image|picture|photo)?",
            "{is} {the} at the {one} or at the {other} of the (image|picture|photo)?",
        ),
    ),
    **dict.fromkeys(
        DOING,
        (
            "activityChoose",
            patterns(
                "What {is} {the} doing, {one} or {other}?",
                "{is} {the} {one} or {other}?",
                "Would you say {the} {is} {one} or {other}?",
            ),
        ),
    ),
}
