"""Meson: the project, targets, tests, options and variables, where they are used, and the directories that a file enters."""

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import HASH, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks

_TARGET = (
    r"(?:executable|(?:(?:static|shared|both)_)?library|shared_module|custom_target|run_target|jar|build_target|alias_target)"
)
_HIDDEN = any_of(HASH, r"'[^'\n]*+'")
_NAME = r"[ \t]*+\(\s*+'(?P<{}>[^'\n]++)'"

MESON = Language(
    outline=blocks(
        rf"^[ \t]*+(?:(?P<var>\w++)[ \t]*+\+?=(?!=)|project{_NAME.format('module')}|(?:test|benchmark){_NAME.format('test')}"
        rf"|option{_NAME.format('key')})|\b{_TARGET}{_NAME.format('target')}",
        ends={"target": r"\)[ \t]*+$", "test": r"\)[ \t]*+$"},
        comments=_HIDDEN,
    ),
    comment_starts=(b"#",),
    uses=references(
        "meson", r"(?<![\w.'])(?P<variable>[^\W\d]\w*+)(?![\w'(]|[ \t]*+[:(]|[ \t]*+=(?!=))", any_of(HASH, r"'[^'\n]*+'")
    ),
    display=Display(line_comment="#", lexer="meson"),
)
