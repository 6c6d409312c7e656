"""One declaration of an option serves the Python function, the command line and config files."""

import inspect
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pytest
import typer
from typer.testing import CliRunner

import hf_vqa_mc as vm
from hf_vqa_mc.cli.command import command
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, check_options, option, settings, subset
from hf_vqa_mc.result import Result, Step, verb
from hf_vqa_mc.verbs import VERBS


@settings
class Part:
    seed: int = option("Random seed.", default=0, panel=ADVANCED)


@settings
class PaintSettings(Part):
    """Paint something.

    In any colour.

    Raises:
        InputError: an option is out of range.
    """

    thing: str = option("What is painted.", kw_only=False)
    config: str | None = option("Which of several.", default=None, kw_only=False)
    coats: int = option("Coats of paint.", default=1, check=AT_LEAST_ONE)
    tone: Literal["light", "dark"] = option("light or dark.", default="light")
    share: float = option("Fraction that is painted.", default=1.0)
    colours: tuple[str, ...] | None = option("Colours.", default=None, separator=",")
    output: Path | None = option("File.", default=None, cli_default=lambda given: Path(f"{given['thing']}.txt"))
    extra: dict[str, Any] = option("NAME=VALUE.", factory=dict)
    rooms: dict[str, str] = option("Room, as kitchen=NAME.", factory=dict, separator=",")
    glossy: bool = option("Glossy paint.", default=False)
    primer: bool = option("With primer.", default=True)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, repr=False)
class Painted(Result):
    settings: PaintSettings

    @property
    def exit_code(self):
        return 3 if self.settings.coats > 9 else 0

    def report(self):
        yield f"[{self.settings.thing}] painted"

    def to_dict(self):
        return {one: str(value) for one, value in vars(self.settings).items()}

    def to_pandas(self):
        import pandas as pd

        return pd.DataFrame([self.to_dict()])

    def save(self, path):
        return []


@verb(PaintSettings, "vqa-mc paint house", settings_file=True)
def paint(settings: PaintSettings, progress) -> Painted:
    """What was painted."""
    progress("painting", 1, 1)
    return Painted(settings)


def typed(*arguments: str):
    app = typer.Typer()
    seen = []

    @app.callback()
    def main() -> None:
        """A group, so that the command keeps its name."""

    made = command(paint.verb)

    def run(*given, **options):
        seen.append(made(*given, **options))

    run.__signature__, run.__annotations__ = made.__signature__, made.__annotations__
    run.__doc__ = made.__doc__
    app.command("paint")(run)
    done = CliRunner().invoke(app, ["paint", *arguments])
    return done, seen


def test_pairs_hold_texts_where_the_option_wants_texts():
    done, _ = typed("house", "--rooms", "kitchen=1,hall=no", "--json")
    assert json.loads(done.stdout)["rooms"] == str({"kitchen": "1", "hall": "no"})
    done, _ = typed("house", "--rooms", "kitchen")
    assert str(done.exception) == "--rooms kitchen: expected NAME=VALUE (Room, as kitchen=NAME.)"


def test_the_function_has_the_fields_as_arguments_and_documents_them():
    parameters = inspect.signature(paint).parameters
    assert parameters["thing"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters["coats"].kind is inspect.Parameter.KEYWORD_ONLY and parameters["coats"].default == 1
    assert paint.__name__ == "paint"
    for expected in ("Paint something.", "In any colour.", "    coats: Coats of paint.", "Returns:\n    What"):
        assert expected in paint.__doc__
    assert paint.__doc__.count("Raises:") == 0  # paint raises nothing


def test_values_are_converted_and_checked_wherever_they_come_from():
    made = paint("house", share=1, colours="red, blue", output="a.txt").settings
    assert made.share == 1.0 and isinstance(made.share, float)
    assert made.colours == ("red", "blue") and made.output == Path("a.txt")
    assert paint("house", colours=["red"]).settings.colours == ("red",)
    assert subset(made, Part) == Part(seed=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"coats": 0}, "coats=0: expected 1 or more"),
        ({"coats": "two"}, "coats='two': expected an integer"),
        ({"coats": True}, "coats=True: expected an integer"),
        ({"tone": "drak"}, "unknown value of tone='drak': did you mean 'dark'"),
        ({"glossy": "no"}, "glossy='no': expected True or False"),
        ({"extra": [1]}, r"extra=\[1\]: expected names and values"),
        ({"thing": 3}, "thing 3: expected text"),
    ],
)
def test_a_wrong_value_names_the_option_and_what_was_expected(wrong, message):
    with pytest.raises(InputError, match=message):
        paint(**{"thing": "house", **wrong})


