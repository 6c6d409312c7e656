"""Classes and all that they need as the source of one module, which imports nothing of the packages they come from."""

import ast
import builtins
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from symtable import symtable

from hf_vqa_mc.errors import InputError

_FOR_TOOLS = re.compile(r"  # (?:type: ignore|noqa)\b.*")


def flattened(
    roots: Sequence[type],
    packages: Collection[str],
    parts: str,
    replaced: Mapping[tuple[str, str], str],
    optional: Mapping[str, str],
) -> tuple[str, str]:
    """The imports and the definitions that classes need, each as source text.

    Names are followed from the classes on. Definitions are copied as written and stay in an order that Python can run:
    modules after those that they need, and in each module as they are.

    Args:
        roots: classes.
        packages: top-level packages whose definitions are copied; others are imported.
        parts: name of a module whose definitions replace those of the same name.
        replaced: module and name of other definitions, to their source text.
        optional: top-level package that need not be installed, to what replaces a name imported from it.

    Raises:
        InputError: the source of a class is not in a file, two definitions have the same name, or a name has none, as
            if it is defined inside of ``try``.
    """
    found = _Flattened(packages, parts, replaced)
    for root in roots:
        found.follow(root.__module__, root.__name__)
    imports, definitions = found.imports(optional), found.definitions()
    if missing := _undefined(f"{imports}\n{definitions}"):
        of = roots[0].__module__
        raise InputError(f"{of}: {', '.join(missing)}: no definition found; define or import it at the top of a file")
    return imports, definitions


@dataclass(frozen=True)
class _Source:
    """The source of a module."""

    lines: list[str]
    statements: list[ast.stmt]
    defined: dict[str, int]
    """name to the index of its statement"""
    imported: dict[str, tuple[str, str | None]]
    """name to module, and name there; None if it is the module"""

    def text(self, index: int) -> str:
        """A definition as written, with comments before it, and the docstring of a constant after it."""
        statement = self.statements[index]
        first = min(one.lineno for one in (statement, *getattr(statement, "decorator_list", ()))) - 1
        while first and self.lines[first - 1].startswith("#"):
            first -= 1
        following = self.statements[index + 1 : index + 2]
        last = following[0] if following and isinstance(following[0], ast.Expr) else statement
        return "\n".join(_FOR_TOOLS.sub("", line) for line in self.lines[first : last.end_lineno])


