"""Self-contained HTML pages: they load nothing and run only their own script."""

import base64
import hashlib
from pathlib import Path
from typing import Any

from hf_vqa_mc.audits.figures.figure import number_text
from hf_vqa_mc.data.questions import letter
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.report import plain_text
from hf_vqa_mc.report.charts import colour_styles, drawing_styles
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.text.tables import TextTable

TEMPLATES = Path(__file__).parent / "templates"
_KIND_RULE = """.kind-{0} {{ border-left-color: var(--kind-{0}) !important; }}
.set.{0} h3 {{ color: var(--kind-{0}); }}
"""


def rendered(
    template: str,
    values: dict[str, Any],
    script: str | None = None,
    data: object = None,
    *,
    style: str | None = None,
    source: str = "",
) -> str:
    """Render a page, with all texts escaped; deterministic.

    Its Content-Security-Policy allows only ``data:`` images, and only the script and the style with the given
    checksums, so that text of a dataset is never executed.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    colours = {name: (kind.colour, kind.dark_colour) for name, kind in CHOICE_KINDS.items()}
    kinds = colour_styles("kind", colours) + "".join(map(_KIND_RULE.format, CHOICE_KINDS))
    rules = _part("page.css") + kinds + drawing_styles() + (_part(style) if style else "")
    code = _part(script) if script else ""
    none = "'none'"
    allowed, style_allowed = (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" if text else none
        for text in (code, rules)
    )
    policy = (
        f"default-src 'none'; img-src data: {source}; style-src {style_allowed}; script-src {allowed}; "
        f"connect-src {source or none}; base-uri 'none'; form-action {source or none}"
    )
    files = FileSystemLoader(TEMPLATES, encoding="utf-8")
    environment = Environment(
        loader=files, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = ("percent", "points", "interval", "count", "plain", "breakable")
    environment.filters |= {"letter": letter, "number_text": number_text}
    environment.filters |= {name: getattr(plain_text, name) for name in filters}
    ours = {"policy": policy, "style": Markup(rules), "script": Markup(code), "data": as_data(data)}
    return environment.get_template(template).render(**values, **ours)


def table_values(title: str, table: TextTable, lead: str = "") -> dict[str, Any]:
    """A table for the macro ``table`` of ``bars.html.jinja``."""
    heads = [(plain(name), name in table.texts) for name in table.columns]
    rows = [list(map(plain, cells)) for cells in zip(*table.columns.values(), strict=True)]
    return {"title": plain(title), "lead": lead, "heads": heads, "rows": rows}


def as_data(value: object) -> str:
    """A JSON value escaped for a ``<script>`` element."""
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _part(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8").replace("\r\n", "\n")
