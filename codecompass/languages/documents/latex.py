"""LaTeX: sections, labels, macros, environments and counters, references to them, included files."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks, headings, hidden, plain_title, together

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph", "frametitle")
_HIDDEN = lazy.pattern(
    r"(?<!(?<!\\)\\)%[^\n]*+|\\begin\{(?P<block>(?:[BL]?[vV]erbatim|lstlisting|minted|comment|filecontents)\*?)\}.*?"
    r"(?:\\end\{(?P=block)\}|\Z)|\\(?:verb|lstinline)\*?(?P<mark>[^\w\s*\[{])[^\n]*?(?P=mark)|\\iffalse\b.*?(?:\\fi\b|\Z)"
    r"|\\endinput\b.*|\\end\{document\}.*",
    re.DOTALL,
)
_BRACES: Final = r"[^{}]*+(?>(?:\{[^{}]*+(?>(?:\{[^{}]*+(?>(?:\{[^{}]*+\}[^{}]*+)*)\}[^{}]*+)*)\}[^{}]*+)*)"
_OPTION: Final = r"(?:\[[^\[\]]*+(?>(?:\[[^\[\]]*+\][^\[\]]*+)*)\])?"
_IMPORT: Final = lazy.pattern(
    r"\\(?:(?:input|include|subfile|documentclass|usepackage|RequirePackage|LoadClass|bibliography|addbibresource)\*?"
    rf"[ \t]*+{_OPTION}\{{(?P<names>[^{{}}\n#\\]++)\}}|(?:sub)?(?:import|inputfrom)\*?\{{(?P<folder>[^{{}}\n#\\]*+)\}}"
    r"\{(?P<file>[^{}\n#\\]++)\}|input[ \t]++(?P<bare>[\w./-]++))"
)
_UNPRINTED: Final = lazy.pattern(rf"\\(?:label|footnote|index|thanks)\{{{_BRACES}\}}|\\texorpdfstring\{{{_BRACES}\}}")


def _command(group: str) -> str:
    return rf"[ \t]*+\{{?[ \t]*+\\(?P<{group}>[a-zA-Z@_:]++)"


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the place of a command in the order of the classes; 0 for a title of no text of the document."""
    written = match["section"] if match["section"] is not None else match["section2"]
    return 0 if "#" in written or not written.strip() else _LEVELS.index(match[1] or "frametitle") + 1


def title(text: str) -> str:
    """Returns a title as it is printed."""
    plain = re.sub(r"``|''", '"', _UNPRINTED.sub("", text))
    for _ in range(4):
        plain = re.sub(r"(?:\\[a-zA-Z]++\*?[ \t]*+)?\{([^{}]*+)\}", lambda match: match[1] or match[0].strip("\\{} "), plain)
    plain = re.sub(r"\\(?:bf|em|it|rm|sc|sf|sl|tt|[a-z]++(?:family|series|shape)|large|small)\b[ ]?|(?<!\\)[{}]", "", plain)
    return plain_title(re.sub(r"\\(?=[a-zA-Z_])", "", plain)).replace("~", " ")


_heads: Final = blocks(
    "|".join(
        (
            r"\\label\{(?P<target>[^{}\s#]++)\}",
            rf"\\(?:bibitem|newglossaryentry|newacronym){_OPTION}\{{(?P<target2>[^{{}}\s#]++)\}}",
            r"\\(?:(?:re|provide)?new|provide|re)(?:command|robustcmd)\*?" + _command("macro"),
            r"\\(?:DeclareRobustCommand|DeclareMathOperator|DeclarePairedDelimiter|(?:New|Renew|Provide|Declare)(?:Expandable)?"
            r"DocumentCommand)\*?" + _command("macro2"),
            r"\\(?:[egx]?def|let|newif|cs_(?:g?set|new)\w*+:\w++)[ \t]*+\\(?P<macro3>(?!csname\b)[a-zA-Z@_:]++)",
            r"\\(?:(?:re)?newenvironment|newtheorem|lstnewenvironment|(?:New|Renew|Provide|Declare)DocumentEnvironment)\*?"
            r"\{(?P<macro4>[\w*]++)\}",
            rf"\\(?:declaretheorem|newtcolorbox){_OPTION}\{{(?P<macro5>[\w*]++)\}}",
            r"\\(?:newcounter|definecolor|colorlet)\{(?P<var>[\w@-]++)\}",
            r"\\(?:new(?:length|savebox|toks|count|dimen|skip|box)|[a-z]++_g?new:N)" + _command("var2"),
        )
    ),
    ends={},
    comments=_HIDDEN,
)
_SECTIONS: Final = headings(
    rf"\\(?:({'|'.join(_LEVELS)})\*?\s*+{_OPTION}\s*+\{{(?P<section>{_BRACES})\}}"
    rf"|begin\{{frame\}}\s*+{_OPTION}\{{(?P<section2>{_BRACES})\}})",
    level,
    _HIDDEN,
    title=title,
)
_EDGE: Final = lazy.pattern(r"(?<!\\)[{}]|\n")


def _definitions(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields labels, and what is defined up to the line in which its braces are closed."""
    code = hidden(_HIDDEN, text)
    for match in _IMPORT.finditer(code):
        line = text.count("\n", 0, match.start()) + 1
        single = match["bare"] or f"{match['folder']}{match['file']}"
        for name in single.split() if match["names"] is None else match["names"].split(","):
            yield Import(line, line, name.strip(), kind="include")
    for item in _heads(text, path):
        if isinstance(item, Entry) and item.kind == "macro":
            depth = 0
            for edge in _EDGE.finditer(code, item.start):
                depth += {"{": 1, "}": -1}.get(edge[0], 0)
                if depth < 0 or (depth == 0 and edge[0] == "\n"):
                    item = replace(item, end=edge.start())
                    break
        yield item


_WITH_SECTIONS: Final = together(_SECTIONS, _definitions)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields what a file defines; the titles in packages and classes belong to the documents that use them."""
    yield from (_definitions if path.endswith((".sty", ".cls")) else _WITH_SECTIONS)(text, path)


LATEX = Language(
    outline=outline,
    comment_starts=(b"%",),
    imports=plain_imports(endings=(".tex", "", ".sty", ".cls", ".bib")),
    uses=references(
        "latex",
        r"\\(?:[a-zA-Z]*ref|[a-zA-Z]*cite[a-z]*|[a-zA-Z]*(?:gls|Gls|GLS)(?:pl|desc)?|acr(?:short|long|full))\*?"
        r"(?>(?:\[[^\[\]\n]*+\])*)\{(?P<command>[^{}\s#]++)\}|\\begin\{(?P<command2>[\w*]++)\}|\\(?P<command3>[a-zA-Z@]++)",
        _HIDDEN,
    ),
    display=Display(line_comment="%", lexer="latex"),
)
