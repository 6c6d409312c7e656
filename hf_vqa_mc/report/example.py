"""The noun of this room: a question as a page shows it."""

from dataclasses import dataclass

from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.errors import InputError

STAND_IN = "fall-back"
"""The origin of a choice that replaces a decoy that could not be found, as in a remedy's ``choice_origins``."""


def kind_legends() -> dict[str, str]:
    """Sets of choices in the order of the paper's Figure 2 (decoys first), and their headings."""
    legends = {name: ": ".join(filter(None, [kind.legend, kind.fits])) for name, kind in CHOICE_KINDS.items()}
    target = legends.pop(TARGET.name)
    return {**legends, "": "decoys", "stand-in": "stand-ins: no such decoy was found", TARGET.name: target}


def _in_place_of(name: str) -> str:
    """What is said of a stand-in, by the kind that it should have been."""
    if name not in CHOICE_KINDS:
        return "stand-in"
    label = CHOICE_KINDS[name].label
    return f"stand-in for {'an' if label[0] in 'AEIOaeio' else 'a'} {label} decoy"


@dataclass(frozen=True)
class Example:
    """A question with its choices, and what was made of it; any text may be hostile."""

    question_id: str
    question: str
    question_type: str
    """"" where the benchmark has none"""
    choices: list[str]
    label: int
    """index of the target in ``choices``"""
    kinds: list[str]
    """of each choice, names of `decoys.CHOICE_KINDS`; empty where the benchmark has none"""
    origins: list[str]
    """where each choice is from, such as the question that it answers, or ``STAND_IN``; "" or an empty list where
    nothing is known"""
    picked: int | None
    """index of the choice that a model or a rule picks"""
    bias: float | None
    """how likely those who see too little hold the target to be, in [0, 1]"""
    image: bytes | None
    """an image file of any format, also a broken one"""
    note: str
    """why it is shown, "" where there is no reason; examples may be chosen by it"""

    def __post_init__(self) -> None:
        """Refuses what no page can show.

        Raises:
            InputError: a place is none of the choices, or there are kinds or origins for other choices than these.
        """
        places = range(len(self.choices))
        for name, place in (("label", self.label), ("picked", self.picked)):
            if place is not None and place not in places:
                raise InputError(
                    f"question {self.question_id!r}: {name} is {place}, expected a place of its "
                    f"{len(self.choices)} choices, from 0 on"
                )
        for name, values in (("kinds", self.kinds), ("origins", self.origins)):
            if values and len(values) != len(self.choices):
                raise InputError(
                    f"question {self.question_id!r}: {len(values)} {name} for {len(self.choices)} choices; "
                    "expected one each, or none at all"
                )

    def kind(self, place: int) -> str:
        """Which set a choice is of: a key of `kind_legends`; stand-ins are of none but their own."""
        if place == self.label:
            return "target"
        return "stand-in" if self._told(place) == STAND_IN else self._set(place)

    def origin(self, place: int) -> str:
        """Where a choice is from, "" where that is not known or its set says it."""
        told = self._told(place)
        if place == self.label:
            return "" if told in ("target", STAND_IN) else told
        return _in_place_of(self._set(place)) if told == STAND_IN else told

    def _told(self, place: int) -> str:
        return self.origins[place] if self.origins else ""

    def _set(self, place: int) -> str:
        kind = self.kinds[place] if self.kinds else ""
        return kind if kind in CHOICE_KINDS and kind != TARGET.name else ""


def letter(place: int) -> str:
    """What a page calls a place among the choices.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', '27')
    """
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def by_kind(example: Example) -> list[tuple[str, list[int]]]:
    """The places of a question's choices, set by set, in the order of `kind_legends`."""
    sets: dict[str, list[int]] = {kind: [] for kind in kind_legends()}
    for place in range(len(example.choices)):
        sets[example.kind(place)].append(place)
    return [(kind, places) for kind, places in sets.items() if places]
