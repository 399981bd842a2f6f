"""Groovy, and with it Gradle and Jenkins files: types, methods, tasks and stages, found by their first lines; imports of the JVM.

Its grammar knows words and blocks and nothing of definitions, so the text is read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.jvm.jvm_imports import JVM_IMPORTS
from codecompass.languages.language import Definition, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    COMMON_KEYWORDS,
    DOLLAR_NAME,
    DOUBLE,
    SINGLE,
    SLASHES,
    TRIPLE,
    TRIPLE_SINGLE,
    any_of,
    declared,
    typed_declaration,
)
from codecompass.languages.walk.heads import heads
from codecompass.languages.words import word_set

_MODIFIER: Final = (
    rb"(?:(?:public|private|protected|static|final|abstract|default|synchronized|sealed"
    rb"|volatile|transient|@\w+(?:\([^()\n]*\))?)[ \t]+)"
)
_TYPE: Final = (
    rb"(?:def|(?:void|boolean|byte|char|short|int|long|float|double|(?:[a-z]\w*\.)*[A-Z]\w*)"
    rb"(?:<[\w<>,?.\s]{0,200}>)?(?:\[\])*)"
)
_TYPED: Final = rb"(?:(?>" + _MODIFIER + rb"+)(?:" + _TYPE + rb"[ \t]+)?|" + _TYPE + rb"[ \t]+)"
_GENERIC: Final = rb"(?:(?:def[ \t]+)?<[^>\n]+>[ \t]*)?"
_NAME: Final = rb"(?:\w+|\"[^\"\n]+\"|'[^'\n]+')"
_PARAMETERS: Final = rb"\((?>(?:[^()]|\((?>(?:[^()]|\([^()]{0,600}+\)){0,600})\)){0,600})\)"
_THROWS: Final = rb"(?:\s*throws\s+[\w., \t]+)?"
_HEADS: Final = re.compile(
    rb"^(?P<indent>[ \t]*)(?:" + _MODIFIER + rb"*(?P<word>class|interface|enum|trait|record|@interface)[ \t]+(?P<name>\w+)"
    rb"|(?!(?:return|new|throw|else|assert|if|in)\b)" + _GENERIC + _TYPED + _GENERIC + rb"(?:" + _TYPE + rb"[ \t]+)?"
    rb"(?P<method>" + _NAME + rb")[ \t]*" + _PARAMETERS + _THROWS + rb"\s*\{"
    rb"|(?:task|stage|tasks\.(?:register|create)|def)[ \t(]+['\"]?(?P<title>\w[\w \-]*?)['\"]?[ \t]*"
    rb"(?:[(),].*)?(?:=[ \t]*)?\{[ \t]*$)",
    re.MULTILINE,
)
_IMPORT: Final = re.compile(rb"^[ \t]*import[ \t]+(?:static[ \t]+)?(\w+(?:\.\w+)*)(\.\*)?(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
_PACKAGE: Final = re.compile(rb"^[ \t]*package[ \t]+([\w.]+)", re.MULTILINE)
_BODY: Final = re.compile(r"[ \t]*\{[^{}]*\}[ \t]*$")
_TEXT: Final = re.compile(
    rb"//[^\n]*+|/\*.*?(?:\*/|\Z)|\"\"\".*?(?:\"\"\"|\Z)|'{3}.*?(?:'{3}|\Z)|\$/.*?(?:/\$|\Z)|\"(?>(?:[^\"\\\n]|\\.)*)\"?|'(?>(?:[^'\\\n]|\\.)*)'?",
    re.DOTALL,
)
"""Comments and strings."""

_MEMBER: Final = re.compile(
    rb"(?P<head>" + _GENERIC + _TYPED + _GENERIC + rb"(?:" + _TYPE + rb"[ \t]+)?)"
    rb"(?P<name>\w+)(?P<method>[ \t]*" + _PARAMETERS + rb")?(?=[ \t]*(?:=(?!=)|,|;|$|default\b|throws\b))",
    re.MULTILINE,
)
"""A field, or a method without a body, behind the blanks of its line."""

_CONSTRUCTOR: Final = re.compile(rb"(?P<name>[A-Z]\w*)[ \t]*" + _PARAMETERS + _THROWS + rb"\s*\{")
_CONSTANT: Final = re.compile(rb"(?P<name>[A-Z]\w*)[ \t]*(?:" + _PARAMETERS + rb")?[ \t]*(?=[,;{]|\}?$)", re.MULTILINE)
_WORD: Final = re.compile(rb"\s*\w+\s*")
_MAX_LINES: Final = 20_000
"""Lines of a type that are read for fields."""


def read(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Yields the imports and definitions of a file."""
    for match in _IMPORT.finditer(context.source):
        line = context.source.count(b"\n", 0, match.start(1)) + 1
        yield Import(line, line, match[1].decode(), "*" if match[2] else "", (match[3] or b"").decode())
    text = _Lines(_TEXT.sub(_blank, context.source).split(b"\n"), context.source.split(b"\n"))
    for definition in _definitions(root, context):
        yield from _in_code(definition, text, root)


