"""The twelve types of TDIUC's questions, by the names that the published files give them."""

PRESENCE = "object_presence"
SUBORDINATE = "object_recognition"
COUNTING = "counting"
COLOR = "color"
ATTRIBUTE = "attribute"
ACTIVITY = "activity_recognition"
SPORT = "sport_recognition"
POSITION = "positional_reasoning"
SCENE = "scene_recognition"
SENTIMENT = "sentiment_understanding"
UTILITY = "utility_affordance"
ABSURD = "absurd"
"""Questions that make no sense for their image."""

QUESTION_TYPES = (
    PRESENCE,
    SUBORDINATE,
    COUNTING,
    COLOR,
    ATTRIBUTE,
    ACTIVITY,
    SPORT,
    POSITION,
    SCENE,
    SENTIMENT,
    UTILITY,
    ABSURD,
)
"""All, Kafle and Kanan 2017, Table 2."""
