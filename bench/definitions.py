"""The definitions of a source file according to other programs: Python's own parser for Python, Universal Ctags for the rest.

Neither is always right: ctags guesses at what it does not parse, and reports some things as definitions that nobody looks up.
What a code index need not have is excluded here, each with its reason, so that the rest is comparable.
"""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec import Struct

PYTHON: Final = "python"

CTAGS_PARSER: Final[Mapping[str, str]] = {
    "bash": "Sh",
    "c": "C",
    "cpp": "C++",
    "csharp": "C#",
    "elixir": "Elixir",
    "go": "Go",
    "haskell": "Haskell",
    "java": "Java",
    "javascript": "JavaScript",
    "kotlin": "Kotlin",
    "lua": "Lua",
    "php": "PHP",
    "ruby": "Ruby",
    "rust": "Rust",
    "sql": "SQL",
    "tsx": "TypeScript",
    "typescript": "TypeScript",
    "ada": "Ada",
    "clojure": "Clojure",
    "cobol": "Cobol",
    "commonlisp": "Lisp",
    "cuda": "CUDA",
    "d": "D",
    "elm": "Elm",
    "emacslisp": "EmacsLisp",
    "erlang": "Erlang",
    "fortran": "Fortran",
    "julia": "Julia",
    "matlab": "MatLab",
    "ocaml": "OCaml",
    "pascal": "Pascal",
    "perl": "Perl",
    "powershell": "PowerShell",
    "r": "R",
    "scheme": "Scheme",
    "tcl": "Tcl",
    "verilog": "SystemVerilog",
    "vhdl": "VHDL",
    "vim": "Vim",
}
"""Our languages that ctags 5.9 has a parser for. It has none for Swift, Scala and Zig."""

LEFT_OUT: Final[Mapping[str, frozenset[str]]] = {
    "bash": frozenset({"script", "heredoc"}),  # a file that is sourced; a marker in the text
    "c": frozenset({"header"}),
    "cpp": frozenset({"header"}),
    "csharp": frozenset({"typedef"}),  # `using X = Y`, an import
    "elixir": frozenset({"test", "implementation"}),  # a sentence, not a name; a protocol's name again
    "d": frozenset({"mixin", "module", "variable", "version"}),  # code that is inserted; the file; local; a condition
    "elm": frozenset({"constructor", "module", "namespace"}),  # named with their arguments; imports
    "erlang": frozenset({"module"}),
    "go": frozenset({"package", "packageName", "unknown"}),
    "haskell": frozenset({"module"}),  # ctags stops at the first dot of its name
    "fortran": frozenset({"label"}),
    "java": frozenset({"package"}),
    "javascript": frozenset({"property"}),  # mostly keys of object literals
    "kotlin": frozenset({"package"}),
    "matlab": frozenset({"variable"}),  # every assignment
    "php": frozenset({"namespace", "variable", "alias"}),  # every assignment outside functions; `use .. as`
    "ocaml": frozenset({"val"}),  # of a signature whose structure follows
    "perl": frozenset({"label", "method", "wrapper"}),  # a subroutine again; code around one
    "powershell": frozenset({"variable"}),  # every assignment
    "r": frozenset({"dataframe", "functionVar", "list", "nameattr", "vector"}),  # of functions and tests; keys of lists
    "ruby": frozenset({"library", "describe", "context"}),  # what `require` loads; sentences of tests
    "rust": frozenset({"implementation"}),  # the type's name again
    "sql": frozenset({"label", "variable", "cursor"}),
    "vhdl": frozenset({"alias", "architecture", "variable"}),  # what it stands for; a block; of processes
    "verilog": frozenset({"assert", "block"}),
    "vim": frozenset({"map"}),  # keys
}
"""Kinds of ctags that are not definitions of the file, or that nobody looks up."""

NO_NAME: Final = re.compile(r"__anon|anon(?:Func|List|Vec)\w+$|Anonymous(?:Function|Class)[0-9a-f]|<\w+>$|[\W_]*$")
"""What ctags calls a thing without a name (a lambda, an anonymous struct, Go's `_`), in any language."""

