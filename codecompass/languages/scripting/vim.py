"""Vim script in both dialects: functions, commands, variables that are not local, groups of autocommands, mappings, classes;
`source`, `runtime` and `import`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE, SINGLE, any_of
from codecompass.languages.walk.text_rules import Entry, hidden
from codecompass.languages.words import word_set

_EMBEDDED: Final = any_of(
    r"(?<==<<)[ \t]*+(?:trim[ \t]++)?(?:eval[ \t]++)?(?P<mark>\w++)\n.*?(?:(?<=\n)[ \t]*+(?P=mark)(?=\n|\Z)|\Z)",
    r"(?<=\n)[ \t:]*+(?:lua|mz\w*+|perl|py\w*+|ruby?|tcl)[ \t]*+<<[ \t]*+(?:trim[ \t]++)?(?P<end>\w++)\n"
    r".*?(?:(?<=\n)[ \t]*+(?P=end)(?=\n|\Z)|\Z)",
)
"""Texts of several lines, and code of other languages."""

_BEFORE: Final = r"[ \t:]*+(?>(?:(?:silent!?|noautocmd|legacy|vim9cmd|export|public|static|abstract|override|keepj\w*+)[ \t]++)*)"
_FLAGS: Final = r"(?>(?:\s++(?:\\\s*+)?-\S++)*)\s++(?:\\\s*+)?"
_HEAD: Final = lazy.pattern(
    rf"(?m)^{_BEFORE}(?:fu(?:n|nc|nct|ncti|nctio|nction)?!?[ \t]++(?:[gsbtwl]:|<SID>)?(?P<fn>[\w#.]++)[ \t]*+\("
    r"|def!?[ \t]++(?:[gs]:)?(?P<def>[\w#.]++)[ \t]*+\(|com(?:m|ma|man|mand)?!?" + _FLAGS + r"(?P<macro>[A-Z]\w*+)"
    r"|aug(?:r|ro|rou|roup)?!?[ \t]++(?!END\b)(?P<module>[\w.:#-]++)|class[ \t]++(?P<class>\w++)"
    r"|interface[ \t]++(?P<interface>\w++)|enum[ \t]++(?P<enum>\w++)|type[ \t]++(?P<type>\w++)[ \t]*+="
    r"|(?:[nvxsoilct]?(?:nore)?map!?|n[nm]|vn|xn|ono|ino?|im|vm|xm|cno|cm|snor|tno)[ \t]++"
    r"(?>(?:<(?:silent|buffer|expr|unique|nowait|script|special)>[ \t]*+)*)(?P<key>\S++)(?=[ \t]++\S)"
    r"|end(?P<end>f(?:u\w*+)?|def|class|interface|enum)\b|aug\w*+[ \t]++END\b(?P<end2>))"
    rf"|(?:^|\|){_BEFORE}(?:let|const?|final|var)[ \t]++(?:(?P<var>[gsbtwv]:|\$)?(?P<name>[A-Za-z_][\w#]*+)"
    r"[ \t]*+(?:=(?![=~])|:[ \t]|$)"
    r"|\[(?P<names>[^\[\]\n]++)\][ \t]*+=(?![=~]))"
)
_IMPORT: Final = lazy.pattern(
    rf"(?m)^{_BEFORE}(?:(?:so|source|ru|runtime)!?[ \t]++(?:<sfile>(?::\w)*+/)?([^\s*%|]++)(?=\s)"
    r"|import[ \t]++(?:autoload[ \t]++)?[\"']([^\"'\n]++))"
)
_LINES: Final = lazy.pattern(r"[^\n]*+(?>(?:\n[ \t]*+\\[^\n]*+)*)")
"""The rest of a line and those that continue it."""

_ENDS_HERE: Final = lazy.pattern(r"\|[ \t]*+end(?:f|def)\w*+[ \t]*+$|\|[ \t]*+aug\w*+[ \t]++END\b")
_KINDS: Final[dict[str, SymbolKind]] = {"def": "fn"}
_CLOSED: Final = {"f": "fn", "d": "def", "c": "class", "i": "interface", "e": "enum", "": "module"}


def outline(text: str, _path: str) -> Iterator[Entry | Import]:
    """Yields other scripts, then definitions; a variable is defined where it is first assigned."""
    code = hidden(_EMBEDDED, text)
    for match in _IMPORT.finditer(code):
        line = text.count("\n", 0, match.start()) + 1
        yield Import(line, line, match[match.lastindex or 1])
    found: list[tuple[str, SymbolKind, int, int]] = []
    open_: list[tuple[str, int]] = []
    """What is open: its group and its place among the definitions."""
    seen: set[str] = set()
    for match in _HEAD.finditer(code):
        group = "var" if match["name"] or match["names"] else match.lastgroup or ""
        continued = _LINES.match(code, match.end())
        end = match.end() if continued is None else continued.end()
        around = open_[-1][0] if open_ else ""
        if group in ("end", "end2"):
            closed = _CLOSED[(match["end"] or "")[:1]]
            while any(each == closed for each, _ in open_[-20:]):
                each, place = open_.pop()
                name, kind, start, _ = found[place]
                found[place] = (name, kind, start, end)
                if each == closed:
                    break
        elif group == "var":
            names = [match["name"]] if match["name"] else re.split(r"[\s,;]++", match["names"].strip())
            for name in names:
                is_local = around in ("fn", "def")
                written = f"{around if around in _CLASSES else ''}{match['var'] or ''}{name}"
                if not is_local and written not in seen and not name.startswith(("l:", "a:")):
                    seen.add(written)
                    found.append(
                        (
                            name.rpartition(":")[2],
                            "field" if around in _CLASSES else "var",
                            match.start("name" if match["name"] else "names"),
                            end,
                        )
                    )
        else:
            kind = "method" if group in ("fn", "def") and around in _CLASSES else _KINDS.get(group, group)  # type: ignore[arg-type]
            found.append((match[group], kind, match.end() - len(match[0].lstrip(" \t:")), end))
            is_declared = group == "def" and (around == "interface" or "abstract" in match[0])
            if group not in ("macro", "key", "type") and not _ENDS_HERE.search(code, match.end(), end) and not is_declared:
                open_.append((group, len(found) - 1))
    for name, kind, start, end in found:
        yield Entry(name, kind, start, end)


_CLASSES: Final = frozenset({"class", "interface", "enum"})


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="vim",
        comments_and_strings=any_of(r'"(?<![^\n]")[^\n]*+', r'(?<=\n[ \t])"[^\n]*+', DOUBLE, SINGLE),
        name=re.compile(r"[^\W\d][\w#]*"),
        keywords=word_set(
            "function fun endfunction endfun let const unlet if else elseif endif for in endfor while endwhile return call",
            "execute try catch finally endtry throw abort range dict echo silent set setlocal command autocmd augroup",
            "nnoremap finish def enddef var final export import class endclass",
        ),
        own=frozenset({"self", "this"}),
        call_marks=":",
    )


VIM = Language(
    outline=outline,
    separator="#",
    comment_starts=(b'"', b"#"),
    imports=plain_imports(endings=("", ".vim")),
    uses=lexical_rules,
    display=Display(line_comment='"'),
)
