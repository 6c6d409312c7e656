"""Self-contained HTML pages: they load nothing and run only their own script."""

import base64
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_vqa_mc.audits.figures.figure import number_text
from hf_vqa_mc.data.questions import letter
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.io.atomic import Staged, new_folder
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.report import plain_text
from hf_vqa_mc.report.charts import colour_styles, drawing_styles
from hf_vqa_mc.report.examples import Example, kind_legends
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values

TEMPLATES = Path(__file__).parent / "templates"
_KIND_RULE = """.kind-{0} {{ border-left-color: var(--kind-{0}) !important; }}
.set.{0} h3 {{ color: var(--kind-{0}); }}
"""
PREVIEW_SIDE, SMALL_SIDE = 480, 240  # longer side in pixels of images on a page, and where there are many


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


def table_values(
    title: str, heads: Collection[str], rows: Iterable[Sequence[str]], texts: Collection[str], lead: str = ""
) -> dict[str, Any]:
    """A table for the macro ``table`` of ``bars.html.jinja``; the columns ``texts`` are on the left."""
    names = [(plain(name), name in texts) for name in heads]
    return {"title": plain(title), "lead": lead, "heads": names, "rows": [list(map(plain, cells)) for cells in rows]}


@contextmanager
def staged_report(
    folder: Path, kind: FolderKind, contents: Mapping[str, bytes], overwrite: bool = False
) -> Iterator[tuple[Staged, list[Path]]]:
    """Write the files of a report by name, for `publish_together`; the folder is created if missing."""
    folder.parent.mkdir(exist_ok=True)
    with new_folder(folder, kind, overwrite) as new:
        for name, content in contents.items():
            (new.tree / name).parent.mkdir(exist_ok=True)
            (new.tree / name).write_bytes(content)
        yield new, [folder / name for name in contents]


def as_data(value: object) -> str:
    """A JSON value escaped for a ``<script>`` element."""
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _part(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8").replace("\r\n", "\n")


def preview_html(title: str, examples: Sequence[Example]) -> str:
    """Example questions as a page: image, question and choices by kind, as in Figure 2 of Chao et al. (2018).

    A model's pick is marked by a tick if correct, else by a cross; its attention is drawn on the image.
    """
    facts = {"questions": count(len(examples))}
    if any(len(example.priors) for example in examples):
        facts["in brackets"] = "P(correct | choice), eq. 2 of Chao et al. 2018"
    if rights := [example.picked == example.label for example in examples if example.picked is not None]:
        share = percent(sum(rights) / len(rights), 0)
        facts["model accuracy"] = f"{share} ({sum(rights):,} of {len(rights):,})"
    if any(example.attention is not None for example in examples):
        facts["orange on images"] = "model’s attention"
    cards = [(one, picture_values(one.images, PREVIEW_SIDE, attention=one.attention)) for one in examples]
    values = {"title": plain(title, 200), "facts": facts, "cards": cards, "legends": kind_legends()}
    return rendered("preview.html.jinja", values)