class _Lines(NamedTuple):
    """The lines of a file."""

    code: list[bytes]
    """With blanks in place of comments and strings."""
    source: list[bytes]


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match[0])


def _in_code(definition: Definition, text: _Lines, root: Node) -> Iterator[Definition]:
    """Yields a definition that is no text, with the fields of the types in it."""
    first, last = definition.start_line or 1, definition.end_line or 1
    if not text.code[first - 1].strip():
        return
    members = tuple(each for member in definition.members for each in _in_code(member, text, root))
    if definition.kind in CLASS_LIKE:
        members = _with_fields(definition, members, text, root)
        members = tuple(sorted(members, key=lambda each: each.start_line or 0))
    signature = _BODY.sub("", definition.signature or "") if last == first else definition.signature
    name = definition.name.strip("'\"")
    yield replace(definition, name=name, members=members, signature=signature)


def _with_fields(owner: Definition, members: tuple[Definition, ...], text: _Lines, root: Node) -> tuple[Definition, ...]:
    """Returns the members of a type with its fields, constants, constructors and methods without a body, which are the lines
    that are indented like the first one of its body."""
    lines = text.code
    first, last = owner.start_line or 1, owner.end_line or 1
    taken = {line for each in members for line in range(each.start_line or 0, (each.end_line or 0) + 1)}
    found, indent, has_constants = list(members), None, owner.kind == "enum"
    if first == last and has_constants:
        names = lines[first - 1].partition(b"{")[2].partition(b"}")[0].split(b",")
        found += [_simple(each.strip(), "const", text, first, first, root) for each in names if each.strip().isalnum()]
    for line in range(first + 1, min(last, first + _MAX_LINES)):
        code = lines[line - 1].strip()
        if not code or line in taken:
            continue
        blanks = len(lines[line - 1]) - len(lines[line - 1].lstrip())
        indent = blanks if indent is None else indent
        if blanks != indent:
            continue
        rest = b"\n".join(lines[line - 1 : min(last, line + 10)])[blanks:]
        member = _MEMBER.match(rest)
        if has_constants and (constant := _CONSTANT.match(rest)) and constant["name"] != owner.name.encode():
            names = code.rstrip(b",;").split(b",")
            several = names if all(_WORD.fullmatch(each) for each in names) else [constant["name"]]
            found += [_simple(each.strip(), "const", text, line, line, root) for each in several]
        elif member is not None:
            end = line + rest.count(b"\n", 0, member.end())
            found.append(_simple(member["name"], "method" if member["method"] else "field", text, line, end, root))
        elif (constructor := _CONSTRUCTOR.match(rest)) and constructor["name"] == owner.name.encode():
            closer = b" " * blanks + b"}"
            end = (
                line if code.endswith(b"}") else next((n for n in range(line + 1, last) if lines[n - 1].startswith(closer)), line)
            )
            found.append(_simple(constructor["name"], "method", text, line, end, root))
    return tuple(found)


def _simple(name: bytes, kind: SymbolKind, text: _Lines, first: int, last: int, root: Node) -> Definition:
    head = re.split(r"\s*\{|;\s*$", b" ".join(text.source[first - 1 : last]).decode("utf-8", "replace"), maxsplit=1)[0]
    return Definition(name.decode(), kind, root, signature=head.strip().rstrip(","), start_line=first, end_line=last)


_KINDS: Final[Mapping[str, SymbolKind]] = {
    **dict.fromkeys(("class", "record"), "class"),
    **dict.fromkeys(("interface", "@interface"), "interface"),
    "enum": "enum",
    "trait": "trait",
}
_definitions = heads(_HEADS, _KINDS)


def module(_path: str, _root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the package."""
    found = _PACKAGE.search(source)
    return () if found is None else tuple(found[1].decode("utf-8", "replace").split("."))


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    strings = "|".join((TRIPLE, DOUBLE))
    return LexicalRules(
        family="java",
        comments_and_strings=any_of(SLASHES, BLOCK, rf"(?P<code>{strings})", TRIPLE_SINGLE, SINGLE),
        interpolation=re.compile(r"\$\{([^{}]*+)\}|\$(?=[A-Za-z_])"),
        name=DOLLAR_NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract as assert boolean byte char class def double enum extends final float implements import in instanceof int",
            "interface it long native package private protected public short static super synchronized this throws trait void",
        ),
        soft=word_set("in it"),
        own=frozenset({"this"}),
        declarations=(
            declared(r"def[ \t]++(?P<names>\w++)[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n;]*+)", mark="def"),
            typed_declaration(),
        ),
        parameters="type_first",
        has_implicit_members=True,
        keyword_argument=re.compile(r":(?!:)"),
        supertypes=SupertypeForms(head=re.compile(r"\w++(?:<[^{;()]{0,200}?>)?\s++(?:extends|implements)\b(?P<bases>[^{;]*+)")),
    )


GROOVY = Language(
    grammar="groovy",
    recover=read,
    module=module,
    imports=JVM_IMPORTS,
    uses=lexical_rules,
    display=Display(attribute_starts=DECORATORS),
)
