"""The strategies of a remedy, declared: what each one does, its options, and the rows that it suits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING

from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import SetSettings, Settings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import flag_of
from hf_vqa_mc.remedies.config_names import pruned_config, remedied_config, repaired_config
from hf_vqa_mc.remedies.settings import StrategySettings

if TYPE_CHECKING:
    from hf_vqa_mc.data.benchmark import Benchmark, Split
    from hf_vqa_mc.data.verdicts import Rejected
    from hf_vqa_mc.remedies.candidate_sources import Candidate
    from hf_vqa_mc.remedies.remedied import Remedied

TO_GAIN = 0.05
"""Default of ``--prune``."""
SOURCES = ("captions", "scene_graphs", "candidates", "candidates_from", "base_url")
"""Options that name candidates for decoys which answer no question."""
SET_OPTIONS = tuple(one.name for one in fields(SetSettings))
OFTEN = 2
"""Questions per image, and rows per distinct answer, from which other rows' answers replace all decoys."""


@dataclass(frozen=True, eq=False)
class RemedyInputs:
    """What a strategy reads."""

    benchmark: "Benchmark"
    settings: StrategySettings
    candidates: "Sequence[Candidate]" = ()
    """from elsewhere"""
    verdicts: "Rejected | None" = None
    """of ``reject``"""


@dataclass(frozen=True)
class Strategy:
    """The declaration of a strategy."""

    name: str
    help: str
    """a sentence without its subject"""
    options: tuple[str, ...]
    """fields of `StrategySettings` that it uses; all use ``seed``"""
    remedy: "Callable[[RemedyInputs, Progress], Remedied]" = field(repr=False)
    config: Callable[[str | None, StrategySettings], str | None] = field(repr=False)
    """the output's config, from the published one"""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """those that an audit recommends"""
    advice: str = ""
    """what to do, in the sentence of `recommended`"""
    suits: "Callable[[Split], bool]" = field(repr=False, default=lambda split: False)
    """whether an audit recommends it for the rows"""
    guarantees: bool = False
    """whether it is written whatever the report probes find, since it was asked for what it guarantees"""
    keeps_choices: bool = False
    """whether it removes rows and changes no choice"""


def strategy_of(given: StrategySettings, name: str | None) -> Strategy:
    """The strategy of this name; None: that of ``guarantee``, ``variant`` or ``prune`` if one is given, else repair.

    Raises:
        InputError: an option is given that the strategy does not use.
    """
    variant = VARIANTS.get(given.variant or "")
    is_closed = given.guarantee is not None or (variant is not None and variant.closed)
    named = {"closed": is_closed, "iou_qou": given.variant is not None, "prune": given.prune is not None}
    chosen = STRATEGIES[name or next((one for one, is_named in named.items() if is_named), "repair")]
    if given.guarantee is not None and given.variant is not None:
        raise InputError("--guarantee replaces --variant; remove one of them")
    for one in fields(StrategySettings):
        users = [other.name for other in STRATEGIES.values() if one.name in other.options]
        if one.name != "seed" and chosen.name not in users and getattr(given, one.name) != one.default:
            of = " and ".join(filter(None, [", ".join(users[:-1]), users[-1]]))
            raise InputError(
                f"{flag_of(one)} is an option of --strategy {of}, not of {chosen.name}; remove it, or add --strategy"
            )
    if variant is not None and variant.closed != (chosen.name == "closed"):
        other = "closed" if variant.closed else "iou_qou"
        raise InputError(
            f"--variant {given.variant} is of --strategy {other}, not of {chosen.name}; remove one of them"
        )
    return chosen


def recommended(split: "Split") -> tuple[Strategy, str]:
    """The strategy that suits the rows of a split, and a sentence that says why."""
    questions, rows = repetition(split)
    chosen = next(one for one in STRATEGIES.values() if one.suits(split))
    images = f"{questions:.1f} questions per image" if questions else "No images"
    return chosen, f"{images}, {rows:.1f} rows per distinct answer: {chosen.advice}"