MISREAD: Final[Mapping[str, re.Pattern[str]]] = {
    "bash": re.compile(r".*=$"),  # `names=()` is an array
    "haskell": re.compile(
        r"(?:class|where|instance|data|newtype|type|module|import|let|in|if|then|else|case|of|do"
        r"|infix[lr]?|deriving|pattern|\[.*)$"
    ),
    "javascript": re.compile(r"exports$"),  # `module.exports = ...` defines nothing of that name
    "ruby": re.compile(r".*=$"),  # the writer that an accessor defines implicitly
}
"""Names that ctags misreads from something else."""

WRITTEN_WITH: Final[Mapping[tuple[str, str], re.Pattern[str]]] = {
    ("haskell", "function"): re.compile(r"/\^(?!\s*(?:::|=|,|\$\())"),  # else text below a name, or a splice
    ("kotlin", "method"): re.compile(r"\bfun\b"),  # else a parameter of a lambda
    ("ocaml", "module"): re.compile(r"\bmodule\b"),  # else the file
    ("elm", "function"): re.compile(r"/\^\S"),  # else local
    ("r", "globalVar"): re.compile(r"/\^\S"),  # else in the block of a test
    ("lua", "function"): re.compile(r"function\s+[\w.:]+|=\s*function\b"),  # else a call that takes a function
}
"""Pattern that the line of a kind must match."""

IMPORTED: Final[Mapping[tuple[str, str], re.Pattern[str]]] = {
    ("javascript", "constant"): re.compile(r"=\s*(?:await\s+)?(?:require|import)\("),
    ("javascript", "variable"): re.compile(r"=\s*(?:await\s+)?(?:require|import)\("),
    ("tsx", "alias"): re.compile(r"/\^import\b"),
    ("typescript", "alias"): re.compile(r"/\^import\b"),
}
"""Pattern of lines of a kind that import a name instead of defining one."""

INCLUDE_GUARD: Final = re.compile(r"\w+_(?:H|HH|HPP|HXX|INC|INL)_*")

LAST_PART: Final = frozenset({"ada", "csharp", "lua", "ocaml", "pascal", "tcl", "vim"})
"""Languages in which a name may be written with its owner or scope: `M.setup`, `IList.IsFixedSize`, `s:open`, `TForm.Create`."""

CLAUSES: Final = frozenset({"elixir", "erlang", "haskell"})
"""Languages in which a function has several clauses, each of which ctags lists: the first of a name and kind counts."""

TYPE_KINDS: Final = frozenset({"enum", "struct", "union"})
"""Kinds of C whose definition a typedef, a field or a variable can contain."""

VALUE_KINDS: Final = frozenset({"constant", "variable", "field", "register", "port"})
FUNCTION_KINDS: Final = frozenset(
    {"function", "method", "func", "generator", "getter", "setter", "singletonMethod", "subprogram", "kernel", "task", "process"}
)
"""A value inside one of these is local to it."""

SCOPELESS: Final = frozenset({"javascript", "tsx", "typescript"})
"""Languages in which ctags often gives no scope: an indented value without one is taken for local, or a literal's key."""


class Definition(Struct, frozen=True):
    """A definition: path relative to the root, name, kind as its source calls it, 1-based line."""

    path: str
    name: str
    kind: str
    line: int


class Tag(Struct, frozen=True, rename={"scope_kind": "scopeKind"}):
    """A line of ctags' JSON. `pattern` is a search pattern of the line: `/^` and its text."""

    name: str
    path: str
    kind: str = ""
    line: int = 0
    pattern: str = ""
    scope: str = ""
    scope_kind: str = ""
    typeref: str = ""
    end: int = 0