class _Flattened:
    """The definitions needed so far."""

    def __init__(self, packages: Collection[str], parts: str, replaced: Mapping[tuple[str, str], str]) -> None:
        self._packages, self._parts, self._replaced = packages, parts, replaced
        self._needed: dict[str, dict[int, str]] = defaultdict(dict)  # module to indices of statements and their text
        self._after: dict[str, dict[str, None]] = defaultdict(dict)  # module to those that it needs
        self._aliases: dict[str, dict[str, str]] = defaultdict(dict)  # module to alias to name
        self._external: dict[str, tuple[str, str | None]] = {}
        self._homes: dict[str, tuple[str, str | None]] = {}

    def follow(self, module: str, name: str) -> str:
        """Add a definition and what it needs; the module where it is."""
        if name in _source(self._parts).defined:
            module = self._parts
        source = _source(module)
        if name in source.imported:  # by the way of another module
            home, original = source.imported[name]
            return self.follow(home, original or name)
        if name not in source.defined:
            raise InputError(f"{module} does not define {name} at its top level; move it there")
        index = source.defined[name]
        if index not in self._needed[module]:
            self._claim(name, (module, name))
            text = self._replaced.get((module, name))
            self._needed[module][index] = source.text(index) if text is None else text
            statement = source.statements[index] if text is None else ast.parse(text)
            for used in _names(statement):
                if used in source.defined:
                    self._use(module, module, used, used)
                elif used in source.imported:
                    self._use(module, *source.imported[used], used)
            for home, original in _imports_inside(statement):
                if self._is_copied(home):
                    raise InputError(f"{module}.{name} imports {home}.{original}; import it at the top of the file")
        return module

    def _use(self, module: str, home: str, original: str | None, used: str) -> None:
        """Add what a module uses by a name."""
        if original is None or not self._is_copied(home):
            self._claim(used, (home, original))
            self._external[used] = (home, original)
            return
        found = self.follow(home, original)
        if found != module:
            self._after[module][found] = None
        if used != original:
            self._claim(used, (found, original))
            self._aliases[module][used] = original

    def _is_copied(self, module: str) -> bool:
        return module.partition(".")[0] in self._packages

    def _claim(self, name: str, home: tuple[str, str | None]) -> None:
        """Raise InputError if a name stands for something else."""
        if (other := self._homes.setdefault(name, home)) != home:
            first, second = (".".join(filter(None, one)) for one in (other, home))
            raise InputError(f"{name} is both {first} and {second}; a model's code is one file: rename one of them")

    def imports(self, optional: Mapping[str, str]) -> str:
        """The import statements."""
        modules, names = [], defaultdict(list)
        tried = []
        for used, (home, original) in sorted(self._external.items()):
            renamed = f" as {used}" if used != (original or home) else ""
            replacement = optional.get(home.partition(".")[0])
            if replacement is not None:
                line = f"from {home} import {original}{renamed}" if original else f"import {home}{renamed}"
                tried.append(f"try:\n    {line}\nexcept ImportError:\n    {used} = {replacement}")
            elif original is None:
                modules.append(f"import {home}{renamed}")
            else:
                names[home].append(f"{original}{renamed}")
        listed = [f"from {home} import {', '.join(of)}" for home, of in sorted(names.items())]
        return "\n".join([*modules, *listed, "", *tried])

    def definitions(self) -> str:
        """The definitions."""
        texts = []
        graph = {module: tuple(self._after[module]) for module in sorted(self._needed)}
        for module in TopologicalSorter(graph).static_order():
            texts += [f"{alias} = {name}" for alias, name in self._aliases[module].items()]
            texts += [text for _, text in sorted(self._needed[module].items())]
        return "\n\n\n".join(texts)


@cache
def _source(module: str) -> _Source:
    """The source of a module; raises InputError if it is not in a file."""
    try:
        text = inspect.getsource(importlib.import_module(module))
    except (OSError, TypeError) as error:
        raise InputError(
            f"{module}: the source of the model is not in a file; define it in a module of a package"
        ) from error
    statements = ast.parse(text).body
    defined: dict[str, int] = {}
    imported: dict[str, tuple[str, str | None]] = {}
    for index, statement in enumerate(statements):
        of_types = statement.body if isinstance(statement, ast.If) else ()  # if TYPE_CHECKING
        for one in (statement, *of_types):
            if isinstance(one, ast.ImportFrom):
                imported |= {of.asname or of.name: (one.module or "", of.name) for of in one.names}
            elif isinstance(one, ast.Import):
                imported |= {of.asname or of.name: (of.name, None) for of in one.names}
        defined |= dict.fromkeys(_defined_by(statement), index)
    return _Source(text.splitlines(), statements, defined, imported)


def _defined_by(statement: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [one.id for of in targets if of is not None for one in ast.walk(of) if isinstance(one, ast.Name)]


def _names(statement: ast.AST) -> list[str]:
    """The names in a statement, some of which may be local."""
    return list(dict.fromkeys(one.id for one in ast.walk(statement) if isinstance(one, ast.Name)))


def _undefined(code: str) -> list[str]:
    """The global names that a module uses and does not define."""
    module = symtable(code, "portable code", "exec")
    tables, used = [module], set[str]()
    for table in tables:  # it grows
        tables += table.get_children()
        used |= {one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()}
    known = {one.get_name() for one in module.get_symbols() if one.is_assigned() or one.is_imported()}
    return sorted(used - known - vars(builtins).keys() - {"__file__", "__name__"})


def _imports_inside(statement: ast.AST) -> Iterator[tuple[str, str]]:
    for one in ast.walk(statement):
        if isinstance(one, ast.ImportFrom):
            yield from ((one.module or "", of.name) for of in one.names)
        elif isinstance(one, ast.Import):
            yield from ((of.name, "") for of in one.names)
