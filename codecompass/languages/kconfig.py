"""Kconfig: options, choices and menus, the options that others depend on or select, files that are read."""

from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks

KCONFIG = Language(
    outline=blocks(
        r"^[ \t]*+(?:(?:menu)?config[ \t]++(?P<const>\w++)[ \t]*+$"
        r"|menu[ \t]++\"(?P<section>[^\"\n]++)\"|choice[ \t]++(?P<const2>\w++))",
        ends={"const": r"(?=^[ \t]*+(?:config|menu|menuconfig|choice|endchoice|endmenu|if|endif|source|comment)\b)"},
        imports=r"^[ \t]*+(?:o?r?source)[ \t]++\"([^\"\n$]++)\"",
    ),
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "kconfig",
        r"^[ \t]*+(?:depends on|select|imply|visible if|if)[ \t]++!?\(?(?P<variable>\w++)"
        r"|[&|][ \t]*+[!(]*+(?P<variable2>[A-Z]\w++)",
    ),
    display=Display(line_comment="#", lexer=None),
)
