"""Source text of classes is copied with all that it needs, in an order that runs, or the reason is named."""

import sys

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.flattened import _source, flattened

FILES = {
    "numbers": '''
"""Not copied."""
import math as mathematics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

# the answer
ANSWER = 42  # noqa: PLR
"""of everything"""
UNUSED = 1


def half(of: "Fraction") -> float:
    return mathematics.floor(of / 2)


def slow(of):
    raise NotImplementedError
''',
    "shapes": """
from invented.numbers import ANSWER as BEST
from invented.numbers import half, slow


def decorated(made):
    made.size = half(BEST)
    return made


class Base:
    pass


@decorated
class Shape(Base):
    def area(self):
        return slow(self.size)
""",
    "parts": '''
def slow(of):
    """Simple."""
    return of * of
''',
    "reexports": "from invented.shapes import Shape\n\n\nclass Other(Shape):\n    pass\n",
    "twice": "from invented.numbers import half\n\nANSWER = 1\n\n\nclass Twice:\n    of = (half, ANSWER)\n",
    "collides": """
from invented.shapes import Shape
from invented.twice import Twice


class Both(Shape, Twice):
    pass
""",
    "lazy": "class Lazy:\n    def run(self):\n        from invented.numbers import half\n\n        return half(2)\n",
    "tried": """
try:
    import fast
except ImportError:
    fast = None


class Tried:
    def run(self):
        return fast
""",
    "optional": "from notthere import Picture\n\n\nclass Seeing:\n    kind = Picture\n",
}


@pytest.fixture
def text_of(tmp_path, monkeypatch):
    """The imports and definitions of a class of the package ``invented``."""
    package = tmp_path / "invented"
    package.mkdir()
    for name, text in FILES.items():
        (package / f"{name}.py").write_text(text)
    (package / "__init__.py").write_text("")
    (tmp_path / "notthere.py").write_text("Picture = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    _source.cache_clear()

    def text_of(module, name, **replaced):
        made = getattr(__import__(f"invented.{module}", fromlist=[name]), name)
        given = {("invented.numbers", key): text for key, text in replaced.items()}
        return flattened([made], {"invented"}, "invented.parts", given, {"notthere": "None"})

    yield text_of
    for module in [name for name in sys.modules if name.partition(".")[0] in ("invented", "notthere")]:
        del sys.modules[module]
    _source.cache_clear()


def run(text):
    values = {"__name__": "flat"}
    exec(compile("\n".join(text), "flat", "exec"), values)  # noqa: S102
    return values


def test_a_class_comes_with_what_it_needs_and_nothing_else(text_of):
    imports, definitions = text_of("shapes", "Shape")
    assert run((imports, definitions))["Shape"]().area() == 21 * 21
    assert imports.split() == "import math as mathematics".split()
    assert "UNUSED" not in definitions and "NotImplementedError" not in definitions
    assert '# the answer\nANSWER = 42\n"""of everything"""\n' in definitions
    assert definitions.index("BEST = ANSWER") < definitions.index("@decorated\nclass Shape(Base):")


def test_a_definition_is_replaced_where_it_is(text_of):
    found = run(text_of("reexports", "Other", half="def half(of):\n    return ANSWER - of + 3"))
    assert found["Other"]().area() == 9


def test_a_name_with_two_meanings_is_refused(text_of):
    text_of("twice", "Twice")
    with pytest.raises(InputError, match=r"ANSWER is both invented\.\w+\.ANSWER and invented\.\w+\.ANSWER"):
        text_of("collides", "Both")


def test_imports_inside_of_functions_are_refused(text_of):
    with pytest.raises(InputError, match=r"invented\.lazy\.Lazy imports invented\.numbers\.half; import it at the to"):
        text_of("lazy", "Lazy")


def test_a_name_without_a_definition_is_refused(text_of):
    with pytest.raises(
        InputError, match=r"invented\.tried: fast: no definition found; define or import it at the top"
    ):
        text_of("tried", "Tried")


def test_what_is_optional_is_replaced_where_it_is_missing(text_of, monkeypatch):
    text = text_of("optional", "Seeing")
    assert run(text)["Seeing"].kind == 1
    monkeypatch.setitem(sys.modules, "notthere", None)
    assert run(text)["Seeing"].kind is None


def test_a_class_that_is_in_no_file_is_refused(monkeypatch):
    made = type("Made", (), {"__module__": "made_by_hand"})
    monkeypatch.setitem(sys.modules, "made_by_hand", type(sys)("made_by_hand"))
    with pytest.raises(InputError, match="made_by_hand: the source of the model is not in a file"):
        flattened([made], {"made_by_hand"}, "hf_vqa_mc.hub.portable_parts", {}, {})
