"""Dockerfile: stages, arguments and variables of the environment, and where they are used."""

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks

DOCKERFILE = Language(
    outline=blocks(
        r"^[ \t]*+(?:(?i:FROM)[ \t]++(?:--\S++[ \t]++)?\S++[ \t]++(?i:AS)[ \t]++(?P<target>\S++)|(?i:ARG)[ \t]++(?P<var>\w++)"
        r"|(?i:ENV)[ \t]++(?P<var2>\w++))",
        ends={"target": r"(?=^[ \t]*+(?i:FROM)[ \t])"},
    ),
    comment_starts=(b"#",),
    uses=references(
        "dockerfile",
        r"(?:--from=|\bfrom=)(?P<command>[\w.-]++)|^[ \t]*+(?i:FROM)[ \t]++(?:--\S++[ \t]++)?(?P<command2>[\w.-]++)(?=\s)"
        r"|\$\{?(?P<variable>[^\W\d]\w*+)",
    ),
    display=Display(line_comment="#", lexer="docker"),
)
