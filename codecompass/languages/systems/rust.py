"""Rust: functions, types with fields and variants, traits, `impl` blocks, modules, macros, constants, `use`.

Macros around whole items (`cfg_rt! { ... }`, `pin_project! { ... }`) hide the items from the grammar, so such macros are blanked
in the source that is parsed.
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding, Calls, Members
from codecompass.languages.display import Display
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    RuleFunction,
    body_of,
    children_in,
    first_child,
    lines_of,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.systems.rust_imports import RUST_IMPORTS, rust_module
from codecompass.languages.systems.rust_macros import registered
from codecompass.languages.systems.rust_modules import MODULE_PATHS
from codecompass.languages.templates.marked_strings import COMMENTED_STRINGS
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import BLOCK, CHARACTER, DOUBLE_LINES, NAME, SLASHES, after, any_of, declared, loop
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_WRAPPER = lazy.pattern(
    rb"^([ \t]*)((?:\w+::)*(?:cfg_\w+|feature|pin_project|\w*thread_local|task_local|lazy_static|proptest|rt_test)"
    rb"!\s*\{)(?:[^\n]*\}$|[ \t]*$)",
    re.MULTILINE,
)
_ARM = lazy.pattern(rb"^([ \t]*)(\w+: \{)[ \t]*$", re.MULTILINE)
_CFG_IF_CONDITION = lazy.pattern(rb"\bif #(?=\[cfg\()")
_STATIC_REF = lazy.pattern(rb"\bstatic ref\b")


def prepare(source: bytes) -> bytes:
    """Returns the source with such macros blanked; their closing brace is the first one at the same indentation."""
    wrappers = list(_WRAPPER.finditer(source))
    if not wrappers:
        return source
    text = bytearray(source)
    for match in wrappers:
        if match[0].endswith(b"}"):
            closing = match.end() - 1
        else:
            found = re.compile(rb"^" + match[1] + rb"\}", re.MULTILINE).search(source, match.end())
            if found is None:
                continue
            closing = found.end() - 1
        text[match.start(2) : match.end(2)] = b" " * (match.end(2) - match.start(2))
        text[closing] = ord(" ")
        _blank_arms(text, match.end(), closing)
    code = _STATIC_REF.sub(b"static    ", bytes(text))
    return _CFG_IF_CONDITION.sub(b"if  ", code)


def _blank_arms(text: bytearray, start: int, end: int) -> None:
    """Blanks the labels and braces of the variants in `cfg_variant! { stable: { ... }, unstable: { ... } }`."""
    opening = _ARM.match(text, start + 1, end)
    while opening is not None:
        closing = re.compile(rb"^" + opening[1] + rb"\},?[ \t]*$", re.MULTILINE).search(text, opening.end(), end)
        if closing is None:
            return
        for part in (opening, closing):
            text[part.start() : part.end()] = b" " * (part.end() - part.start())
        opening = _ARM.search(text, closing.end(), end)


def visibility_of(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns the visibility by the modifier; for members of a trait or enum that of the type, for those of `impl Trait for T`
    public."""
    first = first_child(node)
    if first is not None and first.type == "visibility_modifier":
        text = context.text(first)
        return "public" if text == "pub" else "private" if text == "pub(self)" else "internal"
    if context.enclosing in ("trait", "enum"):
        return context.scope_visibility
    if context.enclosing == "impl" and ("of a trait", *context.scope_names) in context.notes:
        return "public"
    return "private"


def doc_comment(node: Node, context: RuleContext) -> str:
    """Returns the comment above a definition and its attributes; the `//!` comment inside a module if there is none.

    Reads the text above, not the siblings of the node: half of the top level of a Rust tree is comment lines.
    """
    source = context.source
    top = bottom = source.rfind(b"\n", 0, node.start_byte) + 1
    attribute_lines = 0
    while top > 0 and not source[bottom : node.start_byte].strip():
        above = source.rfind(b"\n", 0, top - 1) + 1
        line = source[above : top - 1].strip()
        if line.startswith(b"//") and not line.startswith(b"//!"):
            attribute_lines = 0
        elif line.startswith(b"#[") or (attribute_lines == 0 and line.endswith(b"]")):
            attribute_lines = 0 if line.startswith(b"#[") else 1
        elif 0 < attribute_lines < ATTRIBUTE_LINES:
            attribute_lines += 1
        elif line.endswith(b"*/") and (start := source.rfind(b"/*", 0, top)) >= 0 and source[start : start + 3] != b"/*!":
            return source[start:top].decode("utf-8", "replace")
        else:
            break
        top = above
    comment = b"\n".join(line for line in source[top:bottom].splitlines() if line.lstrip().startswith(b"//"))
    if not comment and node.type == "mod_item":
        comment = inner_comment(node, context)
    return comment.decode("utf-8", "replace")


