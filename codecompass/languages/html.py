"""HTML: headings as sections, ids, custom elements that are templates; the classes and ids that it uses."""

import re

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks, headings, together

_NO_MARKUP = lazy.pattern(r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style)\b.*?(?:</(?P=raw)\s*+>|\Z)", re.DOTALL | re.IGNORECASE)


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the digit of `<h1>`."""
    return int(match[1])


HTML = Language(
    outline=together(
        headings(r"<[hH]([1-6])\b[^<>]*+>\s*+(?P<section>.{1,500}?)\s*+</[hH]\1>", level, _NO_MARKUP),
        blocks(
            r"<[a-zA-Z][\w-]*+(?=\s)[^<>]*?\s(?:id|ID)\s*+=\s*+[\"']?(?P<target>[\w:.-]++)",
            ends={},
            comments=_NO_MARKUP,
        ),
    ),
    uses=references(
        "css",
        r"\b(?:class|className)\s*+=\s*+[\"'](?P<argument>[\w \t\n:/-]++)[\"']|\bfor=[\"'](?P<argument2>[\w-]++)[\"']"
        r"|href=[\"']#(?P<argument3>[\w-]++)|<(?P<argument4>[a-z]\w*+-[\w-]++)",
        _NO_MARKUP,
    ),
    display=Display(lexer="html"),
)
