"""Files that hold code of another language: components (Vue, Svelte, Astro) and notebooks (Jupyter).

    file -> its code: one text to parse, one to search for uses, and the line of the file for each line of them

All scripts of a file are one text, because they share their names. In a component everything else is blanked, so that each
line stays where it is; what the template uses (`markup.py`) is added to the text that is searched for uses. A component is a
definition itself: a class as long as its file, which other files import as its default export.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages import described
from codecompass.languages.records import NameUses, Symbol
from codecompass.languages.walk.extract import Extraction
from codecompass.languages.walk.markup import braces_code, in_pascal_case, vue_code
from codecompass.languages.words import word_set


class EmbeddedCode(Struct, frozen=True):
    """The code of one file."""

    language: str
    """The language of the code, which may differ from file to file (`lang="ts"`)."""
    script: str
    """To be parsed."""
    text: str
    """To be searched for uses: the script and the code of the template, in the same lines."""
    lines: Sequence[int]
    """The line of the file for each line of `script`, ascending."""
    is_component: bool

    def placed(self, found: Extraction, path: str) -> Extraction:
        """Returns what was found in `script` at its lines in the file at `path`, with the component that the file is."""
        lines = self.lines
        symbols = [
            replace(symbol, line_start=lines[symbol.line_start - 1], line_end=lines[min(symbol.line_end, len(lines)) - 1])
            for symbol in found.symbols
        ]
        imports = [
            replace(item, line_start=lines[item.line_start - 1], line_end=lines[min(item.line_end, len(lines)) - 1])
            for item in found.imports
        ]
        if self.is_component:
            module = described(self.language).path_module(path)
            symbols = _with_component(symbols, module, len(lines) - self.script.endswith("\n"))
        else:
            symbols = _first_variables(symbols)
        return Extraction(tuple(symbols), tuple(imports), found.has_errors)

    def placed_uses(self, uses: Sequence[NameUses]) -> tuple[NameUses, ...]:
        """Returns the uses that were found in `text` at their lines in the file."""
        lines = self.lines
        return tuple(
            replace(each, uses=tuple(replace(use, line=lines[min(use.line, len(lines)) - 1]) for use in each.uses))
            for each in uses
        )


def embedded_code(language: str, source: bytes) -> EmbeddedCode | None:
    """Returns the code of a file in a language of `EMBEDDING`; None if it has none that is known."""
    return EMBEDDING[language](source.decode("utf-8", "surrogatepass"))


def _with_component(symbols: Sequence[Symbol], module: tuple[str, ...], n_lines: int) -> list[Symbol]:
    """Returns the symbols of a module with the component before them, which takes the place of a default export."""
    name = in_pascal_case(module[-1]) if module else ""
    if not name.isidentifier():
        return list(symbols)
    default = next((index for index, symbol in enumerate(symbols) if symbol.name == "default" and symbol.parent < 0), -1)
    component = Symbol(
        name=name,
        kind="class",
        qualified_name=".".join((*module[:-1], name)),
        line_start=1,
        line_end=max(n_lines, 1),
        signature=f"export default component {name}",
        visibility="public",
        doc=symbols[default].doc if default >= 0 else "",
    )
    moved = [index + 1 - (0 <= default < index) for index in range(len(symbols))]
    if default >= 0:
        moved[default] = 0
    before, after = ".".join((*module, "default.")), f"{component.qualified_name}."
    inner = [
        replace(
            symbol,
            parent=moved[symbol.parent] if symbol.parent >= 0 else -1,
            qualified_name=after + symbol.qualified_name.removeprefix(before)
            if default >= 0 and symbol.qualified_name.startswith(before)
            else symbol.qualified_name,
        )
        for index, symbol in enumerate(symbols)
        if index != default
    ]
    return [component, *inner]


def _first_variables(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Returns the symbols with the first assignment only of each variable: the cells of a notebook assign the same ones."""
    known: set[tuple[str, int]] = set()
    kept: list[Symbol] = []
    new_index: dict[int, int] = {-1: -1}
    for index, symbol in enumerate(symbols):
        if symbol.kind == "var":
            if (symbol.name, symbol.parent) in known:
                continue
            known.add((symbol.name, symbol.parent))
        new_index[index] = len(kept)
        kept.append(replace(symbol, parent=new_index.get(symbol.parent, -1)))
    return kept


_OPENING: Final = re.compile(
    r"<!--|<(?P<tag>script|style)\b(?P<attributes>[^<>\"']*+(?>(?:(?:\"[^\"]{0,2000}+\"|'[^']{0,2000}+')[^<>\"']*+)*))>"
)
_ATTRIBUTE: Final = re.compile(r"\b(lang|type)\s*+=\s*+[\"']?([\w/+.-]++)")
_FRONT_MATTER: Final = re.compile(r"\s*+---[^\n]*+\n")

_TYPED: Final = word_set("ts typescript text/typescript application/typescript")
_WITH_MARKUP: Final = word_set("tsx jsx text/babel")
_PLAIN: Final = word_set("js javascript module text/javascript application/javascript text/ecmascript babel")


class _Part(Struct, frozen=True):
    """A part of a component between two offsets: `script`, `style` or `markup`."""

    kind: str
    start: int
    end: int
    written_in: str = ""
    """The language that a script names, empty if it names none."""


def _parts(text: str, start: int) -> Iterator[_Part]:
    """Yields the parts of a component from `start` on, without comments and the tags of scripts."""
    at = start
    while (match := _OPENING.search(text, at)) is not None:
        yield _Part("markup", at, match.start())
        tag = match["tag"]
        end = text.find("-->" if tag is None else f"</{tag}", match.end())
        if end < 0:
            end = len(text)
        if tag is not None:
            written = dict(_ATTRIBUTE.findall(match["attributes"]))
            yield _Part(tag, match.end(), end, (written.get("lang") or written.get("type") or "").lower())
        at = end if end == len(text) else text.find(">", end) + 1 or len(text)
    yield _Part("markup", at, len(text))


