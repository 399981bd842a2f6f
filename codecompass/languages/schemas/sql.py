"""SQL: objects made by CREATE, columns of tables, values of enumerations; files that client commands include.

Reads the text, not the tree: the grammar fails on most scripts that are not plain standard SQL.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Definition, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.schemas.sql_text import Include, Script, SqlToken, Statement
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, DASHES, NAME, any_of
from codecompass.languages.words import word_set

KIND_OF: Final[Mapping[str, SymbolKind]] = {
    "aggregate": "fn",
    "database": "module",
    "domain": "type",
    "event": "fn",
    "function": "fn",
    "index": "var",
    "macro": "macro",
    "package": "module",
    "policy": "fn",
    "proc": "fn",
    "procedure": "fn",
    "schema": "module",
    "sequence": "var",
    "synonym": "type",
    "table": "struct",
    "trigger": "fn",
    "type": "type",
    "view": "struct",
}
CONSTRAINTS: Final = frozenset(
    {"check", "constraint", "exclude", "foreign", "fulltext", "like", "period", "primary", "spatial", "unique"}
)
KEY_WORDS: Final = frozenset({"index", "key"})
BEFORE_NAME: Final = frozenset({"authorization", "body", "concurrently", "exists", "if", "not", "trigger"})
AFTER_HEAD: Final = frozenset({"as", "begin", "is", "language"})
NESTING: Final = frozenset({"array", "map", "struct"})
"""Words before the types in angle brackets that some warehouses have."""
LABEL: Final = lazy.pattern(r"\w(?:[\w /-]*\w)?")
"""A value of an enumeration."""
BLANKS: Final = bytes(10 if byte == 10 else 32 for byte in range(256))


def nothing_to_parse(source: bytes) -> bytes:
    """Returns blanks of the same length, so that parsing takes no time."""
    return source.translate(BLANKS)


def read(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Yields the definitions and includes of a script."""
    script = Script(context.source.decode("utf-8", "replace"))
    found = list(script.items())
    comments = _comment_lines(script)
    for item in found:
        if isinstance(item, Include):
            line = script.line(item.start)
            yield Import(line, line, item.file, kind="relative")
            continue
        definition = _definition(item, script, comments, root)
        if definition is not None:
            yield definition


def _comment_lines(script: Script) -> Mapping[int, str]:
    """Returns the text of each comment by its last line."""
    return {script.line(end - 1): script.source[start:end] for start, end in sorted(script.comments) if end > start}


def _doc(first: int, last: int, comments: Mapping[int, str], script: Script) -> str:
    """Returns the comment above the line `first`, else the one at the end of line `last`."""
    lines: list[str] = []
    line = first - 1
    while line in comments and _is_own_line(line, comments[line], script):
        lines.append(comments[line])
        line -= comments[line].count("\n") + 1
    if lines:
        return "\n".join(reversed(lines))
    return comments.get(last, "")


def _is_own_line(line: int, comment: str, script: Script) -> bool:
    first = script.text_of_line(line - comment.count("\n"))
    return first.lstrip().startswith(comment[:2].lstrip())


def _definition(statement: Statement, script: Script, comments: Mapping[int, str], root: Node) -> Definition | None:
    tokens = statement.tokens
    what = tokens[statement.object_index].lower
    parts, after = _name(tokens, statement.object_index + 1)
    # A temporary table of Transact-SQL (`#rows`) is a local variable.
    if not parts or parts[-1].startswith("#"):
        return None
    if what in ("index", "trigger") and parts[-1].lower() == "on":
        return None
    first, last = script.line(tokens[0].start), script.line(max(tokens[0].start, statement.end - 1))
    kind = KIND_OF[what]
    qualified_name = ".".join(parts)
    members: tuple[Definition, ...] = ()
    following = tokens[after].lower if after < len(tokens) else ""
    if what == "type" and following == "as":
        after += 1
        if after < len(tokens) and tokens[after].lower == "enum":
            kind, after = "enum", after + 1
            members = tuple(_values(tokens, after, qualified_name, script, root))
        elif after < len(tokens) and tokens[after].text == "(":
            kind = "struct"
    if kind == "struct" and what in ("table", "type") and after < len(tokens) and tokens[after].text == "(":
        members = tuple(_columns(tokens, after, qualified_name, script, comments, root))
    return Definition(
        name=parts[-1],
        kind=kind,
        node=root,
        members=members,
        signature=_head(statement, after, what, script),
        doc=_doc(first, first, comments, script),
        start_line=first,
        end_line=last,
        qualified_name=qualified_name,
    )


