"""Markdown pages in which text of a dataset stays text: escaping, and templates that escape every value."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

# also what GitHub makes a link: https://..., www....
_SIGNS = re.compile(r"([\\`*_\[\]<>|#&~$]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[\w.~:/?#@!$&'()*+,;=%-]+", re.ASCII)
_TICKS = re.compile(r"`+")


def environment(folder: Path, **options: Any) -> "Environment":  # noqa: ANN401  as jinja2 has them
    """Templates in a folder; values are escaped unless they come from `code`, `link`, `block` or a macro."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    def marked(function: Any) -> Any:  # noqa: ANN401
        return lambda *values: Markup(function(*values))

    def escaped(value: Any) -> Any:  # noqa: ANN401
        return value if hasattr(value, "__html__") else Markup(_escaped(str(value)))

    loader = FileSystemLoader(folder, encoding="utf-8")
    made = Environment(
        loader=loader, autoescape=True, finalize=escaped, trim_blocks=True, lstrip_blocks=True, **options
    )
    made.filters |= {one.__name__: marked(one) for one in (plain, code, link, block)}
    made.filters["cells"] = lambda values: Markup(" | ".join(escaped(one) for one in values))
    return made


def plain(text: str) -> str:
    r"""One line that looks like the text.

    >>> print(plain("a|b\n# *c*"))
    a\|b \# \*c\*
    """
    return _escaped(one_line(text))


def code(text: str) -> str:
    r"""One line as code; escaped text if it cannot be code in a table.

    >>> print(code("cocoqa_iou_qou"), code("a|b"))
    `cocoqa_iou_qou` a\|b
    """
    line = one_line(text)
    return plain(line) if not line or re.search(r"[`|\\]", line) else f"`{line}`"


def link(text: str, address: str) -> str:
    """A link if the address is a web address; otherwise only the text.

    >>> link("COCO-QA", "https://example.org/a"), link("COCO-QA", "javascript:alert()")
    ('[COCO-QA](<https://example.org/a>)', 'COCO-QA')
    """
    return f"[{plain(text)}](<{address}>)" if _ADDRESS.fullmatch(address) else plain(text)


def block(text: str, language: str) -> str:
    """A fenced code block, with a fence longer than any backticks in it."""
    lines = "\n".join(_shown(line).rstrip() for line in text.strip().splitlines())
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(lines)), default=0))
    return f"{fence}{language}\n{lines}\n{fence}"


def one_line(text: str) -> str:
    """The text without line breaks and unprintable characters."""
    return " ".join(_shown(text).split())


def _shown(line: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in line)


def _escaped(text: str) -> str:
    return _SIGNS.sub(r"\\\1", _shown(text))
