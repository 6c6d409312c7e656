"""A page in one file: it loads nothing from elsewhere, and runs no script but its own."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.report import plain_text

TEMPLATES = Path(__file__).parent / "templates"
STYLE = "page.css"


def rendered(template: str, values: dict[str, Any], script: str | None = None, data: object = None) -> str:
    """A page's HTML; the same values give the same text.

    Its Content-Security-Policy lets browsers load nothing but ``data:`` images, and run and apply nothing but the
    script and the style whose checksums it names: text of a dataset stays text.

    Args:
        template: its name in ``templates``.
        values: of the template.
        script: the name in ``templates`` of the page's own script.
        data: for that script, any JSON value.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("percent", "points", "interval", "count", "plain"):
        environment.filters[name] = getattr(plain_text, name)
    style, code = _part(STYLE) + _kind_styles(), _part(script) if script else ""
    allowed = _checksum(code) if code else "'none'"
    policy = (
        f"default-src 'none'; img-src data:; style-src {_checksum(style)}; "
        f"script-src {allowed}; base-uri 'none'; form-action 'none'"
    )
    return environment.get_template(template).render(
        **values,
        policy=policy,
        style=Markup(style),  # our own files
        script=Markup(code),
        data=Markup(as_data(data)),  # nothing in it can end the element
    )


def as_data(value: object) -> str:
    r"""A JSON value as it may stand in a ``<script>`` element: nothing in it can end the element or open another.

    >>> print(as_data("</script>&"))
    "\u003c/script\u003e\u0026"
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _kind_styles() -> str:
    """Colours of the choice kinds: on light pages and paper, and on dark screens."""
    light, dark, rules = "", "", ""
    for name, kind in CHOICE_KINDS.items():
        light += f" --kind-{name}: {kind.colour};"
        dark += f" --kind-{name}: {kind.dark_colour};"
        rules += f".kind-{name} {{ border-left-color: var(--kind-{name}) !important; }}\n"
        rules += f".set.{name} h3 {{ color: var(--kind-{name}); }}\n"
    dark_screen = f"@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}"
    return f":root {{{light} }}\n{dark_screen}\n{rules}"


def _part(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8").replace("\r\n", "\n")


def _checksum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
