"""Targeted repair of a benchmark: each split from its own rows and from candidates from elsewhere."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.data.verdicts import Rejected
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.remedies.candidate_pool import CandidatePool, candidate_table
from hf_vqa_mc.remedies.candidate_sources import Candidate, images_in_common
from hf_vqa_mc.remedies.config_names import repaired_config
from hf_vqa_mc.remedies.new_rows import written_split
from hf_vqa_mc.remedies.rejections import without_bad_questions
from hf_vqa_mc.remedies.remedied import Remedied
from hf_vqa_mc.remedies.repair import ChangedDecoy, Repaired, repair
from hf_vqa_mc.remedies.replacement_filters import Refusal
from hf_vqa_mc.text.embeddings import EmbeddingFamily

_POOL = "\0pool"
"""Name of the candidates among the splits."""


def repair_benchmark(
    benchmark: Benchmark,
    families: Sequence[EmbeddingFamily],
    budget: float,
    seed: int = 0,
    candidates: Sequence[Candidate] = (),
    verdicts: Rejected | None = None,
    progress: Progress = silent,
) -> Remedied:
    """Replace the fewest decoys by which probes without the image find the target; see `repair`.

    Questions, targets, labels and all other columns are unchanged; ``choice_origins`` names the donor of each new
    decoy. A split other than the evaluated one with too few groups of rows (images, videos) is unchanged.

    Args:
        benchmark: with its targets.
        families: text embeddings.
        budget: largest share of decoys that are changed, in [0, 1].
        seed: random seed.
        candidates: from elsewhere.
        verdicts: texts that never become a question's decoys, and questions whose rows are left out.
        progress: called with (step, done, total).

    Raises:
        InputError: the evaluated split has too few groups of rows.
    """
    rejections = None
    if verdicts is not None:
        benchmark, rejections = without_bad_questions(benchmark, verdicts)
    tables = {name: split.rows for name, split in benchmark.splits.items()}
    numbered = number_rows({**tables, **({_POOL: candidate_table(candidates)} if candidates else {})})
    splits: dict[str, Split] = {}
    figures: dict[str, Any] = {}
    changes: list[dict[str, Any]] = []
    for name, split in benchmark.splits.items():
        pool = None
        if candidates:
            ids, images = (split.rows[column].to_pylist() for column in ("question_id", "image_id"))
            pool = CandidatePool(candidates, numbered[_POOL], ids, images)
        try:
            found = repair(
                numbered[name],
                split.clusters,
                families,
                answers=split.rows["answers"].to_pylist(),
                rejected=rejections.texts(split.rows) if rejections is not None else (),
                pool=pool,
                budget=budget,
                seed=seed,
                progress=prefixed(progress, name) if len(tables) > 1 else progress,
            )
        except InputError as error:
            if name == benchmark.evaluated:
                raise InputError(f"{split.location}: {error}") from error
            splits[name], figures[name] = split, {"unchanged": str(error)}
            continue
        described = [_described(one, split, candidates) for one in found.changes]
        splits[name] = _with_changes(benchmark, split, found, described)
        figures[name] = _figures(found)
        changes += described
    statistics: dict[str, Any] = {
        "strategy": "repair",
        "budget": budget,
        "embeddings": [family.name for family in families],
        "rows": sum(split.rows.num_rows for split in splits.values()),
        "decoys": sum(one.get("decoys", 0) for one in figures.values()),
        "changed": len(changes),
        "splits": figures,
        "changes": changes,
    }
    if candidates:
        statistics["candidates"] = {
            "given": len(candidates),
            "images_in_common": images_in_common(candidates, benchmark)
            if any(one.image_id for one in candidates)
            else None,
            "used": sum(not one["donor"] for one in changes),
        }
    if rejections is not None:
        tested = sum(one.get("refused", {}).get(Refusal.VERDICT, 0) for one in figures.values())
        statistics["rejected"] = rejections.as_json(tested, 0)
    return Remedied(replace(benchmark, config=repaired_config(benchmark.config), splits=splits), statistics)


def _described(change: ChangedDecoy, split: Split, candidates: Sequence[Candidate]) -> dict[str, Any]:
    """A changed decoy for JSON."""
    ids, own = split.rows["question_id"], split.rows.num_rows
    in_split = change.donor < own
    donor = ids[change.donor].as_py() if in_split else ""
    origin = f"question {donor}, {split.name}" if in_split else candidates[change.donor - own].source
    return {
        "split": split.name,
        "question_id": ids[change.row].as_py(),
        "index": change.index,
        "old": change.old,
        "new": change.new,
        "origin": origin,
        "donor": donor,
        "reason": change.reason,
        "plausibility": change.plausibility,
    }


def _figures(found: Repaired) -> dict[str, Any]:
    """What a repair of a split did, for JSON."""
    decoys = int(found.rows.valid[:, 1:].sum())
    return {
        "rows": len(found.rows),
        "decoys": decoys,
        "changed": len(found.changes),
        "rounds": len(found.rounds) - 1,
        "stopped": found.stopped,
        "refused": {str(reason): count for reason, count in found.refused.items()},
        "rows_without_candidate": max((one.without_candidate for one in found.rounds), default=0),
    }


def _with_changes(benchmark: Benchmark, split: Split, found: Repaired, described: list[dict[str, Any]]) -> Split:
    """A split with new decoys, in the benchmark's own columns with ``choice_origins``."""
    choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
    origins = [
        ["target" if index == label else "published" for index in range(len(texts))]
        for texts, label in zip(choices, labels, strict=True)
    ]
    for change, one in zip(found.changes, described, strict=True):
        choices[change.row][change.index] = change.new
        origins[change.row][change.index] = one["origin"]
    texts = pa.list_(pa.string())
    columns = {
        "choices": pa.array(choices, texts),
        "label": split.rows["label"].combine_chunks(),
        "choice_origins": pa.array(origins, texts),
    }
    table = split.rows.set_column(split.rows.schema.get_field_index("choices"), "choices", columns["choices"])
    most = int(found.rows.sizes.max(initial=0))
    return replace(split, rows=table, original=written_split(benchmark, split, columns, most))
