"""Repairs of made-up benchmarks with long, unique answers: `python .ci/benchmarks/long_answers.py [FOLDER]`.

1,000 rows each; in a share of the rows the target alone has a subordinate clause. With FOLDER the benchmarks are
written there as csv files, for `vqa-mc survey FOLDER`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import hf_vqa_mc as vm  # noqa: E402

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

N_ROWS, CHOICES = 1_000, 4
PLANTED = {"no leak": 0.0, "leak of 5 points": 0.067, "leak of 20 points": 0.27}
"""Name of a benchmark to the share of its rows in which the target alone has a clause."""
TOPICS = {
    "kitchen": ("cook baker waiter", "stir lift open", "heat cool clean cover carry sort weigh", "soup bread plate"),
    "garden": ("gardener boy neighbor", "bend carry drop", "water cut plant move mark clear dig", "rose hedge path"),
    "street": ("driver nurse cyclist", "stop touch turn", "see pass warn follow load park repair", "truck sign bus"),
    "stage": (
        "singer dancer drummer",
        "raise hold point at",
        "lead greet calm join light film",
        "band crowd drum",
    ),
    "beach": ("surfer father diver", "wave at wash pull", "find dry tie save carry teach hide", "board rope shell"),
}
ADJECTIVES = "old small heavy broken yellow wet empty new borrowed noisy narrow spare".split()
CLAUSES = ("before the others arrive", "while the light is good", "as the sign demands", "after the long break")


def _answer(topic: tuple[str, ...], rng: np.random.Generator) -> str:
    _, _, verbs, things = (part.split() for part in topic)
    others = "table gate bag box wheel lamp door chair".split()
    nouns = f"{rng.choice(ADJECTIVES)} {rng.choice(things)} near the {rng.choice(ADJECTIVES)} {rng.choice(others)}"
    return f"to {rng.choice(verbs)} the {nouns}"


def made_up(share: float, seed: int = 0) -> pd.DataFrame:
    """A benchmark in which clauses reveal the target in a share of the rows, and nothing does in the others."""
    rng, rows = np.random.default_rng(seed), []
    for number in range(N_ROWS):
        topic = TOPICS[str(rng.choice(list(TOPICS)))]
        label, is_planted = int(rng.integers(CHOICES)), rng.random() < share
        choices = dict.fromkeys(_answer(topic, rng) for _ in range(20))
        clauses = [index == label if is_planted else rng.random() < 0.5 for index in range(CHOICES)]
        texts = [
            f"{text} {rng.choice(CLAUSES)}" if clause else text for text, clause in zip(choices, clauses, strict=False)
        ]
        person, action, thing = (str(rng.choice(topic[part].split())) for part in (0, 1, 3))
        question = f"Why does the {person} {action} the {rng.choice(ADJECTIVES)} {thing}?"
        rows.append({"video": f"v{number // 2}", "question": question, **dict(zip("ABCD", texts, strict=True))})
        rows[-1]["answer"] = "ABCD"[label]
    return pd.DataFrame(rows)


def rows() -> Iterator[Row]:
    """Mean distance from chance by the report probes before and after, the decoys changed, and the probe farthest."""
    for name, share in PLANTED.items():
        result = vm.remedy(made_up(share))
        found, statistics = result.comparison, result.statistics
        changed = 100 * statistics["changed"] / statistics["decoys"]
        yield f"{name}: decoys changed", changed, "%", "<= 20" if share else "<= 0.5"
        yield f"{name}: mean distance from chance, before", 100 * (found.mean.before - found.mean.chance), "points", ""
        yield f"{name}: change of it, upper bound", 100 * found.mean.high, "points", "< 0" if share > 0.1 else "<= 0.2"
        farthest = max(found.probes, key=lambda one: abs(one.after - one.chance_after))
        yield f"{name}: farthest after, {farthest.name}", 100 * farthest.after, "%", ""


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for title, planted in PLANTED.items():
            made_up(planted).to_csv(Path(sys.argv[1]) / f"{title.replace(' ', '_')}.csv", index=False)
    else:
        for what, value, unit, _ in rows():
            print(f"{what}: {value:.1f} {unit}", flush=True)
