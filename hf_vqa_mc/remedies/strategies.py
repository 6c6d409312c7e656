"""The strategies of a remedy, declared: what each one does, its options, and the rows that it suits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import MOST_IN_SET, Preset, SetSettings, Settings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.io.progress import Progress, prefixed
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, SEED, VECTORS, flag_of, option, settings, spec_of

if TYPE_CHECKING:
    import pyarrow as pa

    from hf_vqa_mc.data.benchmark import Benchmark, Split
    from hf_vqa_mc.data.verdicts import Rejected
    from hf_vqa_mc.remedies.remedied import Remedied

JUDGED = FolderKind("vqa-mc remedy --report")
BUDGET, TO_GAIN, PRESET = 0.2, 0.05, "plausible"  # defaults of ``--budget``, ``--prune`` and ``--preset``
SOURCES = ("captions", "scene_graphs", "candidates", "candidates_from", "base_url")
"""Options that name candidates for decoys which answer no question."""
SET_OPTIONS = tuple(one.name for one in fields(SetSettings))
OFTEN = 2  # questions per image, and rows per distinct answer, from which other rows' answers replace all decoys
REPAIRED, REPEATED, MOST_FREQUENT = 0.25, 1.5, 0.5
"""Of `recommended`: the largest leak that a repair removes; rows per distinct answer from which, and share of the most
frequent answer up to which, closed sets remove a larger one."""


def _of_build(name: str, default: object = None) -> Any:  # noqa: ANN401  as `option`
    """An option of a build with the default None, so that one that is given is known; its help has the default."""
    spec, default = spec_of(Settings.__dataclass_fields__[name]), default or getattr(Settings, name)
    text = f"{spec.help.rstrip('.')} (default: {default})." if default else spec.help
    return option(text, default=None, check=spec.check, panel=spec.panel)


@settings
class StrategySettings:
    """Options of the strategies, None if they are not given; `STRATEGIES` names those that each one uses."""

    budget: float | None = option(
        f"Of repair: maximum fraction of the decoys that are changed (default: {BUDGET}).",
        default=None,
        check=("a number above 0, at most 1", lambda value: 0 < value <= 1),
    )
    variant: str | None = option(
        "Of iou_qou: iou_qou (default), iou, qou, all (also the published decoys); of closed: "
        f"{', '.join(one.name for one in VARIANTS.values() if one.closed)}.",
        default=None,
        check=(
            f"one of {', '.join(one.name for one in VARIANTS.values() if one.remedies)}",
            lambda name: name in VARIANTS and VARIANTS[name].remedies,
        ),
    )
    guarantee: Literal["choices", "question", "image"] | None = option(
        "Of closed: choices (default), question or image. The rows of a closed answer set share their choices, so "
        "every rule that sees the choices alone is at chance; with question or image, also every rule that sees this, "
        "too. Other rows are left out.",
        default=None,
    )
    preset: Preset | None = _of_build("preset", PRESET)
    decoys_per_set: int | None = option(
        "Of iou_qou: number of IoU decoys, and of QoU decoys, per row; by default as many choices as published (with "
        "--preset paper or --variant all: 3).",
        default=None,
        check=AT_LEAST_ONE,
        panel=ADVANCED,
    )
    word_vectors: str | None = option(
        "For similar questions and texts: a word2vec, GloVe or .kv file, a gensim-data name, or corpus. Needed for "
        "QoU decoys.",
        default=None,
        check=VECTORS,
    )
    seed: int = option("Random seed.", default=0, check=SEED)
    pool: str | None = option(
        "Another dataset, on the same or other images, whose answers may become decoys: multiple-choice or open-ended "
        "questions, or an annotation file of VQA next to its questions file.",
        default=None,
    )
    captions: str | None = option(
        "Of repair: captions whose objects may become decoys: a COCO captions file, or a table with image_id and "
        "caption.",
        default=None,
    )
    scene_graphs: Path | None = option(
        "Of repair: scene graphs whose objects and attributes may become decoys: a file of GQA, or a folder of Visual "
        "Genome.",
        default=None,
    )
    candidates: Path | None = option(
        "Of repair: table of texts that may become decoys of one question: question_id, text, source.", default=None
    )
    candidates_from: Any = option(
        "Of repair: language model that writes wrong answers to each question of the evaluated split, named as in "
        "vqa-mc judge; its replies are stored next to the output, and the same command does not ask again.",
        default=None,
    )
    base_url: str | None = option(
        "Of --candidates-from: address of an OpenAI-compatible server, such as http://localhost:8000/v1.", default=None
    )
    reject: Path | None = option(
        "Table of verdicts, from people or vqa-mc judge: choices that are correct, too, do not become decoys of their "
        "question, and rows with a bad question are left out.",
        default=None,
    )
    prune: float | None = option(
        "Of prune: remove rows until no probe without the image gains more than this fraction over random guessing "
        "(0.05), or half of the rows are removed. Slow: the probes are trained in each of up to 11 rounds.",
        default=None,
        check=("a number from 0 to less than 1, such as 0.05", lambda value: 0 <= value < 1),
    )
    set_size: int | None = _of_build("set_size")
    coverage: float | None = _of_build("coverage")
    question_encoder: str | None = _of_build("question_encoder")


@dataclass(frozen=True)
class Strategy:
    """The declaration of a strategy."""

    name: str
    help: str  # a sentence without its subject
    options: tuple[str, ...]  # fields of `StrategySettings` that it uses; all use ``seed``
    suffix: str = ""  # of the output's config; "" if that is the config of the strategy that is chosen
    variant: str | None = None  # default of ``variant``, if it replaces all decoys
    arguments: Mapping[str, object] = field(default_factory=dict)  # those with which it is recommended
    advice: str = ""  # what to do, in the sentence of `recommended`
    guarantees: bool = False
    """whether it is written whatever the report probes find, since it was asked for what it guarantees"""

    def config(self, published: str, given: StrategySettings) -> str:
        """The name of the output's config, from the published one.

        >>> names, given = ("easyvqa_random_uniform", "rows_v2_remedied"), StrategySettings()
        >>> [STRATEGIES["iou_qou"].config(one, given) for one in names]
        ['easyvqa_iou_qou_remedied', 'rows_v2_iou_qou_remedied']
        """
        source = published.removesuffix(f"_{self.suffix}")
        if self.variant is not None:
            known = [f"_{name}" for name in VARIANTS if source.endswith(f"_{name}")]
            source = f"{source.removesuffix(max(known, key=len, default=''))}_{_variant(given, self)}"
        return f"{source}_{self.suffix}"


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
        if one.name != "seed" and chosen.name not in users and getattr(given, one.name) is not None:
            of = " and ".join(filter(None, [", ".join(users[:-1]), users[-1]]))
            raise InputError(
                f"{flag_of(one)} is an option of --strategy {of}, not of {chosen.name}; remove it, or use --strategy "
                f"{users[0]}"
            )
    if variant is not None and variant.closed != (chosen.name == "closed"):
        other = "closed" if variant.closed else "iou_qou"
        raise InputError(
            f"--variant {given.variant} is of --strategy {other}, not of {chosen.name}; remove one of them"
        )
    return chosen


def recommended(split: "Split", leak: float) -> tuple[Strategy, str]:
    """The strategy that suits the rows of a split, and a sentence that says why.

    Closed answer sets where images have two or more questions and answers two or more rows on average. Also where the
    ``leak``, the accuracy of the strongest probe without the image minus chance, is more than 25 points and answers
    repeat: 1.5 or more rows per distinct answer, none in more than half of the rows. Else a repair. The sets have as
    many choices as most rows, up to 7.

    On rows made with a length leak, after a repair of 20% of the decoys the strongest report probe was 3 to 10 points
    above chance if it was 20 to 30 before, 11 to 25 if 45, and 22 to 52 if 70; after closed sets at most 1.5.
    """
    import numpy as np
    import pyarrow.compute as pc

    images = split.rows["image_id"].filter(pc.not_equal(split.rows["image_id"], ""))
    questions = len(images) / max(len(images.unique()), 1)  # per image; 0 without images
    sizes = pc.list_value_length(split.rows["choices"]).to_numpy()
    counts = pc.value_counts(split.targets).field("counts").to_numpy()
    rows, is_large = counts.mean(), leak > REPAIRED  # rows per distinct answer
    repeats = rows >= REPEATED and counts.max() <= MOST_FREQUENT * len(sizes)
    chosen = STRATEGIES["closed" if min(questions, rows) >= OFTEN or (is_large and repeats) else "repair"]
    if chosen.guarantees and (size := min(int(np.median(sizes)), MOST_IN_SET)) != SetSettings.set_size:
        chosen = replace(chosen, arguments={**chosen.arguments, "set_size": size})
    found = f"{questions:.1f} questions per image" if questions else "No images"
    large = f", a leak of {100 * leak:.0f} points, of which a repair leaves a large part" if is_large else ""
    return chosen, f"{found}, {rows:.1f} rows per distinct answer{large}: {chosen.advice}"


def _variant(given: StrategySettings, strategy: Strategy) -> str:
    """The name of the variant of decoys: ``variant``, or the closed sets of ``guarantee``."""
    closed = (one.name for one in VARIANTS.values() if given.guarantee and one.guarantee == given.guarantee)
    return next(closed, given.variant or str(strategy.variant))


def remedied_by(
    strategy: Strategy,
    benchmark: "Benchmark",
    given: StrategySettings,
    candidates: "pa.Table",
    verdicts: "Rejected | None",
    progress: Progress,
) -> "Remedied":
    """The benchmark after a strategy, under the name of its new config; one without configs remains without.

    ``candidates`` are a table of `candidate_pool.CANDIDATES`. The statistics of ``best`` name the strategy (``best``),
    the mean distance from chance after each one (``selection``), and why others cannot be applied (``not_applied``).
    """
    import pyarrow.compute as pc

    from hf_vqa_mc.remedies.new_decoys import give_new_decoys
    from hf_vqa_mc.remedies.prune import prune
    from hf_vqa_mc.remedies.remedied import check_own_columns
    from hf_vqa_mc.remedies.repair import repair_benchmark
    from hf_vqa_mc.text.embeddings import embedding_families
    from hf_vqa_mc.text.many_texts import word_lists
    from hf_vqa_mc.text.word_vectors import load_word_vectors

    def sentences() -> Iterator[list[str]]:
        for split in benchmark.splits.values():
            yield from word_lists(split.rows["question"].combine_chunks())
            yield from word_lists(pc.list_flatten(split.rows["choices"].combine_chunks()))

    if strategy.name != "prune":
        check_own_columns(benchmark, sets=strategy.guarantees or strategy.name == "best")
    if strategy.name == "best":
        return _nearest_to_chance(benchmark, given, candidates, verdicts, progress)
    if strategy.name == "prune":
        made = prune(benchmark, TO_GAIN if given.prune is None else given.prune, given.seed, progress)
    elif strategy.name == "repair":
        vectors, name = None, given.word_vectors
        if name is not None:
            vectors = load_word_vectors(name, sentences, given.seed, progress)
        families, budget = embedding_families(vectors), given.budget or BUDGET
        made = repair_benchmark(benchmark, families, budget, given.seed, candidates, verdicts, progress)
    else:
        variant = _variant(given, strategy)
        values = {one.name: getattr(given, one.name, None) for one in fields(Settings)}
        method = Settings(**{"preset": PRESET, **{name: value for name, value in values.items() if value is not None}})
        keep_size = given.decoys_per_set is None and method.preset == PRESET
        donors = candidates.filter(pc.is_valid(candidates["question"]))
        donors = donors.slice(0, 0) if strategy.guarantees else donors
        made = give_new_decoys(benchmark, variant, given.word_vectors, method, donors, keep_size, progress, verdicts)
    if benchmark.config is None:
        return made
    return made._replace(benchmark=replace(made.benchmark, config=strategy.config(benchmark.config, given)))


def _nearest_to_chance(
    benchmark: "Benchmark",
    given: StrategySettings,
    candidates: "pa.Table",
    verdicts: "Rejected | None",
    progress: Progress,
) -> "Remedied":
    """The remedied benchmark on which the selection probes are nearest to chance."""
    from hf_vqa_mc.remedies.judgement import judge
    from hf_vqa_mc.text.embeddings import embedding_families

    families, distances = embedding_families(), dict[str, float]()
    found, failed = dict[str, "Remedied"](), dict[str, str]()
    for name, one in STRATEGIES.items():
        if name == "best":
            continue
        of_strategy = prefixed(progress, name)
        try:
            found[name] = made = remedied_by(one, benchmark, given, candidates, verdicts, of_strategy)
            judged = benchmark.test, made.benchmark.test
            mean = judge(*judged, families, given.seed, progress=of_strategy, selection=True).mean
            distances[name] = mean.after - mean.chance_after
        except InputError as error:
            failed[name] = str(error)
    if not distances:
        raise InputError("; ".join(f"{name}: {why}" for name, why in failed.items()))
    best = min(distances, key=lambda name: distances[name])
    more = {"best": best, "selection": distances, "not_applied": failed}
    return found[best]._replace(statistics={**found[best].statistics, **more})


STRATEGIES = {
    one.name: one
    for one in (
        Strategy(
            name="repair",
            help="change the fewest decoys",
            options=("budget", "word_vectors", "pool", *SOURCES, "reject"),
            suffix="repaired",
            advice="change the fewest decoys",
        ),
        Strategy(
            name="closed",
            help="closed answer sets (--guarantee)",
            options=("guarantee", "variant", "preset", "word_vectors", "reject", *SET_OPTIONS),
            suffix="remedied",
            variant="sets",
            arguments={"guarantee": "choices"},
            advice="form closed answer sets",
            guarantees=True,
        ),
        Strategy(
            name="iou_qou",
            help="replace all decoys by answers to other questions on the image and to similar questions (--variant), "
            "for datasets with many questions per image and answers that repeat",
            options=("variant", "preset", "decoys_per_set", "word_vectors", "pool", "reject"),
            suffix="remedied",
            variant="iou_qou",
        ),
        Strategy(name="prune", help="remove rows (--prune)", options=("prune",), suffix="pruned"),
        Strategy(
            name="best",
            help="the one of these after which further probes find least",
            options=("budget", "preset", "decoys_per_set", "word_vectors", "pool", *SOURCES, "reject", *SET_OPTIONS),
            arguments={"strategy": "best"},
        ),
    )
}