def _component(code_of: Callable[[str], str], default: str, text: str, *, has_front_matter: bool = False) -> EmbeddedCode:
    """Returns the code of a component; `code_of` returns that of its markup, equally long, and `default` is the language of
    scripts that name none."""
    script: list[str] = []
    whole: list[str] = []
    written_in: set[str] = set()
    at = 0
    front = _FRONT_MATTER.match(text) if has_front_matter else None
    if front is not None:
        closing = text.find("\n---", front.end() - 1)
        end = len(text) if closing < 0 else closing + 1
        script += [_blanked(text[: front.end()]), text[front.end() : end]]
        whole += script
        at = min(end + 3, len(text))
        script.append(_blanked(text[end:at]))
        whole.append(_blanked(text[end:at]))
    for part in _parts(text, at):
        between, content = _blanked(text[at : part.start]), text[part.start : part.end]
        at = part.end
        blank = _blanked(content)
        is_code = part.kind == "script" and (not part.written_in or part.written_in in _TYPED | _WITH_MARKUP | _PLAIN)
        if is_code:
            written_in.add(part.written_in)
        # A script may end without a line break, and code of the markup may follow in the same line.
        script += [between, content if is_code else blank]
        whole += [between, content if is_code else code_of(content) if part.kind == "markup" else blank]
    language = default
    if written_in & _WITH_MARKUP:
        language = "tsx"
    elif written_in & _TYPED and default == "javascript":
        language = "typescript"
    return EmbeddedCode(language, "".join(script), "".join(whole), range(1, text.count("\n") + 2), is_component=True)


_NOT_A_BREAK: Final = re.compile(r"[^\r\n]")


def _blanked(text: str) -> str:
    return _NOT_A_BREAK.sub(" ", text)


def _vue(text: str) -> EmbeddedCode:
    return _component(vue_code, "javascript", text)


def _svelte(text: str) -> EmbeddedCode:
    return _component(braces_code, "javascript", text)


def _astro(text: str) -> EmbeddedCode:
    return _component(braces_code, "tsx", text, has_front_matter=True)


class _Named(Struct):
    name: str = ""
    language: str = ""


class _Metadata(Struct):
    kernelspec: _Named | None = None
    language_info: _Named | None = None


class _Notebook(Struct):
    metadata: _Metadata | None = None


_notebook_decoder: Final = msgspec.json.Decoder(_Notebook)
_TOKEN: Final = re.compile(r'"(?>(?:[^"\\]++|\\.)*)"|[{}\[\],:\n]', re.DOTALL)
_MAGIC: Final = re.compile(r"\s*+[%!?]|[^\n#'\"]*\?\s*$")
_HARMLESS_CELL_MAGIC: Final = re.compile(r"%%(?:time|timeit|capture|prun)\b")


def _jupyter(text: str) -> EmbeddedCode | None:
    """Returns the code of a notebook in Python, cell after cell."""
    try:
        metadata = _notebook_decoder.decode(text.encode("utf-8", "replace")).metadata or _Metadata()
    except (msgspec.DecodeError, RecursionError):
        return None
    kernel, info = metadata.kernelspec or _Named(), metadata.language_info or _Named()
    if not (info.name or kernel.language or kernel.name or "python").lower().startswith(("python", "ipython")):
        return None
    code: list[str] = []
    lines: list[int] = []
    for cell in _code_cells(text):
        written = _lines_of_cell(cell)
        if written and written[0][1].startswith("%%") and not _HARMLESS_CELL_MAGIC.match(written[0][1]):
            continue
        code += ["" if _MAGIC.match(line) else line for _, line in written]
        lines += [number for number, _ in written]
    if not code:
        return None
    # The text may end in a line break, after which there is one more line.
    whole = "\n".join(code) + "\n"
    return EmbeddedCode("python", whole, whole, (*lines, lines[-1]), is_component=False)


def _lines_of_cell(pieces: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Returns the lines of a cell, each with its line in the file. A piece may hold several lines, or a part of one."""
    found: list[tuple[int, str]] = []
    is_complete = True
    for number, piece in pieces:
        for line in piece.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            if is_complete:
                found.append((number, bare))
            else:
                found[-1] = (found[-1][0], found[-1][1] + bare)
            is_complete = bare != line
    return found


_CELL: Final = ["{", "cells[", "{"]
_SOURCE: Final = [*_CELL, "source["]


def _code_cells(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yields the strings of the source of each code cell, each with its line."""
    path: list[str] = []
    """The open containers, each as its key and bracket."""
    key, is_value = "", False
    line = 1
    kind = ""
    pieces: list[tuple[int, str]] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token[0] == '"':
            if path == _SOURCE or (is_value and path == _CELL and key == "source"):
                pieces.append((line, msgspec.json.decode(token, type=str)))
            elif is_value and path == _CELL and key == "cell_type":
                kind = token[1:-1]
            elif not is_value:
                key = token[1:-1]
        elif token in ":,":
            is_value = token == ":"
        elif token in "{[":
            path.append((key if is_value else "") + token)
            key, is_value = "", False
        elif path:
            if path == _CELL:
                if kind == "code":
                    yield pieces
                kind, pieces = "", []
            path.pop()


EMBEDDING: Final[Mapping[str, Callable[[str], EmbeddedCode | None]]] = {
    "astro": _astro,
    "jupyter": _jupyter,
    "svelte": _svelte,
    "vue": _vue,
}
"""By language of the file."""
