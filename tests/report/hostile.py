"""Text and images that mean no good."""

from dataclasses import replace
from typing import Any

from hf_vqa_mc.report.examples import Example

ALARM = "window.hacked = 1"
TEXTS = [
    f"</script><script>{ALARM}</script>",
    f"<img src=x onerror='{ALARM}'>",
    f'"><svg onload="{ALARM}">',
    f"javascript:{ALARM}",
    f"{{{{ 7 * 7 }}}} {{% raw %}} ${{{ALARM}}} $x$ \\frac",
    f"<!--<script>{ALARM}",
    "]]></style><link rel=stylesheet href=http://127.0.0.1:9/x.css>",
    "\x00\x08\x1b[31m\ud800 \u202eright to left\u202c \ufffe",
    "שלום עולם \u2067 abc",
    "\u2028\u2029\x85 &lt;b&gt; &amp;#x3c;",
    "<" * 1_000_000,
    "",
]


def spoilt(value: Any, number: int = 0) -> Any:
    """The same json with every text made hostile, names of fields and what a program reads excepted."""
    if isinstance(value, dict):
        kept = ("inputs", "unit")
        return {key: one if key in kept else _spoilt_value(key, one, number + index)
                for index, (key, one) in enumerate(value.items())}  # fmt: skip
    if isinstance(value, list):
        return [spoilt(one, number + index) for index, one in enumerate(value)]
    return TEXTS[number % len(TEXTS)] + f" {number}" if isinstance(value, str) else value


def _spoilt_value(key: str, value: Any, number: int) -> Any:
    if key in ("name", "type"):  # which identify rows
        return f"{TEXTS[number % len(TEXTS)][:5000]} {value}"
    if key in ("reasons",):
        return {f"{TEXTS[index]} {name}": one for index, (name, one) in enumerate(value.items())}
    if key == "shortcuts" and isinstance(value, dict):
        return value
    return spoilt(value, number)


def questions(examples: list[Example]) -> list[Example]:
    """The same examples with hostile text everywhere, and images that are none."""
    images = [b"", b"no image", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"\x89PNG\r\n\x1a\n" + bytes(50)]
    return [
        replace(
            example,
            question_id=f"{TEXTS[number % len(TEXTS)][:3000]}{number}",
            question=TEXTS[(number + 1) % len(TEXTS)],
            question_type=TEXTS[(number + 2) % len(TEXTS)],
            choices=[TEXTS[(number + index) % len(TEXTS)] for index in range(len(example.choices))],
            origins=[TEXTS[(number - index) % len(TEXTS)] for index in range(len(example.choices))],
            note=TEXTS[(number + 3) % len(TEXTS)],
            images=(images[number % len(images)],),
        )
        for number, example in enumerate(examples)
    ]
