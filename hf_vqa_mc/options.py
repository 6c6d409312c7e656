"""Settings dataclasses: one declaration of an option serves the Python function, the command line and config files.

A verb (``audit``, ``build`` ...) has one frozen dataclass whose fields are made with `option`. `verb` turns it and a
function of its instance into the public function; ``cli.command`` turns the same dataclass into a command.
"""

import contextlib
import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, Union, cast, dataclass_transform, get_args, get_origin

from hf_vqa_mc.errors import InputError, python_names, shown, unknown_name
from hf_vqa_mc.io.packed import reading
from hf_vqa_mc.io.progress import Progress, interactive_progress

P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")

Check = tuple[str, Callable[[Any], bool]]
"""Description of valid values, and a test."""

AT_LEAST_ONE: Check = ("1 or more", lambda value: value >= 1)
AT_LEAST_ZERO: Check = ("0 or more", lambda value: value >= 0)
POSITIVE: Check = ("a number above 0", lambda value: 0 < value < math.inf)
FRACTION: Check = ("a number from 0 to 1", lambda value: 0 <= value <= 1)
FOLDER: Check = ("an existing folder", Path.is_dir)
SEED: Check = ("0 or more, and less than 2**32", lambda value: 0 <= value < 2**32)


def _may_have_vectors(name: str) -> bool:
    path = Path(name).expanduser()
    is_plain = path.name == name and path.suffix not in (".bin", ".txt", ".vec", ".kv", ".gz", ".xz", ".zip")
    return path.is_file() or (is_plain and (name == "corpus" or not path.exists()))


VECTORS: Check = ("an existing word2vec, GloVe or .kv file, a name of gensim-data, or corpus", _may_have_vectors)

ADVANCED = "Advanced"
"""Group of rare options, the last in the help of every command."""


@dataclass(frozen=True)
class Spec:
    """Declaration of an option, except its name, type and default."""

    help: str
    panel: str = ""
    """group of options in the command's help"""
    check: Check | None = None
    separator: str | None = None
    """separator of a tuple's elements in one text: ``--variants iou,qou``"""
    cli_default: Any = None
    """default of the command if Python's is None, such as an output folder; a value or a function of given options"""


def option(
    help: str,
    default: Any = MISSING,  # noqa: ANN401  any setting
    *,
    kw_only: bool = True,
    factory: Callable[[], Any] | None = None,
    **spec: Any,  # noqa: ANN401  the fields of Spec
) -> Any:  # noqa: ANN401  as dataclasses.field
    """A field of a settings dataclass.

    Args:
        help: one sentence, shown by ``-h`` and in the function's docstring.
        default: by keyword, so that type checkers see it; without one the option is required.
        kw_only: False for a positional argument of the command.
        factory: makes the default, as ``default_factory``.
        spec: other fields of `Spec`.
    """
    given = {"default": default} if factory is None else {"default_factory": factory}
    return field(**given, kw_only=kw_only, metadata={"spec": Spec(help, **spec)})


def overwrite_option() -> Any:  # noqa: ANN401  as `option`
    """The option of verbs that replace files; those that resume their output do not have it."""
    return option(
        "Replace existing files, also changed ones; in a folder of vqa-mc, files that it did not write are kept.",
        default=False,
    )


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option,))
def settings(kind: type[T]) -> type[T]:
    """Make a class of `option` fields a frozen dataclass with keyword-only fields, validated by `check_options`."""
    if not hasattr(kind, "__post_init__"):
        kind.__post_init__ = check_options  # type: ignore[attr-defined]
    return dataclass(frozen=True, kw_only=True)(kind)


def spec_of(one: "Field[Any]") -> Spec:
    """The declaration of a field made with `option`."""
    spec: Spec = one.metadata["spec"]
    return spec


def default_of(one: "Field[Any]") -> Any:  # noqa: ANN401  any setting
    """A field's default; MISSING if it is required."""
    return one.default if one.default_factory is MISSING else one.default_factory()


def flag_of(one: "Field[Any]") -> str:
    """The name of a setting on the command line, such as ``--drop-at`` or ``DATASET``."""
    if not one.kw_only:
        return one.name.upper()
    return f"--{one.name.replace('_', '-')}"


