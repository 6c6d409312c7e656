"""An audit's JSON and questions as they come out of one, for the pages' tests."""

import io
from random import Random

from PIL import Image, ImageDraw

from hf_vqa_mc.report.examples import Example

TYPES = ["what", "how many", "is there", "what color", "where", "who", "why", "when"]
SHORTCUTS = [
    ("question and answer prior", "question", "picks the choice most often right after such a question", 0.331, False),
    ("random forest: question and choices", "question", "follows a random forest", 0.302, True),
    ("answer prior (eq. 2)", "choices", "picks the choice most often right elsewhere", 0.254, False),
    ("logistic regression: everything", "everything", "follows a logistic regression", 0.241, True),
    ("logistic regression: choices alone", "choices", "follows a logistic regression on the choices", 0.183, True),
    ("random forest: image and choices", "image", "follows a random forest that sees the image", 0.151, True),
    ("most frequent choice", "choices", "picks the most frequent choice text", 0.094, False),
    ("longest choice", "choices", "always picks the longest choice", 0.042, False),
    ("most words of the question", "question", "picks the choice with most words of the question", 0.021, False),
    ("choice A", "choices", "always picks choice A", 0.006, False),
    ("choice B", "choices", "always picks choice B", 0.003, False),
    ("choice C", "choices", "always picks choice C", -0.002, False),
    ("odd one out", "choices", "picks the choice least like the others", -0.011, False),
    ("choice D", "choices", "always picks choice D", -0.012, False),
    ("most like the others", "choices", "picks the choice most like the others", -0.031, False),
    ("shortest choice", "choices", "always picks the shortest choice", -0.053, False),
]


WORDS = [("two", 900, 1500, 375), ("white", 700, 1300, 325), ("yes", 400, 700, 175), ("microwave", 12, 800, 200),
         ("seven", 20, 600, 150)]  # fmt: skip


def shortcut(name, inputs, picks, gain, probe, chance, half):
    alarm = gain - half > 0.01
    sentence = f"A strategy that {picks} is correct {chance + gain:.1%} of the time, {100 * gain:+.1f} points above."
    ends = {"low": gain - half, "high": gain + half, "p": 0.0 if alarm else 0.4, "p_holm": 0.0 if alarm else 1.0}
    figures = {"accuracy": chance + gain, "gain": gain, **ends, "alarm": alarm, "sentence": sentence}
    return {"name": name, "inputs": inputs, "trained": probe, "rows": 38948, **figures}


def audit(strength=1.0, chance=0.25, config="cocoqa_orig"):
    """What an audit finds in a benchmark whose shortcuts are so strong."""
    found = [
        shortcut(name, inputs, picks, gain * strength, probe, chance, 0.014)
        for name, inputs, picks, gain, probe in SHORTCUTS
    ]
    histogram = [
        {"from": step / 10, "to": (step + 1) / 10, "rows": int(400 * (1 + strength * step * (9 - step) / 4))}
        for step in range(10)
    ]
    return {
        "version": "0.1.0",
        "dataset": "vqa_mc",
        "config": config,
        "split": "test",
        "rows": 38948,
        "images": 20513,
        "choices": [round(1 / chance)],
        "chance": chance,
        "train_source": "train",
        "verdict": f"Shortcuts solve {chance + 0.331 * strength:.1%} of this benchmark; chance is {chance:.1%}."
        " The strongest counts which answers are right after which questions; it never looks at an image.",
        "shortcuts": found,
        "per_type": per_type(found, chance, Random(f"{strength}")),
        "findings": [
            finding("target in the question", "The target's words stand in the question.", 212, 38948, "rows"),
            finding("never correct", "Decoys that are no question's target.", int(52000 * strength), 116844, "decoys"),
            finding("hidden duplicates", "Same image, question and choices as another row.", 0, 38948, "rows"),
        ],
        "ambiguous_decoys": {
            "decoys": 116844,
            "share": 0.021 + 0.01 * (1 - strength),
            "reasons": {"same after VQA normalisation": 0.002, "WordNet similarity 0.9 or more": 0.017},
        },
        "predictive_texts": {
            "words": [predictive(*one) for one in WORDS],
            "choices": [predictive("a man", 210, 400, 100), predictive("purple", 5, 300, 75)],
        },
        "bias": {"mean": chance + 0.3 * strength, "histogram": histogram},
        "not_run": [{"name": "trained probes", "reason": "--no-probes"}],
        "not_tested": [],
        "skipped_splits": {},
        "read_as": "",
        "caveat": "",
    }


def per_type(shortcuts, chance, rng):
    found = []
    for index, kind in enumerate(TYPES):
        gains = {one["name"]: one["gain"] * rng.uniform(0.3, 1.5) for one in shortcuts}
        ends = {
            name: {"gain": gain, "low": gain - 0.03, "high": gain + 0.03, "alarm": gain > 0.03}
            for name, gain in gains.items()
        }
        found.append({"type": kind, "rows": 4000 // (index + 1), "chance": chance, "shortcuts": ends})
    return found


def finding(name, sentence, number, of, per):
    ids = [f"{name}-{index}" for index in range(min(number, 20))]
    counts = {"count": number, "total": of, "unit": per, "share": number / of}
    return {"name": name, "sentence": sentence, **counts, "question_ids": ids}


def predictive(text, target, presented, expected):
    z = (target - expected) / (0.75 * expected) ** 0.5
    return {"text": text, "target": target, "presented": presented, "expected": expected, "z": z}


ASKED = [
    ("What is the cat lying on?", ["a sofa", "a bed", "the floor", "a car"], "what"),
    ("How many people are in the picture?", ["two", "three", "five", "none"], "how many"),
    ("What color is the umbrella?", ["red", "blue", "green", "white"], "what color"),
    ("Where was this taken?", ["at the beach", "in a kitchen", "on a street", "in an office building"], "where"),
]


def image(seed=0, size=(640, 480), format="PNG"):
    """A picture of some shapes."""
    rng = Random(seed)
    made = Image.new("RGB", size, tuple(rng.randrange(120, 255) for _ in range(3)))
    pen = ImageDraw.Draw(made)
    for _ in range(8):
        x, y, side = rng.randrange(size[0]), rng.randrange(size[1]), rng.randrange(40, 200)
        pen.ellipse((x, y, x + side, y + side), fill=tuple(rng.randrange(256) for _ in range(3)))
    written = io.BytesIO()
    made.save(written, format=format)
    return written.getvalue()


def examples(number=14, kinds=False, images=True):
    """Questions as an audit shows them; with the kinds of their choices, seven choices each."""
    found = []
    for index in range(number):
        question, choices, kind = ASKED[index % len(ASKED)]
        decoys = ["grass", "a dog", "a man"] if kinds else []
        found.append(
            Example(
                question_id=f"q{index}",
                question=question,
                question_type=kind,
                choices=[*choices, *decoys],
                label=index % 4,
                kinds=["iou", "iou", "iou", "iou", "qou", "qou", "qou"] if kinds else [],
                origins=[f"What is next to it? ({text})" for text in [*choices, *decoys]] if kinds else [],
                picked=None if index % 5 == 4 else index % 3,
                bias=(index % 10) / 10,
                images=(image(index),) if images else (),
                note="most biased" if index % 2 else "drawn at random",
            )
        )
    return found
