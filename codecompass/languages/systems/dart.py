"""Dart: classes, mixins, extensions, enums, functions, variables and tests; `import`, `export` and `part`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Found, Language, RuleContext
from codecompass.languages.nodes import Node
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
from codecompass.languages.walk.block_tests import QUOTED, BlockTestSyntax
from codecompass.languages.walk.node_rules import defines, descend, imports, or_descend, reach, underscore_is_private
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


_imported: Final = imports("configurable_uri/uri", alias="identifier")
_imported_late: Final = imports("uri", alias="identifier")


def import_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import 'uri' as name`; one that is `deferred` has its URI elsewhere in the tree."""
    yield from (_imported if reach(node, "configurable_uri") else _imported_late)(node, context)


_alias: Final = defines("type", "type_identifier", "")
_older_alias: Final = defines("type", "type_identifier", "", is_last=True)


def alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`typedef Name = T`, and the older `typedef T Name(..)`, in which the name is last."""
    is_newer = any(child.type == "=" for child in node.children)
    yield from (_alias if is_newer else _older_alias)(node, context)


_operator: Final = defines("fn", "binary_operator", through="function_body")
_INDEXING: Final = {name: defines("fn", called=name, through="function_body") for name in ("[]", "[]=", "~")}


def operator(node: Node, context: RuleContext) -> Iterator[Found]:
    """`T operator +(..)`; the grammar has no node for the name of the operators of an index."""
    name = "".join(context.text(node).partition("operator")[2].partition("(")[0].split())
    yield from _INDEXING.get(name, _operator)(node, context)


TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(rb"\n[ \t]*+(?P<head>group|test|testWidgets)\(\s*+" + QUOTED + rb"(?=\s*+,)"),
    block=lazy.pattern(rb"\{|=>"),
    computed=lazy.pattern(rb"\$"),
    nodes=frozenset({"expression_statement"}),
)

DART = Language(
    grammar="dart",
    rules={
        **descend("import_or_export library_import library_export method_signature enum_body block"),
        **descend("local_function_declaration lambda_expression initialized_identifier_list static_final_declaration_list"),
        "declaration": or_descend(defines("var", _VARIABLES, "", several=True)),
        "import_specification": import_,
        "library_export": imports("configurable_uri/uri"),
        "part_directive": imports("uri"),
        "class_definition": or_descend(defines("class")),
        "mixin_application_class": defines("class", "identifier", "", from_line=True),
        "mixin_declaration": defines("trait", "identifier", "class_body"),
        "extension_declaration": defines("impl", "name|type_identifier"),
        "extension_type_declaration": defines("class"),
        "enum_declaration": defines("enum"),
        "enum_constant": defines("const"),
        "type_alias": alias,
        "function_signature": defines("fn", through="function_body"),
        "getter_signature": defines("fn", through="function_body"),
        "setter_signature": defines("fn", through="function_body"),
        "operator_signature": operator,
        "constructor_signature": defines("fn", is_last=True, through="function_body"),
        "constant_constructor_signature": defines("fn", "identifier", is_last=True, through="function_body"),
        "factory_constructor_signature": defines("fn", "identifier", is_last=True, through="function_body"),
        "redirecting_factory_constructor_signature": defines("fn", "identifier", "", is_last=True),
        "static_final_declaration": defines("const", "identifier", "", from_line=True),
        "initialized_identifier": defines("var", "identifier", "", from_line=True),
    },
    doc=comment_above,
    visibility=underscore_is_private,
    imports=plain_imports(path_of=_path),
    tests=TESTS,
    uses=lexical_rules,
    types=WrittenTypes(variables="before_name", results="before_name", supertypes="keywords"),
    display=Display(attribute_starts=DECORATORS),
)