def python_definitions(path: str, source: str) -> list[Definition]:
    """Returns the classes, functions (nested ones too), module and class variables, and attributes set in `__init__`.

    Raises SyntaxError if this Python cannot parse it, ValueError for a NUL, RecursionError for extreme nesting.
    """
    found: list[Definition] = []

    def visit(statements: Iterable[ast.stmt], scope: str) -> None:
        for statement in statements:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    kind = "method" if scope == "class" else "function"
                    found.append(Definition(path, statement.name, kind, statement.lineno))
                    visit(statement.body, "function")
                    if scope == "class" and statement.name == "__init__":
                        found.extend(Definition(path, name, "attribute", line) for name, line in _attributes(statement))
                case ast.ClassDef():
                    found.append(Definition(path, statement.name, "class", statement.lineno))
                    visit(statement.body, "class")
                case _:
                    if scope != "function":
                        kind = "class variable" if scope == "class" else "variable"
                        found.extend(Definition(path, name, kind, line) for name, line in _assigned(statement))
                    for block in _blocks(statement):
                        visit(block, scope)

    visit(ast.parse(source).body, "module")
    return found


def ctags_definitions(program: str, root: Path, language: str, paths: Sequence[str]) -> list[Definition]:
    """Returns what ctags finds in files (relative to `root`) read as `language`, one of those in `CTAGS_PARSER`.

    Raises OSError if ctags cannot be started, CalledProcessError if it fails.
    """
    with TemporaryDirectory() as directory:
        listed = Path(directory) / "files"
        listed.write_text("\n".join(paths) + "\n", encoding="utf-8", errors="surrogateescape")
        options = [f"--language-force={CTAGS_PARSER[language]}", "--output-format=json", "--fields=+neKsS", "--sort=no"]
        options.append("--pattern-length-limit=0")
        command = [program, *options, "-L", str(listed), "-f", "-"]
        done = subprocess.run(command, cwd=root, capture_output=True, check=True)
    decoder = msgspec.json.Decoder(Tag)
    tags = map(decoder.decode, done.stdout.decode("utf-8", "replace").splitlines())
    if language != "elixir":
        return comparable(language, tags)
    texts = {path: heredoc_lines((root / path).read_text(encoding="utf-8", errors="replace")) for path in paths}
    return comparable(language, (tag for tag in tags if tag.line not in texts[tag.path]))


def heredoc_lines(source: str) -> frozenset[int]:
    """Returns the lines of Elixir source that are text between `\"\"\"` or `'''`, which ctags reads as code."""
    lines, quote = set(), ""
    for number, line in enumerate(source.splitlines(), 1):
        if quote:
            lines.add(number)
            quote = "" if line.lstrip().startswith(quote) else quote
        else:
            quote = next((mark for mark in HEREDOC_QUOTES if line.rstrip().endswith(mark)), "")
    return frozenset(lines)


HEREDOC_QUOTES: Final = ('"""', "'''")


def comparable(language: str, tags: Iterable[Tag]) -> list[Definition]:
    """Returns the tags of files in `language` that a code index should have too, under the names that it would use."""
    tags = list(tags)
    found: list[Definition] = []
    seen: set[tuple[str, str, str, str]] = set()
    types = {
        (tag.path, f"{tag.kind}:{f'{tag.scope}::' if tag.scope else ''}{tag.name}"): tag for tag in tags if tag.kind in TYPE_KINDS
    }
    for tag in tags:
        if tag.kind in LEFT_OUT.get(language, ()) or _is_local(language, tag) or _is_misread(language, tag):
            continue
        key = (tag.path, tag.scope, tag.kind, tag.name)
        if language in CLAUSES and key in seen:
            continue
        seen.add(key)
        held = types.get((tag.path, tag.typeref))
        # `typedef struct { ... } Name;` is defined where it begins; ctags reports the line of the name.
        line = held.line if held is not None and held.line <= tag.line <= held.end else tag.line
        name = re.split("[.:]", tag.name)[-1] if language in LAST_PART else tag.name
        found.append(Definition(tag.path, name, tag.kind, line))
    return found


