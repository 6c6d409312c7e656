"""Settings dataclasses: one declaration of an option serves the Python function, the command line and config files.

A verb (``audit``, ``build`` ...) has one frozen dataclass whose fields are made with `option`. ``result.verb`` makes a
public function of it and of a function of its instance; ``cli.command`` turns the same dataclass into a command.
"""

import contextlib
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin

from hf_vqa_mc.errors import InputError, shown, unknown_name
from hf_vqa_mc.io.outputs import FolderKind, check_output_files, check_report_folder

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
    formats: tuple[str, ...] | None = None
    """suffixes of a file that the verb writes, () for any; None if the option names no such file"""
    folder: FolderKind | None = None
    """the kind of folder that the verb writes"""


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


def output_file(help: str, *formats: str, **spec: Any) -> Any:  # noqa: ANN401  as `option`
    """The option of a file to write, by default none, with one of these suffixes if there are any."""
    if formats:
        spec["check"] = (f"a file with one of the suffixes {', '.join(formats)}", lambda path: path.suffix in formats)
    return option(help, default=None, formats=formats, **spec)


def overwrite_option() -> Any:  # noqa: ANN401  as `option`
    """The option of verbs that replace files; those that resume their output do not have it."""
    return option(
        "Replace existing files, also changed ones; in a folder of vqa-mc, files that it did not write are kept.",
        default=False,
    )


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, output_file))
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


MAY_HOLD_OUTPUTS = ("images", "official")
"""Options of folders into which outputs may be written."""


def input_paths(settings: Any) -> list[Path]:  # noqa: ANN401  any settings dataclass
    """The files and folders that a verb reads, which outputs must not replace, nor be in them."""
    found: list[Path] = []
    for one in fields(settings):
        is_output = spec_of(one).formats is not None or spec_of(one).folder is not None
        if is_output or one.name in MAY_HOLD_OUTPUTS or (one.kw_only and "Path" not in str(one.type)):
            continue
        value = getattr(settings, one.name)
        values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
        found += [Path(each) for each in values if isinstance(each, str | Path) and Path(each).exists()]
    return found


def check_outputs(settings: Any) -> None:  # noqa: ANN401  any settings dataclass
    """Raise InputError unless all outputs can be written without a loss: new or with ``overwrite``, and no input."""
    inputs, overwrite = input_paths(settings), getattr(settings, "overwrite", False)
    files: dict[str, Path | None] = {}
    for one in fields(settings):
        spec, path = spec_of(one), getattr(settings, one.name)
        if spec.formats is not None:
            files[flag_of(one)] = path
        if spec.folder is not None and path is not None:
            check_report_folder(path, spec.folder, flag_of(one), inputs, overwrite)
    check_output_files(files, inputs, overwrite)


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
