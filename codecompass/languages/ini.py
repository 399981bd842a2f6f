"""INI files, properties, environment files, units of systemd: sections and keys."""

import re
from collections.abc import Iterator

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.keys import first, has_keys, tables
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import Entry

_PATTERN = lazy.pattern(
    r"^[ \t]*+\[(?P<table>[^\[\]\n]++)\][ \t]*+$|^(?:export[ \t]++)?(?P<key>[^\W\d][\w.\-/]*+)[ \t]*+[=:](?!=)",
    re.MULTILINE,
)


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields sections and keys."""
    if has_keys(text, path):
        yield from first(tables(_PATTERN, text, is_dotted=False))


INI = Language(outline=outline, comment_starts=(b"#", b";"), display=Display(line_comment="#", lexer="ini"))
