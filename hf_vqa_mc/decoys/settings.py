"""The parameters of the method, with the paper's values as defaults."""

from typing import Literal

from hf_vqa_mc.options import ADVANCED, FRACTION, Check, check_options, option, settings

Preset = Literal["paper", "plausible"]
MOST_IN_SET = 7  # rows and choices of a closed answer set

_DECOYS: Check = ("an integer from 1 to 1,000", lambda value: 1 <= value <= 1_000)
_SIMILAR: Check = ("an integer from 1 to 2,147,483,647", lambda value: 1 <= value < 2**31)


@settings
class SetSettings:
    """Parameters of closed answer sets."""

    set_size: int = option(
        "Rows and choices of a closed answer set, 2 to 7; rows that do not fit get smaller sets.",
        default=4,
        check=(f"an integer from 2 to {MOST_IN_SET}", lambda value: 2 <= value <= MOST_IN_SET),
        panel=ADVANCED,
    )
    coverage: float = option(
        "Maximum fraction of each split's rows in closed sets; the sets that leak most are left out, but no set "
        "of a single question; 1 keeps all.",
        default=0.9,
        check=("a number above 0, at most 1", lambda value: 0 < value <= 1),
        panel=ADVANCED,
    )
    question_encoder: str | None = option(
        "Text encoder of transformers, a folder or Hub name, for the similarity of questions in closed sets; without "
        "it, word vectors if they are given.",
        default=None,
        panel=ADVANCED,
    )

    @property
    def set_decoys(self) -> int:
        """Maximum number of decoys of a row in a closed set."""
        return self.set_size - 1


@settings
class Settings(SetSettings):
    """Parameters of the method (Chao et al. 2018).

    Raises:
        InputError: a value has the wrong type or is out of range; names the option.
    """

    preset: Preset = option(
        "paper (Chao et al. 2018), or plausible: decoys that a person would consider; yes/no questions get both "
        "choices, and human answers are never decoys.",
        default="paper",
    )
    decoys_per_set: int = option("IoU and QoU decoys per row (Sect. 5.1).", default=3, check=_DECOYS, panel=ADVANCED)
    n_similar: int = option(
        "Most similar questions that may give QoU decoys (Sect. 4.1).", default=10_000, check=_SIMILAR, panel=ADVANCED
    )
    n_random: int = option(
        "Decoys per row of the random variants (Supplement G).", default=6, check=_DECOYS, panel=ADVANCED
    )
    wup_threshold: float = option(
        "Wu-Palmer similarity from which texts count as the same (Sect. 4.1).",
        default=0.9,
        check=FRACTION,
        panel=ADVANCED,
    )
    wup_boundary: Literal["reject", "accept"] = option(
        "A similarity of exactly the threshold: reject, as in the paper's text, or accept, as in the authors' "
        "released decoys (two and three, white and black, which --preset plausible always accepts).",
        default="reject",
        panel=ADVANCED,
    )
    decoys_from: Literal["dataset", "split"] = option(
        "Where decoys come from: dataset (all of it) or split (the question's own).", default="dataset", panel=ADVANCED
    )
    combine: Literal["distinct", "paper"] = option(
        "A text in two sets of a row: distinct (replaced by the later set's next candidate) or paper (kept).",
        default="distinct",
        panel=ADVANCED,
    )
    fallback_orig: bool = option(
        "With --preset paper: fallback decoys from the publisher's own, if it has any (Sect. 5.1), else from frequent "
        "answers.",
        default=True,
        panel=ADVANCED,
    )
    filter_fallback: bool = option("Apply the WUP filters to fallback decoys, too.", default=True, panel=ADVANCED)
    seed: int = option("Random seed.", default=0)

    def __post_init__(self) -> None:
        """Convert and validate."""
        check_options(self)
