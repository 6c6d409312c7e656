"""Declarations of choice kinds, of the methods that make their decoys, of closed sets and variants; fast to import.

A kind is one line in ``decoys.CHOICE_KINDS``; other packages add one with ``CHOICE_KINDS.add(ChoiceKind(...))``.
Build, card, statistics, previews, audits, remedies and model cards loop over the listing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hf_vqa_mc.listing import Listing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hf_vqa_mc.decoys.decoy_table import DecoyTable, IndexedTriplets

    Take = Callable[[DecoyTable, NDArray[np.int64], IndexedTriplets, Callable[[int], None]], None]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to make decoys of a kind: one set per row."""

    name: str  # name of the set in variants and statistics, such as ``random_uniform``
    label: str  # label in tables of the dataset card
    take: "Take | str | None" = None
    """``take(decoys, pool, indexed, progress)`` fills ``decoys`` in place for the triplets ``pool`` (int64, sorted),
    which are donors for one another, and calls ``progress`` with the number of triplets done; or its
    ``package.module:name``, imported when needed. None for decoys that can only be read."""
    size: str = "decoys_per_set"  # setting with the number of decoys per row
    column: str | None = None  # list column of the triplet table; if present, its decoys are used unchanged
    needs_word_vectors: bool = False
    uses_word_vectors: bool = False  # whether word vectors are used if they are given
    fallback: bool = True  # whether missing decoys are replaced by original decoys or other targets


@dataclass(frozen=True, kw_only=True)
class ChoiceKind:
    """A kind of choices, a class of the ClassLabel ``choice_kinds``."""

    name: str
    label: str  # adjective of its decoys: "IoU decoys"
    colour: str  # colour in pictures and on light pages, such as ``#2d66b1``
    dark_colour: str  # colour on dark pages
    methods: tuple[Method, ...] = ()  # the sets of decoys of this kind; none for the target
    definition: str = ""  # definition for model cards: "IoU decoys are {definition}"
    caption: str = ""  # what its decoys are, for legends: "answers to similar questions"
    card: str = ""  # list item of the dataset card's introduction, in Markdown
    shortage: str = ""  # why decoys may be missing in a remedied benchmark, and the remedy

    @property
    def legend(self) -> str:
        """Heading above its choices: "IoU decoys", "correct answer"."""
        return f"{self.label} decoys" if self.methods else self.label


@dataclass(frozen=True)
class Variant:
    """A variant of a dataset: the target and some sets of decoys."""

    name: str
    sets: tuple[str, ...]  # names of methods, in the order of a row before it is shuffled
    description: str  # content of a row other than the target
    source: str  # section or table of the paper
    remedies: bool = False  # whether ``vqa-mc remedy`` offers it for other benchmarks
    closed: bool = False
    """whether its rows form closed answer sets; rows in no set are left out, and it is built only if it is named"""
    guarantee: str | None = None  # value of ``vqa-mc remedy --guarantee`` that selects it


TARGET = ChoiceKind(name="target", label="correct answer", colour="#2f7d4f", dark_colour="#6cc48e")
"""The correct answer, the only choice that is not a decoy."""

ORIGINAL = ChoiceKind(
    name="orig",
    label="original",
    colour="#6b7480",
    dark_colour="#a5aeb9",
    methods=(Method(name="orig", label="original", column="orig_decoys", fallback=False),),
)
"""Published with the source, or generated as VQA's 18 candidates were (``engines.vqa_candidates``)."""

IMAGE_ONLY_UNRESOLVABLE = ChoiceKind(
    name="iou",
    label="IoU",
    colour="#2d66b1",
    dark_colour="#7fb0f0",
    definition="correct answers to other questions about the same image",
    caption="answers to other questions about the image",
    card="**IoU**, image only unresolvable: correct answers to *other questions about the same image*. To "
    "reject\n  them, one has to read the question.",
    shortage="the images have too few questions. A pool about the same images may help.",
    methods=(
        Method(
            name="iou",
            label="IoU",
            take="hf_vqa_mc.decoys.image_only_unresolvable:take_iou_decoys",
            column="iou_decoys",
        ),
    ),
)
"""From the image alone one cannot tell which is correct (Chao et al. 2018, Sect. 4.1)."""

QUESTION_ONLY_UNRESOLVABLE = ChoiceKind(
    name="qou",
    label="QoU",
    colour="#8a4fb0",
    dark_colour="#c79be6",
    definition="correct answers to similar questions about other images",
    caption="answers to similar questions",
    card="**QoU**, question only unresolvable: correct answers to *similar questions about other images*. To "
    "reject\n  them, one has to look at the image.",
    shortage="too few questions are similar, or their words have no vectors. A pool or other word vectors may help.",
    methods=(
        Method(
            name="qou",
            label="QoU",
            take="hf_vqa_mc.decoys.question_only_unresolvable:take_qou_decoys",
            column="qou_decoys",
            needs_word_vectors=True,
        ),
    ),
)
"""From the question alone one cannot tell which is correct (Chao et al. 2018, Sect. 4.1)."""

RANDOM_TARGETS = ChoiceKind(
    name="random",
    label="random",
    colour="#9a6b16",
    dark_colour="#dcb060",
    methods=tuple(
        Method(
            name=f"random_{how}",
            label=f"random, drawn {label}",
            take=f"hf_vqa_mc.decoys.image_only_unresolvable:take_{how}_decoys",
            size="n_random",
        )
        for how, label in (("uniform", "uniformly"), ("frequency", "by frequency"))
    ),
)
"""Neutral, but plausible for neither the image nor the question (Chao et al. 2018, Supplement G)."""

