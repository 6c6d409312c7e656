"""The twelve types of TDIUC's questions, by the names that the published files give them."""

QUESTION_TYPES = (
    PRESENCE := "object_presence",
    SUBORDINATE := "object_recognition",
    COUNTING := "counting",
    COLOR := "color",
    ATTRIBUTE := "attribute",
    ACTIVITY := "activity_recognition",
    SPORT := "sport_recognition",
    POSITION := "positional_reasoning",
    SCENE := "scene_recognition",
    SENTIMENT := "sentiment_understanding",
    UTILITY := "utility_affordance",
    ABSURD := "absurd",
)
"""All, Kafle and Kanan 2017, Table 2; an absurd question makes no sense for its image."""
