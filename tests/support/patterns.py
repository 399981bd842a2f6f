"""Collects the regular expressions of the program."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import codecompass
from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.lazy import LazyPattern

PACKAGE = Path(codecompass.__file__).parent

_OF_RE = ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
FUNCTIONS = {"lazy.pattern", *(f"re.{name}" for name in _OF_RE)}

POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{[\d,]+\})\+|\(\?>")
"""Text of a pattern that makes a group possessive or atomic."""


def patterns() -> dict[str, re.Pattern[Any]]:
    """Returns the patterns of all modules, by the place that holds or writes them."""
    found: dict[str, re.Pattern[Any]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name == "__main__.py":
            continue
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        for name, value in vars(module).items():
            for place, pattern in _within(value, f"{module.__name__}.{name}", set()):
                found.setdefault(place, pattern)
        for line, pattern in _written(ast.parse(path.read_text("utf-8"))):
            found.setdefault(f"{module.__name__}:{line}", pattern)
    for language in SYMBOL_LANGUAGES:
        found |= _within(lexical_rules(language), f"lexical rules of {language}", set())
    return found


def possessive_texts() -> Iterator[tuple[str, str]]:
    """Yields the string literals of all modules that hold a possessive or atomic group, each with its place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in documentation:
                continue
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if isinstance(text, str) and POSSESSIVE_GROUP.search(text):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", text


def _within(value: object, place: str, seen: set[int]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yields the patterns that a module's value holds, however deep."""
    if isinstance(value, LazyPattern):
        value = value.compiled()
    if isinstance(value, re.Pattern):
        yield place, value
    if isinstance(value, type | str | bytes | re.Pattern) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        parts = [(f"{place}[{key!r}]", each) for key, each in value.items()]
    elif isinstance(value, tuple | list | set | frozenset):
        parts = [(f"{place}[{number}]", each) for number, each in enumerate(value)]
    elif isinstance(value, FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        parts = [(f"{place}.{name}", cell.cell_contents) for name, cell in cells]
    else:
        parts = [(f"{place}.{name}", getattr(value, name)) for name in getattr(value, "__struct_fields__", ())]
    for part, each in parts:
        yield from _within(each, part, seen)


def _written(tree: ast.Module) -> Iterator[tuple[int, re.Pattern[Any]]]:
    """Yields the patterns that calls of `re` are given as literals; what is filled in counts as the letter x."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if f"{ast.unparse(node.func.value)}.{node.func.attr}" not in FUNCTIONS:
            continue
        source = _literal(node.args[0])
        if source is not None:
            yield node.lineno, re.compile(source)


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return None