def repetition(split: "Split") -> tuple[float, float]:
    """The mean number of questions per image, and of rows per distinct target; 0 without images."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from hf_vqa_mc.decoys.candidates import starts

    images = split.rows["image_id"].filter(pc.not_equal(split.rows["image_id"], ""))
    choices, rows = split.rows["choices"].combine_chunks(), split.rows.num_rows
    first = starts(pc.list_value_length(choices).to_numpy())[:-1]
    targets = pc.list_flatten(choices).take(pa.array(first + split.rows["label"].to_numpy()))
    return len(images) / max(len(images.unique()), 1), rows / len(targets.unique())


def _repeats(split: "Split") -> bool:
    return min(repetition(split)) >= OFTEN


def _variant(given: StrategySettings, default: str) -> str:
    """The name of the variant of decoys: ``variant``, or the closed sets of ``guarantee``."""
    closed = (one.name for one in VARIANTS.values() if given.guarantee and one.guarantee == given.guarantee)
    return next(closed, given.variant or default)


def _repair(given: RemedyInputs, progress: Progress) -> "Remedied":
    import pyarrow.compute as pc

    from hf_vqa_mc.remedies.repaired import repair_benchmark
    from hf_vqa_mc.text.embeddings import embedding_families
    from hf_vqa_mc.text.many_texts import word_lists
    from hf_vqa_mc.text.word_vectors import load_word_vectors

    def sentences() -> Iterator[list[str]]:
        for split in given.benchmark.splits.values():
            yield from word_lists(split.rows["question"].combine_chunks())
            yield from word_lists(pc.list_flatten(split.rows["choices"].combine_chunks()))

    chosen, vectors = given.settings, None
    if chosen.word_vectors is not None:
        vectors = load_word_vectors(chosen.word_vectors, sentences, chosen.seed, progress)
    return repair_benchmark(
        given.benchmark,
        embedding_families(vectors),
        chosen.budget,
        chosen.seed,
        given.candidates,
        given.verdicts,
        progress,
    )


def _new_decoys(default: str, given: RemedyInputs, progress: Progress) -> "Remedied":
    from hf_vqa_mc.remedies.new_decoys import give_new_decoys

    chosen = given.settings
    variant = _variant(chosen, default)
    values = {one.name: getattr(chosen, one.name, None) for one in fields(Settings)}
    method = Settings(**{name: value for name, value in values.items() if value is not None})
    keep_size = chosen.decoys_per_set is None and chosen.preset == "plausible"
    donors = () if VARIANTS[variant].closed else [one for one in given.candidates if one.question is not None]
    return give_new_decoys(
        given.benchmark, variant, chosen.word_vectors, method, donors, keep_size, progress, given.verdicts
    )


def _prune(given: RemedyInputs, progress: Progress) -> "Remedied":
    from hf_vqa_mc.remedies.prune import prune

    to_gain = TO_GAIN if given.settings.prune is None else given.settings.prune
    return prune(given.benchmark, to_gain, given.settings.seed, progress)


def _best(given: RemedyInputs, progress: Progress) -> "Remedied":
    from hf_vqa_mc.remedies.judgement import nearest_to_chance
    from hf_vqa_mc.text.embeddings import embedding_families

    makers = {name: partial(one.remedy, given) for name, one in STRATEGIES.items() if name != "best"}
    return nearest_to_chance(given.benchmark, makers, embedding_families(), given.settings.seed, progress)


STRATEGIES = {
    one.name: one
    for one in (
        Strategy(
            "repair",
            "change the fewest decoys",
            ("budget", "word_vectors", "pool", *SOURCES, "reject"),
            _repair,
            lambda config, given: repaired_config(config),
            {},
            "change the fewest decoys",
            lambda split: not _repeats(split),
        ),
        Strategy(
            "closed",
            "closed answer sets (--guarantee)",
            ("guarantee", "variant", "preset", "word_vectors", "reject", *SET_OPTIONS),
            partial(_new_decoys, "sets"),
            lambda config, given: remedied_config(config, _variant(given, "sets")),
            {"guarantee": "choices", "word_vectors": "corpus"},
            "closed answer sets (or all decoys replaced: --strategy iou_qou)",
            _repeats,
            guarantees=True,
        ),
        Strategy(
            "iou_qou",
            "replace all decoys by answers to other questions on the image and to similar questions (--variant), for "
            "datasets with many questions per image and answers that repeat",
            ("variant", "preset", "decoys_per_set", "word_vectors", "pool", "reject"),
            partial(_new_decoys, "iou_qou"),
            lambda config, given: remedied_config(config, _variant(given, "iou_qou")),
        ),
        Strategy(
            "prune",
            "remove rows (--prune)",
            ("prune",),
            _prune,
            lambda config, given: pruned_config(config),
            keeps_choices=True,
        ),
        Strategy(
            "best",
            "the one of these after which held-out probes find least",
            ("budget", "preset", "decoys_per_set", "word_vectors", "pool", *SOURCES, "reject", *SET_OPTIONS),
            _best,
            lambda config, given: None,
        ),
    )
}