def _name(tokens: Sequence[SqlToken], index: int) -> tuple[list[str], int]:
    """Returns the parts of `schema.name`, after `IF NOT EXISTS` and the like, and the index after them."""
    while index < len(tokens) and tokens[index].lower in BEFORE_NAME:
        index += 1
    parts: list[str] = []
    while index < len(tokens) and (name := tokens[index].name):
        # In BigQuery one pair of quotes may be around all parts.
        parts += name.split(".") if tokens[index].text.startswith("`") and all(name.split(".")) else [name]
        index += 1
        if index >= len(tokens) or tokens[index].text != ".":
            break
        index += 1
    return parts, index


def _head(statement: Statement, after: int, what: str, script: Script) -> str:
    """Returns the statement up to its columns or body, without comments."""
    tokens = statement.tokens
    depth, end = 0, len(tokens)
    for index in range(after, len(tokens)):
        token = tokens[index]
        is_list = token.text == "(" and not depth
        if is_list and what == "table" and index == after:
            end = index
            break
        depth += (token.text == "(") - (token.text == ")")
        is_body = token.lower in AFTER_HEAD and (what != "trigger" or token.lower == "begin")
        is_body = is_body or token.kind == "dollar"
        if is_body and not depth and what not in ("policy", "type", "domain", "sequence", "index", "synonym"):
            end = index
            break
    return script.joined(tokens[:end])


def _items(tokens: Sequence[SqlToken], index: int) -> Iterator[list[SqlToken]]:
    """Yields the tokens between the commas of the bracket that opens at `index`."""
    depth, item = 0, list[SqlToken]()
    in_type = 0
    for token in tokens[index:]:
        if token.text == "<" and item and item[-1].lower in NESTING:
            in_type += 1
        elif token.text == ">" and in_type:
            in_type -= 1
        depth += (token.text == "(") - (token.text == ")")
        if not depth or (depth == 1 and token.text == "," and not in_type):
            if item:
                yield item
            item = []
            if not depth:
                return
        elif depth > 1 or token.text != "(":
            item.append(token)
    if item:
        yield item


def _columns(
    tokens: Sequence[SqlToken], index: int, owner: str, script: Script, comments: Mapping[int, str], root: Node
) -> Iterator[Definition]:
    for item in _items(tokens, index):
        name, word = item[0].name, item[0].lower
        if not name or word in CONSTRAINTS or len(item) < 2:
            continue
        # `KEY k (a)` and `INDEX (a)` are indexes, `key text` is a column.
        if word in KEY_WORDS and (item[1].text == "(" or (len(item) > 2 and item[2].text == "(" and item[1].kind == "quoted")):
            continue
        first, last = script.line(item[0].start), script.line(item[-1].end)
        yield Definition(
            name=name,
            kind="field",
            node=root,
            signature=script.joined(item),
            doc=_doc(first, last, comments, script),
            start_line=first,
            end_line=last,
            qualified_name=f"{owner}.{name}",
        )


def _values(tokens: Sequence[SqlToken], index: int, owner: str, script: Script, root: Node) -> Iterator[Definition]:
    for item in _items(tokens, index):
        name = item[0].text.strip("'")
        if item[0].kind == "string" and LABEL.fullmatch(name):
            line = script.line(item[0].start)
            yield Definition(
                name=name,
                kind="const",
                node=root,
                signature=item[0].text,
                doc="",
                start_line=line,
                end_line=line,
                qualified_name=f"{owner}.{name}",
            )


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="sql",
        comments_and_strings=any_of(DASHES, BLOCK, r"'(?>(?:[^']++|'')*)'?"),
        name=NAME,
        keywords=word_set(
            "select from where and or not in is null as on join left right inner outer group by order insert into values update "
            "set delete create table view index function procedure begin end if then else case when primary key references "
            "foreign constraint default unique int integer text varchar boolean timestamp"
        ),
        own=frozenset(),
        # A column is named without its table.
        has_implicit_members=True,
    )


SQL = Language(
    grammar="sql",
    rules={},
    prepare=nothing_to_parse,
    recover=read,
    uses=lexical_rules,
    display=Display(line_comment="--"),
)