def test_a_wrong_argument_is_answered_by_name():
    with pytest.raises(TypeError, match=r"^paint\(\): unknown argument 'coat': did you mean 'coats'\?"):
        paint("house", coat=2)
    with pytest.raises(TypeError, match=r"'kitchen'; give rooms={'kitchen': \.\.\.}"):
        paint("house", kitchen="x")
    with pytest.raises(TypeError, match="missing a required argument: 'thing'"):
        paint()


def test_next_steps_are_commands_in_a_terminal_and_calls_in_python():
    step = Step(
        "why", "paint", ("my house",), {"coats": 2, "glossy": True, "rooms": {"hall": "no"}, "colours": ("a", "b")}
    )
    assert step.command == "vqa-mc paint 'my house' --coats 2 --glossy --rooms hall=no --colours a,b"
    assert step.call == "hf_vqa_mc.paint('my house', coats=2, glossy=True, rooms={'hall': 'no'}, colours=('a', 'b'))"
    assert Step("", "paint", (("a", "b"),)).command == "vqa-mc paint a b"
    assert Step("", "paint", (("a", "b"),)).call == "hf_vqa_mc.paint(('a', 'b'))"
    assert Step("", "paint", ([{}],)).command == "hf_vqa_mc.paint(dataset)"


def test_the_command_gives_what_the_function_gives():
    done, codes = typed("house", "--coats", "2", "--colours", "red,blue", "--colours", "green", "--glossy", "--json")
    assert done.exit_code == 0 and codes == [0]
    expected = paint("house", coats=2, colours=("red", "blue", "green"), glossy=True, output="house.txt").to_dict()
    import json

    assert json.loads(done.stdout) == expected


def test_the_command_prints_the_report_and_gives_the_exit_code():
    done, codes = typed("house", "--coats", "10", "--no-primer")
    assert "[house] painted" in done.stdout  # no markup is read from data
    assert codes == [3]


def test_names_and_values_are_read_as_yaml():
    done, _ = typed("house", "--extra", "a=1e-3", "--extra", "b=[1, 2]", "--json")
    assert "'a': 0.001, 'b': [1, 2]" in done.stdout


def test_a_settings_file_is_overridden_by_options(tmp_path):
    file = tmp_path / "paint.yaml"
    file.write_text("thing: boat\ncoats: 3\ntone: dark\n")
    done, _ = typed("--settings", str(file), "--coats", "4", "--json")
    assert '"thing": "boat"' in done.stdout and '"coats": "4"' in done.stdout and '"tone": "dark"' in done.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [("coat: 3", "unknown setting 'coat': did you mean 'coats'"), ("- 1", "expected settings"), ("a: [", "not YAML")],
)
def test_a_wrong_settings_file_is_named(tmp_path, content, message):
    file = tmp_path / "paint.yaml"
    file.write_text(content)
    done, _ = typed("house", "--settings", str(file))
    assert isinstance(done.exception, InputError)
    assert str(file) in str(done.exception) and message in str(done.exception)


def test_what_is_required_may_come_from_the_file_only():
    done, _ = typed("--coats", "2")
    assert str(done.exception).startswith("missing: THING (")


def test_help_shows_examples_defaults_and_panels():
    done, _ = typed("--help")
    for expected in ("Paint something.", "Example: vqa-mc paint house", "--no-primer", "Random seed.", ADVANCED):
        assert expected in done.stdout
    assert "--no-glossy" not in done.stdout
    assert done.stdout.index("--coats") < done.stdout.index("--json") < done.stdout.index("--seed")


def test_a_result_is_text_and_html():
    done = paint("<b>house</b>")
    assert repr(done) == "[<b>house</b>] painted"
    assert "&lt;b&gt;house&lt;/b&gt;" in done._repr_html_() and "<b>house" not in done._repr_html_()


def test_the_verbs_have_few_options():
    counts = {name: len(fields(getattr(vm, name).verb.settings)) for name in VERBS}
    table = "\n".join(f"{name:24}{count:4}" for name, count in counts.items())
    assert sum(counts.values()) <= 380, f"{table}\n{'all':24}{sum(counts.values()):4}"