ATTRIBUTE_LINES: Final = 20
"""Lines of one attribute: a line above an item that ends in `]` may also be something else."""


def inner_comment(node: Node, context: RuleContext) -> bytes:
    """Returns the `//!` lines at the top of a module's body."""
    lines: list[bytes] = []
    for child in children_in(node, "body"):
        line = context.source[child.start_byte : child.end_byte]
        if not line.startswith(b"//!"):
            break
        lines.append(b"//" + line[3:].strip())
    return b"\n".join(lines)


def definition(kind: SymbolKind) -> RuleFunction:
    """Returns the rule for a node with a `name` and maybe a `body`; `_` cannot be referred to and is left out."""

    def rule(node: Node, context: RuleContext) -> Iterator[Found]:
        name, body = context.field_text(node, "name"), node.child_by_field_name("body")
        if name != "_":
            bodies = () if body is None or kind == "const" or body.type == "ordered_field_declaration_list" else (body,)
            yield Definition(name=name.removeprefix("r#"), kind=kind, node=node, bodies=bodies)

    return rule


def constant(node: Node, context: RuleContext) -> Iterator[Found]:
    """`const` and `static` outside functions; `const _: () = { ... }` may hold items."""
    value = node.child_by_field_name("value")
    if context.field_text(node, "name") == "_":
        if value is not None:
            yield Descend(value)
    elif context.enclosing in (None, "module") or context.enclosing in CLASS_LIKE:
        kind: SymbolKind = "const" if node.type == "const_item" else "var"
        yield Definition(name=context.field_text(node, "name"), kind=kind, node=node)


def module(node: Node, context: RuleContext) -> Iterator[Found]:
    """A module with its items, or `mod x;`, which includes the file `x.rs` in the crate."""
    yield from definition("module")(node, context)
    if node.child_by_field_name("body") is None:
        first, last = lines_of(node)
        name = context.field_text(node, "name")
        written = written_path(node, context)
        if written:
            yield Import(first, last, "/".join([*inline_modules(context), written]), "", name, kind="mod")
        else:
            yield Import(first, last, "::".join([*inline_modules(context), name]), kind="mod")


def inline_modules(context: RuleContext) -> list[str]:
    """Returns the enclosing `mod x { .. }` blocks, outermost first; module paths and files are relative to them."""
    return [name for kind, name in zip(context.scope_kinds, context.scope_names, strict=True) if kind == "module"]


def written_path(node: Node, context: RuleContext) -> str:
    """Returns the file in `#[path = ".."]`, empty without one."""
    previous = node.prev_named_sibling
    while previous is not None and previous.type in ("attribute_item", "line_comment", "block_comment"):
        found = PATH_ATTRIBUTE.match(context.text(previous))
        if found is not None:
            return found[1]
        previous = previous.prev_named_sibling
    return ""


PATH_ATTRIBUTE: Final = lazy.pattern(r'#\[\s*path\s*=\s*"([^"]+)"')


def implementation(node: Node, context: RuleContext) -> Iterator[Found]:
    """`impl T` and `impl Trait for T`; the name is that of the type."""
    of = node.child_by_field_name("type")
    if of is None:
        return
    name = bare_type(of, context)
    note = ("of a trait", *context.scope_names, name)
    context.notes.pop(note, None)
    if node.child_by_field_name("trait") is not None:
        context.notes[note] = ""
    yield Definition(name=name, kind="impl", node=node, bodies=body_of(node), visibility="")


def bare_type(of: Node, context: RuleContext) -> str:
    """Returns the name of a type without path, parameters and references: `&'a fmt::Foo<T>` is `Foo`."""
    while True:
        field = BARE_FIELDS.get(of.type)
        inner = of.child_by_field_name(field) if field is not None else None
        if inner is None:
            return " ".join(context.text(of).split())
        of = inner


BARE_FIELDS: Final = {
    "generic_type": "type",
    "reference_type": "type",
    "pointer_type": "type",
    "scoped_type_identifier": "name",
    "dynamic_type": "trait",
}


