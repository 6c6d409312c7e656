"""Layouts of neural module networks: which modules run on which words, from questions or from GQA's programs.

The parser is our own, with its rules in ``data/layouts.yaml``; how it differs from the paper's is in docs/method.md.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hf_vqa_mc.engines.vocabulary import read_vocabulary
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.recipe import QuestionForm
from hf_vqa_mc.text.many_texts import word_lists

MODULES = ("find", "transform", "combine", "describe", "measure", "compare")
"""Types of modules; a type's number in a layout's tensor is its position here + 1."""
ATTENDING = MODULES[:3]  # modules whose result is an attention map; that of the others is a vector
ANYTHING = "_"  # what is looked for if a question names nothing; GQA's programs write any object so
MOST_WORDS = 100  # words of a question that are parsed; longer questions are cut

_STEP = re.compile(r"(?P<operation>[^:]+):\s*(?P<argument>.*?)\s*(?:\[(?P<inputs>\d+(?:, ?\d+)*)\])?")


class Node(NamedTuple):
    """A module that runs on a word and on the results of earlier nodes."""

    module: str
    word: str
    inputs: tuple[int, ...] = ()


Layout = tuple[Node, ...]  # nodes after their inputs; the last one is the root


@dataclass(frozen=True)
class _Template:
    module: str
    word: str = ""
    inputs: "tuple[_Template, ...]" = ()


@dataclass(frozen=True)
class _Rules:
    version: int
    beginnings: dict[str, _Template]
    nouns_follow: frozenset[str]
    relations: frozenset[str]
    conjunctions: dict[str, str]
    stop_words: frozenset[str]
    operations: dict[str, _Template]


@cache
def rules() -> _Rules:
    """The rules of ``data/layouts.yaml``."""
    return read_vocabulary(Path(__file__).parent / "data" / "layouts.yaml", _Rules)


def question_layout(words: Sequence[str]) -> Layout:
    """The layout of a question's words.

    >>> layout_text(question_layout(["what", "color", "is", "the", "dog", "on", "the", "bed"]))
    'describe[color](combine[and](find[dog], transform[on](find[bed])))'
    """
    given, nodes, words = rules(), _Nodes(), words[:MOST_WORDS]
    length = _longest(words, given.beginnings) or min(1, len(words))
    text = " ".join(words[:length])
    root = given.beginnings.get(text, _Template("describe", text or ANYTHING))
    rest = list(words[length:])
    if text in given.nouns_follow and rest and rest[0] not in given.stop_words and not _longest(rest, given.relations):
        root = _Template("describe", rest[0])
    found = _attention(rest, nodes)
    nodes.add(root.module, root.word, nodes.add("find", ANYTHING) if found is None else found)
    return tuple(nodes)


def program_layout(program: str) -> Layout:
    """The layout of a program of GQA, as in its field ``semanticStr`` without the ids of objects.

    Raises InputError if an operation is unknown, or is given a result of another kind than it takes.

    >>> layout_text(program_layout("select: table->relate: apple,on,s [0]->query: color [1]"))
    'describe[color](combine[and](transform[on s](find[table]), find[apple]))'
    """
    nodes, results = _Nodes(), list[int]()
    for text in program.split("->"):
        step = _STEP.fullmatch(text.strip())
        inputs = [int(one) for one in (step["inputs"] or "").split(",") if one] if step else []
        if step is None or any(one >= len(results) for one in inputs):
            raise InputError(f"program {shown(program)}: step {shown(text)} is not 'operation: argument [inputs]'")
        try:
            results.append(_step(step["operation"], step["argument"], [results[one] for one in inputs], nodes))
        except (InputError, IndexError, KeyError) as error:
            known = (
                f"no operation {step['operation']!r} on {len(inputs)} inputs; known: {', '.join(rules().operations)}"
            )
            fault = f"{step['operation']}: {error}" if isinstance(error, InputError) else known
            raise InputError(f"program {shown(program)}: {fault}") from error
    if nodes[results[-1]].module in ATTENDING:
        raise InputError(f"program {shown(program)} ends with an attention; expected an operation with an answer")
    return _used(nodes, results[-1])


def layout_text(layout: Layout) -> str:
    """A layout as nested calls."""
    texts: list[str] = []
    for node in layout:
        inputs = ", ".join(texts[one] for one in node.inputs)
        texts.append(f"{node.module}[{node.word}]" + (f"({inputs})" if inputs else ""))
    return texts[-1]


def layouts(questions: Sequence[str], form: QuestionForm) -> list[Layout]:
    """The layout of each question; raises InputError as `program_layout`."""
    if form == "programs":
        return [program_layout(text) for text in questions]
    return [question_layout(words) for words in word_lists(questions)]


class _Nodes(list[Node]):
    """The nodes of a layout that is built; equal nodes are one."""

    def add(self, module: str, word: str, *inputs: int) -> int:
        """The index of a node; raises InputError if an input is no attention, or no vector, as its module takes."""
        wanted = module != "compare"
        if any((self[one].module in ATTENDING) != wanted for one in inputs):
            raise InputError(f"{module} takes {'attentions' if wanted else 'answers'}")
        node = Node(module, word, inputs)
        if node not in self:
            self.append(node)
        return self.index(node)


def _attention(words: Sequence[str], nodes: _Nodes) -> int | None:
    """The attention to the things that words name; None if they name nothing."""
    found, how, at = None, "and", 0
    given = rules()
    while at < len(words):
        if length := _longest(words[at:], given.relations):
            relation = " ".join(words[at : at + length])
            other = _attention(words[at + length :], nodes)
            if other is None:  # "what is the man holding?"
                return nodes.add("find", relation) if found is None else nodes.add("transform", relation, found)
            moved = nodes.add("transform", relation, other)
            return moved if found is None else nodes.add("combine", how, found, moved)
        if length := _longest(words[at:], given.conjunctions):
            how = given.conjunctions[" ".join(words[at : at + length])]
        elif words[at] not in given.stop_words:
            one = nodes.add("find", words[at])
            found = one if found is None or found == one else nodes.add("combine", how, found, one)
            how = "and"
        at += max(length, 1)
    return found


def _longest(words: Sequence[str], known: Mapping[str, Any] | frozenset[str]) -> int:
    """The number of first words that are the longest known text; 0 if none is known."""
    longest = 5  # words of "on the left side of"
    return next((size for size in range(longest, 0, -1) if " ".join(words[:size]) in known and size <= len(words)), 0)


def _step(operation: str, argument: str, inputs: Sequence[int], nodes: _Nodes) -> int:
    """Add the modules of a step of a program; returns the index of its result."""
    known = rules().operations
    name, type_ = operation, ""
    if operation not in known and f"{operation} of two" not in known:
        name, _, type_ = operation.partition(" ")
    if argument.startswith("not(") and argument.endswith(")"):
        name, argument = f"{name} not", argument[4:-1]
    if len(inputs) == 2:
        name += " of two"
    parts = argument.split(",")
    of_object = dict(zip(("name", "relation", "side"), map(str.strip, parts), strict=False)) if len(parts) > 1 else {}
    one, _, other = of_object.get("relation", argument).partition("|")
    words = {"type": type_, "value": argument, "name": "", "relation": "", "side": "", "one": one, "other": other}
    words |= of_object

    def built(template: _Template) -> int:
        if template.module.endswith("input"):
            return inputs[template.module == "second input"]
        of_node = [built(one) for one in template.inputs]
        return nodes.add(template.module, template.word.format_map(words).strip(), *of_node)

    return built(known[name])


def _used(nodes: Sequence[Node], root: int) -> Layout:
    """The nodes that the root depends on, and the root."""
    needed = {root}
    for at in range(root, -1, -1):
        if at in needed:
            needed.update(nodes[at].inputs)
    new = {at: number for number, at in enumerate(sorted(needed))}
    return tuple(nodes[at]._replace(inputs=tuple(new[one] for one in nodes[at].inputs)) for at in sorted(needed))
