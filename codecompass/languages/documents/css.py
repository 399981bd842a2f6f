"""CSS, SCSS and Less: rules by the classes and ids that they are for, custom properties, variables, mixins, functions, and where
they are used."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, SINGLE, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, closing_braces, hidden

_HIDDEN: Final = any_of(BLOCK, r"(?<![:\w\"'(/])//[^\n]*+", DOUBLE, SINGLE)
_COMMENTS: Final = any_of(BLOCK, r"(?<![:\w\"'(/])//[^\n]*+")
_IMPORT: Final = lazy.pattern(r"@(?:import|use|forward)\s++(?:\([\w, ]++\)\s*+)?(?:url\(\s*+[\"']?|[\"'])([^\"'()\n]++)")
_ANOTHER_IMPORT: Final = lazy.pattern(r"[\"']\s*+,\s*+[\"']([^\"'()\n]++)")
_INTERPOLATION: Final = lazy.pattern(r"[#@]\{[^{}]*+(?>(?:\{[^{}]*+\}[^{}]*+)*)\}")
_MASK: Final = "\0"
"""Instead of the code in a name."""
_HEAD: Final = lazy.pattern(
    r"(?:\A|(?<=[{};]))(?>(?:[^{};()]++|\((?>(?:[^(){}]++|\((?>(?:[^(){}]++|\([^(){}]*+\))*)\))*)\))+)(?=\{)"
)
_SELECTOR: Final = lazy.pattern(r"[^,()]++(?>(?:\((?>(?:[^()]++|\([^()]*+\))*)\)[^,()]*+)*)")
_GUARD: Final = lazy.pattern(r"\swhen(?=[\s(]).*+", re.DOTALL)
_ATTRIBUTE: Final = lazy.pattern(r"(?<!\\)\[[^\[\]]*+\]")
_NAMED: Final = lazy.pattern(r"[.#%](-?(?:[^\W\d]|\\[^\w\s])(?>(?:[\w-]|\\[^\w\s])*))")
_PARENTHESES: Final = r"\((?>(?:[^()]++|\((?>(?:[^()]++|\((?>(?:[^()]++|\([^()]*+\))*)\))*)\))*)\)"
_DECLARED: Final = lazy.pattern(
    rf"(?:^|(?<=[;{{]))[ \t]*+(?:\$(?P<scss>[\w-]++)[ \t]*+:(?>(?:[^(){{}};]{{1,200}}+|{_PARENTHESES}){{0,20}})(?=[;}}]|\Z)"
    r"|@(?!page\b)(?P<less>[\w-]++)[ \t]*+:(?!:)|(?P<property>--[\w-]++)[ \t]*+:(?!:)[^{};]*+)",
    re.MULTILINE,
)
_AT: Final = lazy.pattern(
    r"@(?P<rule>mixin|function|(?:-\w++-)?keyframes|layer|property|counter-style|position-try|font-palette-values)\b\s*+"
    r"(?P<name>[\w-]++(?>(?:\.[\w-]++)*))"
)
_BLOCK: Final = lazy.pattern(r"\s*+\{")
_KINDS: Final[dict[str, SymbolKind]] = {"mixin": "macro", "function": "fn"}
_STATE: Final = lazy.pattern(r"(?<=[\w\])&*]):{1,2}[\w-]++(?:\([^()]*+\))?")
_SUFFIX: Final = lazy.pattern(r"&[-_]?[\w-]++$")
MAX_SELECTOR: Final = 120
"""Characters of a selector that is a name."""


def outline(text: str, _path: str) -> Iterator[Entry | Import]:
    """Yields the imports, then rules and variables in the order of the text."""
    code = _INTERPOLATION.sub(lambda match: _MASK * len(match[0]), hidden(_HIDDEN, text))
    yield from _imports(hidden(_COMMENTS, text))
    closing = closing_braces(code)
    found: list[Entry] = []
    around: list[tuple[int, str]] = []
    """The rules around the current one: where each ends, and what its first selector is for."""
    for match in _HEAD.finditer(code):
        while around and around[-1][0] <= match.start():
            around.pop()
        start, end = match.end() - len(match[0].lstrip()), closing[match.end()] + 1
        head = text[start : match.end()].rstrip()
        rules = list(_rules(head, match[0].strip(), around[-1][1] if around else ""))
        found += (Entry(name, kind, start + at, end, signature=head) for name, kind, at in rules)
        around.append((end, rules[0][0] if rules else ""))
    for match in _DECLARED.finditer(code):
        group = match.lastgroup or ""
        statement = code[max(code.rfind(mark, 0, match.start()) for mark in "{}\n") + 1 : match.start()]
        # A parameter of a mixin (`.m(@a: 1; @b: 2)`) is no variable of the file.
        if statement.count("(") <= statement.count(")"):
            block = _BLOCK.match(code, match.end())
            end = match.end() if block is None else closing[block.end() - 1] + 1
            found.append(Entry(match[group], "var", match.start(group), end))
    found.sort(key=lambda entry: (entry.start, -entry.end))
    yield from found


def _imports(code: str) -> Iterator[Import]:
    """Yields the style sheets that are imported; one `@import` of Sass may name several."""
    line, at = 1, 0
    for match in _IMPORT.finditer(code):
        found: re.Match[str] | None = match
        while found is not None:
            line, at = line + code.count("\n", at, found.start(1)), found.start(1)
            yield Import(line, line, found[1], kind="include")
            found = _ANOTHER_IMPORT.match(code, found.end()) if match[0].startswith("@import") else None


def _rules(head: str, code: str, around: str) -> Iterator[tuple[str, SymbolKind, int]]:
    """Yields the name and kind of what the head of a block defines, and where in it; `code` is it without strings, `around` what
    the rule around it is for."""
    # A block of properties (`font: { size: 1em }`) is no rule.
    if not head or code.endswith(":"):
        return
    if head.startswith("@"):
        at = _AT.match(head)
        if at is not None and not code.startswith(_MASK, at.end()):
            yield at["name"], _KINDS.get(at["rule"], "rule"), 0
        return
    seen: set[str] = set()
    guard = _GUARD.search(code)
    for part in _SELECTOR.finditer(code, 0, len(code) if guard is None else guard.start()):
        if _MASK in part[0]:
            continue
        name = _name(head[part.start() : part.end()].strip(), around)
        if name and name not in seen:
            seen.add(name)
            yield name, "rule", part.end() - len(part[0].lstrip())


def _name(selector: str, around: str) -> str:
    """Returns what a selector is for: the last class or id in it, else all of it; empty for one that adds only a state."""
    selector = _STATE.sub("", selector)
    suffix = _SUFFIX.search(selector)
    if suffix is not None:
        return f"{around}{suffix[0][1:]}" if around else ""
    if selector.startswith("&"):
        selector = selector.strip("&+>~ \t\n")
    named = _NAMED.findall(_ATTRIBUTE.sub("", selector))
    name = str(named[-1]).replace("\\", "") if named else " ".join(selector.split())
    return "" if len(name) > MAX_SELECTOR or name[:1].isdigit() or name in ("from", "to") else name


_LANGUAGE = Language(
    outline=outline,
    separator=" ",
    comment_starts=(b"//", b"/*"),
    imports=C_IMPORTS,
    uses=references(
        "css",
        r"\bvar\(\s*+(?P<variable>--[\w-]++)|(?<![\w-])\$(?P<variable2>[\w-]++)(?![\w-]|[ \t]*+:)"
        r"|@include\s++(?P<command>[\w-]++)|@extend\s++[.%](?P<command2>[\w-]++)"
        r"|(?:(?<=[:(,~!])|(?<=[^;{}\s] ))@(?P<variable3>[\w-]++)(?![\w-]|[ \t]*+[:(])|@\{(?P<variable4>[\w-]++)\}"
        r"|\banimation(?:-name)?:\s*+(?P<command3>[\w-]++)"
        r"|(?:^|[{;])[ \t]*+(?:[.#][\w-]++(?:\(\))?[ \t]*+>?[ \t]*+)*?[.#](?P<command4>[\w-]++)(?:\([^()\n]*+\))?"
        r"(?:[ \t]*+!important)?[ \t]*+[;}]",
        _COMMENTS,
    ),
    display=Display(lexer="css"),
)
CSS = _LANGUAGE
SCSS = LESS = _LANGUAGE