def macro(node: Node, context: RuleContext) -> Iterator[Found]:
    """`macro_rules!`; public with `#[macro_export]`."""
    is_exported = False
    previous = node.prev_named_sibling
    while previous is not None and previous.type in ("attribute_item", "line_comment", "block_comment"):
        is_exported = is_exported or context.text(previous).startswith("#[macro_export")
        previous = previous.prev_named_sibling
    yield Definition(
        name=context.field_text(node, "name"),
        kind="macro",
        node=node,
        signature=f"macro_rules! {context.field_text(node, 'name')}",
        visibility="public" if is_exported else "private",
    )


def use(node: Node, context: RuleContext) -> Iterator[Found]:
    """`use a::{b, c as d, e::*}` imports `b` and `c` of `a` and everything of `a::e`."""
    argument = node.child_by_field_name("argument")
    first, last = lines_of(node)
    blocks = inline_modules(context)
    kind = f"inline:{'::'.join(blocks)}" if blocks else "module"
    pending = [(argument, "")] if argument is not None else []
    while pending:
        item, prefix = pending.pop()
        path = item.child_by_field_name("path")
        alias = ""
        if item.type in ("use_list", "scoped_use_list"):
            inside = joined(prefix, context.text(path)) if path is not None else prefix
            items = item.named_children if item.type == "use_list" else children_in(item, "list")
            pending.extend((child, inside) for child in reversed(items))
            continue
        if item.type == "use_wildcard":
            inner = next(iter(item.named_children), None)
            yield Import(first, last, joined(prefix, context.text(inner) if inner is not None else ""), "*", kind=kind)
            continue
        if item.type == "use_as_clause":
            alias = context.field_text(item, "alias")
            item = path if path is not None else item
        if item.type not in PATHS:
            continue
        spec, _, name = joined(prefix, context.text(item)).rpartition("::")
        if name == "self" and spec:
            yield Import(first, last, spec, "", alias, kind)
        elif spec:
            yield Import(first, last, spec, name, alias, kind)
        else:
            yield Import(first, last, name, "", alias, kind)


PATHS: Final = frozenset({"identifier", "scoped_identifier", "self", "super", "crate", "metavariable"})


def joined(prefix: str, path: str) -> str:
    """Returns `prefix::path` without white space; if one is empty, the other."""
    path = "".join(path.split())
    return f"{prefix}::{path}" if prefix and path else prefix or path


def extern_crate(node: Node, context: RuleContext) -> Iterator[Found]:
    """`extern crate a as b;`"""
    first, last = lines_of(node)
    yield Import(first, last, context.field_text(node, "name"), "", context.field_text(node, "alias"))


_FLAT_PARAMETERS: Final = r"<(?:[^<>{;=-]++|[-=]>?)*+>"
_NESTED_PARAMETERS: Final = rf"<(?>(?:[^<>{{;=-]++|[-=]>?|{_FLAT_PARAMETERS})*)>"
_WRAPPED: Final = lazy.pattern(r"(?:Some|Ok)\((?:mut |ref |&)?(\w+)\)")