PUBLISHED = "the decoys published with the source"
PAPER_VARIANTS = (
    Variant("orig", ("orig",), f"{PUBLISHED} (or made as VQA's were, see below)", "Sect. 5.2"),
    Variant("iou", ("iou",), "IoU decoys", "Sect. 5.2", remedies=True),
    Variant("qou", ("qou",), "QoU decoys", "Sect. 5.2", remedies=True),
    Variant("iou_qou", ("iou", "qou"), "IoU and QoU decoys", "Sect. 5.2", remedies=True),
    Variant("all", ("orig", "iou", "qou"), "the published decoys, IoU and QoU decoys", "Sect. 5.2", remedies=True),
    Variant("random_uniform", ("random_uniform",), "answers drawn uniformly from the distinct ones", "Supplement G"),
    Variant("random_frequency", ("random_frequency",), "answers drawn by frequency", "Supplement G"),
    Variant(
        "orig_random_uniform",
        ("orig", "random_uniform"),
        "the published decoys and uniformly drawn answers",
        "Supplement G, Table 12 (A)",
    ),
    Variant(
        "orig_random_frequency",
        ("orig", "random_frequency"),
        "the published decoys and answers drawn by frequency",
        "Supplement G, Table 12 (B)",
    ),
)


@dataclass(frozen=True)
class SetKind:
    """A kind of closed answer set, a value of the column ``set_kind``.

    Its k rows share the same k choices, each of which is the target of exactly one of them. A rule that sees the
    choices alone picks the same choice in all k rows and is right in exactly one. If the rows ask the same question,
    this also holds for rules that see question and choices; if they are about one image, of image and choices.
    """

    name: str
    exact: tuple[str, ...]
    """inputs, besides the choices, with which every rule is right in exactly 1/k of a set's rows; as in --guarantee"""
    definition: str  # what its rows do: ``ask the same question``
    crossed: bool = False  # whether each of its questions is asked about each of its images
    square: bool = False
    """whether each choice is the target once for each question and once for each image, not once in the set"""


SAME_QUESTION = SetKind("same_question", ("choices", "question"), "ask the same question about k images")
SAME_IMAGE = SetKind("same_image", ("choices", "image"), "ask k questions about the same image")
SIMILAR_QUESTION = SetKind("similar_question", ("choices",), "ask questions that have similar answers")
GRID = SetKind(
    "grid", ("choices",), "ask each of n similar questions about each of m images; all answers differ", crossed=True
)
LATIN = SetKind(
    "latin",
    ("choices", "question", "image"),
    "ask each of k questions about each of k images; each choice is correct once per question and once per image",
    crossed=True,
    square=True,
)
SET_KINDS = {kind.name: kind for kind in (SAME_QUESTION, SAME_IMAGE, SIMILAR_QUESTION, GRID, LATIN)}


_CLOSED = (  # name; label; module of its function; whether it uses word vectors; description; guarantee
    ("sets", "closed sets", "closed_set_builder", True,
     "the targets of other rows, in closed sets of the same question where possible, else similar", "choices"),
    ("sets_same_question", "closed sets, same question", "closed_set_builder", False,
     "the targets of other rows with the same question, in closed sets", "question"),
    ("sets_same_image", "closed sets, same image", "closed_set_builder", False,
     "the targets of other rows on the same image, in closed sets", "image"),
    ("sets_similar_question", "closed sets, similar questions", "closed_set_builder", True,
     "the targets of rows with similar questions, in closed sets", None),
    ("sets_grid", "closed sets, grids", "crossed_sets", False,
     "the other answers of similar questions that are asked about the same images", None),
    ("sets_latin", "closed sets, Latin squares", "crossed_sets", False,
     "the other answers of k questions about k images, each correct once per question and image", None),
)  # fmt: skip

CLOSED_SET = ChoiceKind(
    name="set",
    label="closed-set",
    colour="#1f7a7a",
    dark_colour="#6cc5c5",
    definition="correct answers to the other rows of a closed answer set, which all have the same choices",
    caption="answers to the other rows of the set",
    card="**Closed answer sets**: k rows share the same k choices, and each choice is correct in exactly one of "
    "them (in Latin squares, of those with the same question or image).\n"
    "  A model that sees only the choices is right in exactly one row of k.",
    shortage="too few rows have answers that may be combined. A smaller set size may help.",
    methods=tuple(
        Method(
            name=name,
            label=label,
            take=f"hf_vqa_mc.decoys.{module}:take_{name}",
            size="set_decoys",
            uses_word_vectors=vectors,
            fallback=False,
        )
        for name, label, module, vectors, _, _ in _CLOSED
    ),
)

CLOSED_VARIANTS = tuple(
    Variant(name, (name,), description, "ours", remedies=True, closed=True, guarantee=guarantee)
    for name, _, _, _, description, guarantee in _CLOSED
)

CHOICE_KINDS = Listing(
    "choice kind", TARGET, ORIGINAL, IMAGE_ONLY_UNRESOLVABLE, QUESTION_ONLY_UNRESOLVABLE, RANDOM_TARGETS, CLOSED_SET
)
"""In the order of the ClassLabel ``choice_kinds``; sets are made in this order."""

VARIANTS = Listing("variant", *PAPER_VARIANTS, *CLOSED_VARIANTS)  # in the order in which they are built


def methods() -> dict[str, tuple[ChoiceKind, Method]]:
    """Kind and method of each set of decoys by the set's name."""
    return {method.name: (kind, method) for kind in CHOICE_KINDS.values() for method in kind.methods}


def kind_number(name: str) -> int:
    """The integer of a kind in the column ``choice_kinds``."""
    return list(CHOICE_KINDS).index(name)
