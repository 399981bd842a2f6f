"""Dart: classes, mixins, extensions, enums, functions and variables; `import`, `export` and `part`."""

import re
from typing import Final

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import
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
from codecompass.languages.walk.node_rules import defines, descend, imports, or_descend, underscore_is_private
from codecompass.languages.walk.source_text import comment_above
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    strings = "|".join((TRIPLE, TRIPLE_SINGLE, DOUBLE, SINGLE))
    return LexicalRules(
        family="dart",
        comments_and_strings=any_of(SLASHES, BLOCK, rf"(?P<code>{strings})"),
        interpolation=re.compile(r"\$\{([^{}]*+)\}|\$(?=[A-Za-z_])"),
        name=DOLLAR_NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract as assert async await base class const covariant deferred enum export extends extension external factory "
            "final get hide implements import in interface is late library mixin on operator part rethrow required sealed set "
            "show static super sync typedef var void when with yield int double bool num dynamic Never",
        ),
        soft=word_set("async base deferred export factory get hide interface library on part sealed set show sync when"),
        own=frozenset({"this"}),
        built_in=word_set("DateTime Duration Future Iterable List Map Object Set Stream String Uri"),
        declarations=(
            typed_declaration(),
            declared(
                r"(?:var|final|late)[ \t]++(?P<names>\w++)(?:[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n;]*+)|(?=[ \t]*+(?:;|in\b)))"
            ),
        ),
        parameters="type_first",
        has_implicit_members=True,
        keyword_argument=re.compile(r":(?!:)"),
        supertypes=SupertypeForms(
            head=re.compile(r"\w++(?:<[^{;()]{0,200}?>)?\s++(?:extends|implements|with|on)\b(?P<bases>[^{;]*+)")
        ),
    )


_VARIABLES: Final = (
    "initialized_identifier_list|static_final_declaration_list/initialized_identifier|static_final_declaration/identifier!"
)


def _path(item: Import) -> str:
    """Returns the path of an import: that in `lib` for one of a package."""
    if item.spec.startswith("package:"):
        return "lib/" + item.spec.partition("/")[2]
    return "" if item.spec.startswith("dart:") else item.spec


DART = Language(
    grammar="dart",
    rules={
        **descend("import_or_export library_import library_export method_signature enum_body block"),
        **descend("local_function_declaration lambda_expression initialized_identifier_list static_final_declaration_list"),
        "declaration": or_descend(defines("var", _VARIABLES, "", several=True)),
        "import_specification": imports("configurable_uri/uri", alias="identifier"),
        "library_export": imports("configurable_uri/uri"),
        "part_directive": imports("uri"),
        "class_definition": defines("class"),
        "mixin_declaration": defines("trait", "identifier", "class_body"),
        "extension_declaration": defines("impl"),
        "extension_type_declaration": defines("class"),
        "enum_declaration": defines("enum"),
        "enum_constant": defines("const"),
        "type_alias": defines("type", "type_identifier", ""),
        "function_signature": defines("fn", through="function_body"),
        "getter_signature": defines("fn", through="function_body"),
        "setter_signature": defines("fn", through="function_body"),
        "operator_signature": defines("fn", "binary_operator", through="function_body"),
        "constructor_signature": defines("fn", is_last=True, through="function_body"),
        "constant_constructor_signature": defines("fn", "identifier", is_last=True, through="function_body"),
        "factory_constructor_signature": defines("fn", "identifier", is_last=True, through="function_body"),
        "static_final_declaration": defines("const", "identifier", "", from_line=True),
        "initialized_identifier": defines("var", "identifier", "", from_line=True),
    },
    doc=comment_above,
    visibility=underscore_is_private,
    imports=plain_imports(path_of=_path),
    uses=lexical_rules,
    types=WrittenTypes(variables="before_name", results="before_name", supertypes="keywords"),
    display=Display(attribute_starts=DECORATORS),
)
