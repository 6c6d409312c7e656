"""How comparisons are worded."""

from hf_vqa_mc.engines.gqa.executor import NAME
from hf_vqa_mc.engines.gqa.patterns import patterns
from hf_vqa_mc.engines.gqa.wording import MATERIAL

WHICH = patterns(
    "{which} is {more}, {one} or {other}?",
    "{which} do you think is {more}, {one} or {other}?",
    "{which} looks {more}, {one} or {other}?",
)
IN_COMMON = patterns(
    "What do {one} and {other} have in common?",
    "What is common to {one} and {other}?",
    "What is it that {one} and {other} have in common?",
)
SAME = {
    "color": patterns(
        "Do {one} and {other} have the same color?",
        "{is} {one} the same color as {other}?",
        "Are {one} and {other} the same color?",
    ),
    MATERIAL: patterns(
        "Are {one} and {other} made of the same material?",
        "{is} {one} made of the same material as {other}?",
        "Do {one} and {other} consist of the same material?",
    ),
    "shape": patterns(
        "Do {one} and {other} have the same shape?",
        "{is} {one} the same shape as {other}?",
        "Are {one} and {other} of the same shape?",
    ),
    "pattern": patterns(
        "Do {one} and {other} have the same pattern?",
        "{do} {one} have the same pattern as {other}?",
        "Is the pattern of {one} the same as that of {other}?",
    ),
}
DIFFERENT = {
    "color": patterns(
        "Do {one} and {other} have different colors?",
        "{do} {one} have a different color than {other}?",
        "Is the color of {one} different from that of {other}?",
    ),
    MATERIAL: patterns(
        "Are {one} and {other} made of different materials?",
        "{is} {one} made of a different material than {other}?",
        "Is the material of {one} different from that of {other}?",
    ),
    "shape": patterns(
        "Do {one} and {other} have different shapes?",
        "{do} {one} have a different shape than {other}?",
        "Is the shape of {one} different from that of {other}?",
    ),
    "pattern": patterns(
        "Do {one} and {other} have different patterns?",
        "{do} {one} have a different pattern than {other}?",
        "Is the pattern of {one} different from that of {other}?",
    ),
}
ALL_SAME = {
    "color": patterns(
        "Are all [of] {all} the same color?",
        "Do all [of] {all} have the same color?",
        "Do {all} all have the same color?",
    ),
    MATERIAL: patterns(
        "Are all [of] {all} made of the same material?",
        "Are {all} all made of the same material?",
        "Do all [of] {all} consist of the same material?",
    ),
    "gender": patterns(
        "Are all [of] {all} [of] the same gender?",
        "Do all [of] {all} have the same gender?",
        "Are {all} all of the same gender?",
    ),
    NAME: patterns(
        "Are all [of] {all} of the same (kind|type)?",
        "Are {all} all of the same (kind|type)?",
        "Do {all} all belong to the same kind?",
    ),
}
TWO_SAME = {
    "color": patterns(
        "Are the two {plain} the same color?",
        "Do the two {plain} have the same color?",
        "Do both {plain} have the same color?",
    ),
    MATERIAL: patterns(
        "Are the two {plain} made of the same material?",
        "Are both {plain} made of the same material?",
        "Do the two {plain} consist of the same material?",
    ),
    "gender": patterns(
        "Are the two {plain} of the same gender?",
        "Do the two {plain} have the same gender?",
        "Are both {plain} of the same gender?",
    ),
    NAME: patterns(
        "Are the two {plain} of the same (kind|type)?",
        "Are both {plain} of the same (kind|type)?",
        "Do the two {plain} belong to the same kind?",
    ),
}
ALL_DIFFERENT = {
    "color": patterns(
        "Do {all} [in the image] have different colors?",
        "Are {all} of different colors?",
        "Are there different colors among {all}?",
    ),
    MATERIAL: patterns(
        "Are {all} [in the image] made of different materials?",
        "Do {all} consist of different materials?",
        "Are different materials used for {all}?",
    ),
    "gender": patterns(
        "Are {all} [in the image] of different genders?",
        "Do {all} have different genders?",
        "Are there different genders among {all}?",
    ),
    NAME: patterns(
        "Are {all} [in the image] of different (kinds|types)?",
        "Are there different kinds of {plain} [in the image]?",
        "Do {all} belong to different kinds?",
    ),
}