def inner_type(one: "Field[Any]") -> Any:  # noqa: ANN401  a type
    """The type of a field without ``None``; the first one of a union."""
    kinds = get_args(one.type) if get_origin(one.type) in (Union, types.UnionType) else (one.type,)
    return next((kind for kind in kinds if kind is not type(None)), str)


def check_options(settings: Any, inputs: bool = False) -> None:  # noqa: ANN401  any settings dataclass
    """Convert and validate every field; a ``__post_init__`` of a settings class has to call it.

    Text is converted to `Path` or tuple, lists to tuples, integers to floats, according to the field's type. Raises
    InputError if a value is not allowed, with ``inputs`` also if it names no file (records leave out the folders).
    """
    for one in fields(settings):
        value = getattr(settings, one.name)
        if value is None and default_of(one) is None:
            continue
        value = converted(one, value)
        object.__setattr__(settings, one.name, value)
        check = spec_of(one).check
        if check is not None and (inputs or check not in (FOLDER, VECTORS)) and not check[1](value):
            value = [f"{key}={each}" for key, each in value.items()] if isinstance(value, Mapping) else value
            plain = " ".join(map(str, value)) if isinstance(value, tuple | list) else value
            raise InputError(f"{flag_of(one)} {plain}: expected {check[0]}")


def converted(one: "Field[Any]", value: Any) -> Any:  # noqa: ANN401  any setting
    """A value converted to the field's type; raises InputError with the option's name if it has another type."""
    kind, spec = inner_type(one), spec_of(one)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise unknown_name(f"value of {flag_of(one)}", str(value), [str(each) for each in get_args(kind)])
        return value
    if get_origin(kind) is tuple:
        value = [value] if isinstance(value, str | Path) else value
        if not isinstance(value, list | tuple):
            raise _wrong_type(one, value, "a list")
        if spec.separator:
            value = [part.strip() for each in value for part in str(each).split(spec.separator) if part.strip()]
        return tuple(_scalar(one, get_args(kind)[0], each) for each in value)
    if get_origin(kind) in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _wrong_type(one, value, "names and values")
        value_type = get_args(kind)[1]
        return {name: each if value_type is Any else _scalar(one, value_type, each) for name, each in value.items()}
    return _scalar(one, kind, value)


def _scalar(one: "Field[Any]", kind: Any, value: Any) -> Any:  # noqa: ANN401  any setting
    if kind is Path and isinstance(value, str | Path):
        return Path(value).expanduser()
    if kind is str and isinstance(value, Path):
        return str(value)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    names = {str: "text", int: "an integer", float: "a number", bool: "True or False"}
    if kind in names and (not isinstance(value, kind) or (isinstance(value, bool) and kind is int)):
        raise _wrong_type(one, value, names[kind])
    return value


def _wrong_type(one: "Field[Any]", value: object, expected: str) -> InputError:
    return InputError(f"{flag_of(one)} {shown(value)}: expected {expected}")


def subset(settings: Any, kind: type[T]) -> T:  # noqa: ANN401  any settings dataclass
    """An instance of another settings dataclass from the common fields."""
    return kind(**{one.name: getattr(settings, one.name) for one in fields(kind)})  # type: ignore[arg-type]