def bare_name(language: str, name: str) -> str:
    """Returns a name as it is compared: without its owner where one may be written, quotes and white space (`operator ==`)."""
    if language == "elm":
        name = name.partition(" ")[0]  # ctags adds the arguments of a type
    elif language == "commonlisp":
        name = name.lstrip('#:"').rstrip('"')
    bare = "".join(name.split()).strip("`\"'") if language == "r" else "".join(name.split())
    return re.split("[.:]", bare)[-1] if language in LAST_PART else bare


def _is_local(language: str, tag: Tag) -> bool:
    if tag.kind not in VALUE_KINDS:
        return False
    is_indented = tag.pattern[2:3].isspace()
    return tag.scope_kind in FUNCTION_KINDS or (language in SCOPELESS and is_indented and not tag.scope)


def _is_misread(language: str, tag: Tag) -> bool:
    if NO_NAME.match(tag.name) or (language in MISREAD and MISREAD[language].match(tag.name)):
        return True
    what = (language, tag.kind)
    if what in WRITTEN_WITH and not WRITTEN_WITH[what].search(tag.pattern):
        return True
    if what in IMPORTED and IMPORTED[what].search(tag.pattern):
        return True
    match what:
        case (("c" | "cpp"), "function"):
            # A macro at the top level of a file looks like a function: `TEST(Suite, Case) {`.
            return tag.name.isupper()
        case (("c" | "cpp"), "macro"):
            return INCLUDE_GUARD.fullmatch(tag.name) is not None
        case ("haskell", "function"):
            # A type in brackets, in the list of fields.
            return tag.name[:1].isupper()
        case ("kotlin", "method"):
            # A parameter of a lambda on the line of a function.
            return re.search(rf"\bfun\b.*\b{re.escape(tag.name)}`?\s*\(", tag.pattern) is None
        case ("javascript", ("class" | "function")):
            return _is_no_javascript_definition(tag)
        case (("typescript" | "tsx"), "constant"):
            # A word of the value, or of a line below it.
            return re.search(rf"\bconst\s+(?:{re.escape(tag.name)}\b|[{{\[])", tag.pattern) is None
        case ("csharp", ("property" | "field")):
            # `where T : Base`, and arguments of a constraint.
            return re.search(rf"\bwhere\s+\w+\s*:.*\b{re.escape(tag.name)}\b", tag.pattern) is not None
        case (("typescript" | "tsx"), "alias"):
            # Else an import, an export, or a variable called `type`.
            return re.search(rf"\btype\s+{re.escape(tag.name)}\s*(?:<|=|\$/)", tag.pattern) is None
    return False


INNER_NAME: Final = re.compile(r"([\w$]+)\s*[:=]\s*(?:async\s+)?(?:function\b\s*\*?|class\b)\s*([\w$]+)")
"""A name that only the function itself sees: `b` in `a = function b() {}`."""


def _is_no_javascript_definition(tag: Tag) -> bool:
    """To ctags an object is a class, and so is each `A` of `A.prototype.b = ...`. An object counts only if no function can
    enclose it, like a variable, and `A` only where it is declared."""
    if any(tag.name == inner != outer != "exports" for outer, inner in INNER_NAME.findall(tag.pattern)):
        return True
    if tag.kind != "class" or f"function {tag.name}" in tag.pattern:
        return False
    is_object = re.search(r"\b(?:class|function)\b", tag.pattern) is None and tag.pattern[2:3].isspace()
    return is_object or f"{tag.name}.prototype" in tag.pattern


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, int]]:
    targets: list[ast.expr] = []
    match statement:
        case ast.Assign():
            targets = list(statement.targets)
        case ast.AnnAssign():
            targets = [statement.target]
    while targets:
        target = targets.pop(0)
        match target:
            case ast.Name():
                yield target.id, target.lineno
            case ast.Tuple() | ast.List():
                targets[:0] = target.elts
            case ast.Starred():
                targets.insert(0, target.value)


def _attributes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, int]]:
    lines: dict[str, list[int]] = defaultdict(list)
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = node.value
            if isinstance(owner, ast.Name) and owner.id == "self":
                lines[node.attr].append(node.lineno)
    for name, places in lines.items():
        yield name, min(places)
