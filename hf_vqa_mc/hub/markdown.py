"""Text of others as Markdown shows it: whatever is in it, it stays where it was put."""

import re

_SIGNS = re.compile(r"([\\`*_\[\]<>|#&~$])")
_ADDRESS = re.compile(r"https?://[\w.~:/?#@!$&'()*+,;=%-]+", re.ASCII)
_TICKS = re.compile(r"`+")


def plain(text: str) -> str:
    r"""One line that looks like the text.

    >>> print(plain("a|b\n# *c*"))
    a\|b \# \*c\*
    """
    return _SIGNS.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    r"""One line as code; plain where code could not hold it, in a table or out of one.

    >>> print(code("cocoqa_iou_qou"), code("a|b"))
    `cocoqa_iou_qou` a\|b
    """
    line = one_line(text)
    return plain(line) if not line or re.search(r"[`|\\]", line) else f"`{line}`"


def link(text: str, address: str) -> str:
    """A link, if the address is one of the web; else the text and nothing else.

    >>> link("COCO-QA", "https://example.org/a"), link("COCO-QA", "javascript:alert()")
    ('[COCO-QA](<https://example.org/a>)', 'COCO-QA')
    """
    return f"[{plain(text)}](<{address}>)" if _ADDRESS.fullmatch(address) else plain(text)


def block(text: str, language: str) -> str:
    """Lines as they are, fenced by more backticks than are in them."""
    lines = "\n".join(_shown(line).rstrip() for line in text.strip().splitlines())
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(lines)), default=0))
    return f"{fence}{language}\n{lines}\n{fence}"


def one_line(text: str) -> str:
    """Without line breaks, and without characters that show nothing or cannot be written."""
    return " ".join(_shown(text).split())


def _shown(line: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in line)