def read_settings_file(file: Path, settings: type, flag: str = "--settings") -> dict[str, Any]:
    """The settings in a YAML file, by name; messages name it by ``flag``.

    Raises InputError if it does not exist, is not YAML, or names an unknown setting.
    """
    import yaml

    try:
        found = yaml.safe_load(file.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{flag} {file}: no such file") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{flag} {file}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise InputError(f"{flag} {file}: expected settings, such as 'seed: 1'; found {shown(found)}")
    known = {one.name: one for one in fields(settings)}
    for name, value in found.items():
        try:
            if name not in known:
                raise unknown_name("setting", str(name), known)
            if inner_type(known[name]) is float and isinstance(value, str):
                with contextlib.suppress(ValueError):
                    value = float(value)  # text in YAML, such as 1e-3
            found[name] = None if value is None else converted(known[name], value)
        except InputError as error:
            raise InputError(f"{flag} {file}: {error}") from error
    return found


@settings
class ExecutorOptions:
    """Options of verbs whose work a Ray cluster can do."""

    executor: Literal["local", "ray"] = option(
        "local, or ray (extra ray): the nodes of a Ray cluster do the work.", default="local", panel=ADVANCED
    )
    address: str | None = option(
        "Ray cluster: auto, HOST:PORT or ray://HOST:PORT; by default Ray is started on this machine.",
        default=None,
        panel=ADVANCED,
    )
    workers: int | None = option(
        "CPUs of a call with --executor ray, by default those of the smallest node; else threads, by default one per "
        "core.",
        default=None,
        check=AT_LEAST_ONE,
        panel=ADVANCED,
    )

    def __post_init__(self) -> None:
        """Check the options."""
        check_options(self)
        if self.address is not None and self.executor != "ray":
            raise InputError("--address is used only with --executor ray; add it")


def listed_options(settings: type) -> "list[Field[Any]]":
    """The fields of a settings dataclass as help and documentation list them: those of the panel `ADVANCED` last."""
    return sorted(fields(settings), key=lambda one: spec_of(one).panel == ADVANCED)


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb of Python and the command line."""

    name: str
    """name of the Python function and the command (``generate_gqa``: ``generate gqa``)"""
    settings: type
    run: Callable[[Any, Progress], Any]
    examples: tuple[str, ...]
    settings_file: bool = False
    """whether ``--settings FILE`` reads settings from YAML"""

    @property
    def summary(self) -> str:
        """Description from the docstring of the settings."""
        return (inspect.getdoc(self.settings) or "").partition("Raises:")[0].rstrip()


class PublicFunction(Protocol[P, R_co]):
    """A function of the package that is also a command."""

    verb: Verb

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Takes the fields of the settings."""


def verb(
    settings: Callable[P, S], *examples: str, settings_file: bool = False
) -> Callable[[Callable[[S, Progress], R]], PublicFunction[P, R]]:
    """Make a public function of one that takes settings and progress: its arguments are the fields of the settings.

    Its docstring has the sections ``Returns`` and ``Raises``.

    Args:
        settings: dataclass whose docstring describes the verb.
        examples: command lines.
        settings_file: whether the command also reads a YAML file of settings.
    """

    def decorated(run: Callable[[S, Progress], R]) -> PublicFunction[P, R]:
        def reported(made: S, progress: Progress) -> R:
            check_options(made, inputs=True)
            with reading(progress):
                return run(made, progress)

        @wraps(run)
        def function(*args: P.args, **kwargs: P.kwargs) -> R:
            known = inspect.signature(settings)
            if unknown := next((name for name in kwargs if name not in known.parameters), None):
                within = [one.name for one in fields(declared.settings) if f"{unknown}=" in spec_of(one).help]
                why = f"unknown argument {unknown!r}; give {within[0]}={{{unknown!r}: ...}}" if within else ""
                raise TypeError(f"{run.__name__}(): {why or unknown_name('argument', unknown, known.parameters)}")
            known.bind(*args, **kwargs)  # names a missing argument
            try:
                with interactive_progress() as progress:
                    return reported(settings(*args, **kwargs), progress)
            except InputError as error:
                every = fields(declared.settings)
                flags = {flag_of(one): f"{one.name}=True" if one.type is bool else one.name for one in every}
                error.args = (python_names(str(error), flags),)
                raise

        declared = Verb(run.__name__, settings, reported, examples, settings_file)  # type: ignore[arg-type]
        arguments = [f"    {one.name}: {spec_of(one).help}" for one in listed_options(declared.settings)]
        sections = (inspect.getdoc(run) or "").partition("\n\n")[2]
        function.__doc__ = "\n\n".join(filter(None, [declared.summary, "\n".join(["Args:", *arguments]), sections]))
        returns = inspect.signature(run).return_annotation
        signature = inspect.signature(settings).replace(return_annotation=returns)
        function.__signature__ = signature  # type: ignore[attr-defined]
        function.verb = declared  # type: ignore[attr-defined]
        del function.__wrapped__
        return cast(PublicFunction[P, R], function)

    return decorated