def _bound(names: str, type_: str, value: str) -> tuple[str, str, str]:
    """Returns what `Some(x) = value` and `Kind::Job(x) = value` bind."""
    wrapped = _WRAPPED.fullmatch(names)
    if wrapped is not None:
        return wrapped[1], type_, value
    if names[:1] != "(" and "(" in names:
        return names[names.find("(") :], "", ""
    return names, type_, value


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="rust",
        built_in=word_set(
            "alloc bool char core f32 f64 i128 i16 i32 i64 i8 isize std str u128 u16 u32 u64 u8 usize Box Option Result String "
            "Vec"
        ),
        comments_and_strings=any_of(
            SLASHES,
            BLOCK,
            r'br(?<=\bbr)(?P<marks>#*+)".*?(?:"(?P=marks)|\Z)',
            r'r(?<=\br)(?P<hashes>#*+)".*?(?:"(?P=hashes)|\Z)',
            *(DOUBLE_LINES, "b" + CHARACTER, CHARACTER, r"'\w++"),
        ),
        name=NAME,
        keywords=word_set(
            "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut "
            "pub ref return static struct super trait true type unsafe use where while bool char str "
            "u8 u16 u32 u64 u128 usize i8 "
            "i16 i32 i64 i128 isize f32 f64"
        ),
        own=frozenset({"self", "Self"}),
        above=frozenset(),
        declarations=(
            declared(
                after("let") + r"\s++(?:mut\s++)?(?P<names>(?>(?:\w++::)*)\w++\([^()]*+\)|\w++|\([^()]*+\))"
                r"(?:\s*+:\s*+(?P<type>[^=;\n]{1,200}+))?\s*+(?:=(?!=)\s*+(?P<value>[^\n;]*+))?"
            ),
            loop(after("for") + r"\s++(?P<names>\w++|\([^()]*+\))\s++in\b(?P<value>[^\n]{0,200})"),
            declared(
                after("match") + r"\s++(?P<value>[^\n;{}]{1,200})\{\s*+(?:(?:None|Err\([^()\n]*+\))\s*+=>[^\n]*\n\s*+)?"
                r"(?P<names>(?:Some|Ok)\([^()\n]*+\))\s*+(?:if\b[^\n]*?)?=>"
            ),
            declared(r"\|(?P<parameters>[^|\n]*+)\|"),
        ),
        keyword_argument=re.compile(r":(?!:)"),
        namespace_roots=word_set("System std core alloc"),
        special_call=re.compile(r"![ \t]*+[\[{]"),  # a macro
        keys_of_type="braces",
        bound_by_pattern=_bound,
        has_struct_literals=True,
        has_lists=True,
        has_numbered_fields=True,
        supertypes=SupertypeForms(
            head=re.compile(r"\w++(?:\s*+<[^{;]*?>)?\s*+:(?!:)(?P<bases>[^{;]*?)(?=\bwhere\b|[{;])"),
            implementation=re.compile(
                rf"[ \t]*+(?:unsafe\s++)?impl\b"
                rf"(?>(?:\s*+<(?>(?:[^<>{{;=-]++|[-=]>?|{_NESTED_PARAMETERS})*)>)?)\s++!?(?P<bases>[^{{;]*?)\sfor\s"
            ),
            statement=re.compile(r"^[ \t]*+#\[derive\((?P<bases>[^()\[\]]*+)\)", re.MULTILINE),
        ),
    )


RUST = Language(
    grammar="rust",
    rules={
        "function_item": definition("fn"),
        "function_signature_item": definition("fn"),
        "struct_item": definition("struct"),
        "union_item": definition("struct"),
        "enum_item": definition("enum"),
        "enum_variant": definition("const"),
        "field_declaration": definition("field"),
        "trait_item": definition("trait"),
        "impl_item": implementation,
        "mod_item": module,
        "const_item": constant,
        "static_item": constant,
        "type_item": definition("type"),
        "associated_type": definition("type"),
        "macro_definition": macro,
        "use_declaration": use,
        "extern_crate_declaration": extern_crate,
        **dict.fromkeys(
            word_set(
                "foreign_mod_item declaration_list expression_statement let_declaration block async_block if_expression "
                "else_clause match_expression match_block match_arm loop_expression for_expression call_expression arguments "
                "closure_expression await_expression ERROR"
            ),
            DESCEND,
        ),
    },
    separator="::",
    prepare=prepare,
    nested_markers=(b"fn ", b"use ", b"struct ", b"enum ", b"impl ", b"impl<", b"trait ", b"macro_rules"),
    comment_starts=(b"//", b"/*"),
    path_module=rust_module,
    imports=RUST_IMPORTS,
    visibility=visibility_of,
    doc=doc_comment,
    registers=registered,
    uses=lexical_rules,
    binding=Binding(
        macros_are_everywhere=True,
        files_share_no_names=True,
        exports_imports=True,
        module_paths=MODULE_PATHS,
        has_namespaces_before_names=True,
    ),
    members=Members(
        place="blocks",
        blocks_implement=True,
        attributes_inherit=True,
        functions_are_methods=True,
        kinds_for_others=frozenset({"trait"}),
        types_are_capitalised=True,
        unwrapping=word_set(
            "await unwrap expect unwrap_or_default unwrap_or unwrap_or_else as_ref as_mut borrow borrow_mut lock read write "
            "clone to_owned into_inner as_deref as_deref_mut take project get_mut as_pin_mut"
        ),
    ),
    calls=Calls(fields_share_names=True),
    types=WrittenTypes(variables="colon", results="arrow", supertypes="bounds", has_numbered_fields=True),
    display=Display(attribute_starts=("#[",)),
    regions=COMMENTED_STRINGS,
)
