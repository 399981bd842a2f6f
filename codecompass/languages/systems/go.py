"""Go: functions, methods, types with their fields and methods, constants, variables, imports.

The package clause names the module. The type of a method's receiver may be in another file, so a method is a top-level symbol and
only its qualified name has the type: `pkg.(*T).Method`.

An import names a package, which is a directory, found by the module path in a `go.mod`. A repository without one, from before
modules, is imported by the path of its root in a GOPATH, which no file says: then the longest end of the import path that is the
whole path of a directory, or lies below a `src`, is the package.
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding, Calls, Members
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ROOT_TARGET, ancestors, directory_of, join, last_part, nearest
from codecompass.languages.imports.rules import ImportRules, Packages
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Found,
    Language,
    RuleContext,
    body_of,
    head_without_comments,
    leading_comment,
    lines_of,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind, Visibility
from codecompass.languages.templates.marked_strings import COMMENTED_STRINGS
from codecompass.languages.uses.expressions import LITERAL, UNKNOWN, typed
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms, TypeCases
from codecompass.languages.uses.patterns import (
    BLOCK,
    CHARACTER,
    DOUBLE,
    NAME,
    NAMES,
    SLASHES,
    after,
    any_of,
    declared,
    loop,
    member_cast,
)
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

TYPE_KINDS: Final[dict[str, SymbolKind]] = {"struct_type": "struct", "interface_type": "interface"}
WRAPPERS: Final[dict[str, str]] = {
    "array_type": "element",
    "slice_type": "element",
    "map_type": "value",
    "channel_type": "value",
}
"""Types that contain another type, and the field with that type: `[]struct{...}` has fields too."""


def package_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the name in the package clause; empty in a fragment without one."""
    for node in root.named_children:
        if node.type == "package_clause":
            words = source[node.start_byte : node.end_byte].split()
            return (words[1].decode("utf-8", "replace"),) if len(words) > 1 else ()
        if node.type != "comment":
            break
    return ()


def visibility_of(_node: Node, name: str, _context: RuleContext) -> Visibility:
    """Returns public for names that begin with an upper-case letter."""
    return "public" if name[:1].isupper() else "private"


def doc_comment(node: Node, context: RuleContext) -> str:
    """Returns the comment above without directives (`//go:embed x`), which are between the text and the definition."""
    lines = leading_comment(node, context).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("//go:", "//nolint", "//export ", "// +build")))


def package_clause(node: Node, context: RuleContext) -> Iterator[Found]:
    """The package clause, but only the one with the package's documentation: each file has one."""
    doc = doc_comment(node, context)
    # Any other comment there is a licence or a build constraint.
    is_documentation = doc.lstrip("/* \t\n").startswith("Package ") or context.path.endswith("doc.go")
    if doc and is_documentation and context.module:
        name = context.module[0]
        yield Definition(name=name, kind="module", node=node, doc=doc, qualified_name=name, visibility="public")


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function; `_` cannot be referred to and is left out."""
    name = context.field_text(node, "name")
    if name != "_":
        yield Definition(name=name, kind="fn", node=node, bodies=body_of(node))


def method(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method; the type of its receiver is its qualifier."""
    name = context.field_text(node, "name")
    if name != "_":
        yield Definition(name=name, kind="method", node=node, bodies=body_of(node), qualifier=receiver_of(node, context))


def receiver_of(node: Node, context: RuleContext) -> tuple[str, ...]:
    """Returns `T` or `(*T)` without type parameters; empty if the receiver is broken."""
    text = context.field_text(node, "receiver").strip("(), \t\n").split("[", 1)[0]
    is_pointer = "*" in text
    words = text.replace("*", " ").split()
    if not words:
        return ()
    return (f"(*{words[-1]})",) if is_pointer else (words[-1],)


def type_declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type T ...`, alone or in parentheses."""
    specs = [child for child in node.named_children if child.type in ("type_spec", "type_alias")]
    for spec in specs:
        of = spec.child_by_field_name("type")
        kind = TYPE_KINDS.get(of.type, "type") if of is not None and spec.type == "type_spec" else "type"
        body = members_of(of) if of is not None else None
        signature = f"type {without_comments(spec, context)}"
        if of is not None and kind in TYPE_KINDS.values():
            signature = f"type {head_without_comments(spec, spec.start_byte, of.start_byte, context)}{kind}"
        yield Definition(
            name=context.field_text(spec, "name"),
            kind=kind,
            node=node if len(specs) == 1 and not is_grouped(node) else spec,
            bodies=() if body is None else (body,),
            signature=signature,
        )


def members_of(of: Node) -> Node | None:
    """Returns the node whose children are the fields or methods of a type, including those of `[]struct{...}`, `*struct{...}`."""
    while of.type in WRAPPERS or of.type == "pointer_type":
        inner = of.child_by_field_name(WRAPPERS[of.type]) if of.type in WRAPPERS else None
        if inner is None:
            inner = next(iter(of.named_children), None)
        if inner is None:
            return None
        of = inner
    return of if of.type in TYPE_KINDS else None


def is_grouped(node: Node) -> bool:
    """Whether a declaration is written with parentheses."""
    return any(child.type in ("(", "var_spec_list") for child in node.children)


def values(node: Node, context: RuleContext) -> Iterator[Found]:
    """`const` and `var` outside functions, alone or in parentheses."""
    if context.enclosing is not None:
        return
    is_constant = node.type == "const_declaration"
    kind: SymbolKind = "const" if is_constant else "var"
    specs = [child for child in node.named_children if child.type.endswith("_spec")]
    for child in node.named_children:
        if child.type == "var_spec_list":
            specs.extend(spec for spec in child.named_children if spec.type == "var_spec")
    for spec in specs:
        whole = node if len(specs) == 1 and not is_grouped(node) else spec
        signature = f"{kind} {without_comments(spec, context)}"
        for name_node in spec.children_by_field_name("name"):
            name = context.text(name_node)
            if name_node.is_named and name != "_":
                yield Definition(name=name, kind=kind, node=whole, signature=signature)


def field(node: Node, context: RuleContext) -> Iterator[Found]:
    """The fields of one line of a struct; an embedded type is a field with the name of the type."""
    of = node.child_by_field_name("type")
    names = [context.text(child) for child in node.children_by_field_name("name") if child.is_named]
    if not names and of is not None:
        names = [context.text(of).split("[", 1)[0].rsplit(".", 1)[-1].strip()]
    body = members_of(of) if of is not None else None
    for name in names:
        if name != "_":
            yield Definition(
                name=name,
                kind="field",
                node=node,
                bodies=() if body is None else (body,),
                signature=without_comments(node, context),
            )


def interface_method(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method of an interface."""
    yield Definition(name=context.field_text(node, "name"), kind="method", node=node)


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """One line of an import declaration; `.` imports every name, `_` none."""
    path = context.field_text(node, "path").strip('"`')
    alias = context.field_text(node, "name")
    first, last = lines_of(node)
    if path:
        yield Import(first, last, path, "*" if alias == "." else "", "" if alias == "." else alias)


_VALUE: Final = lazy.pattern(
    r"\s*+&?(?P<made>(?:make|new)\()?(?P<type>(?>(?:\[[\w.]*+\]|map\[[\w.*]++\]|chan\s++|\*)*)[\w.]++)(?P<after>[{,()])"
)
_TABLE: Final = lazy.pattern(r"\s*+&?(?>(?:\[[\w.]*+\]|map\[[\w.*]++\]|\*)*)struct\b")
_RECEIVED: Final = lazy.pattern(r"\s*+<-\s*+(?P<channel>\w++(?>(?:\.\w++)*))\s*+(?:$|[;{])")


def _value(value: str) -> str:
    """Returns the expression for a literal, an allocation or a received value; '' for anything else."""
    if _TABLE.match(value):
        return LITERAL  # members of a type without a name are nobody else's
    received = _RECEIVED.match(value)
    if received is not None:
        return received["channel"] + "[]"
    found = _VALUE.match(value)
    if found is None:
        return ""
    is_literal = found["after"] == "{" and found["type"].startswith(("[", "map["))
    return typed(found["type"]) if is_literal or found["made"] else ""


def _results(_value: str, whole: str, n_names: int) -> list[str] | None:
    """Returns what the names are in `value, ok := ..`; None for the results of a function."""
    return None if whole.endswith("()") else [whole, *[UNKNOWN] * (n_names - 1)]


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="go",
        comments_and_strings=any_of(SLASHES, BLOCK, r"`[^`]*+`?", DOUBLE, CHARACTER),
        name=NAME,
        keywords=word_set(
            "break case chan const continue default defer else fallthrough for func go goto if import "
            "interface map package range "
            "return select struct switch type var nil true false iota"
        ),
        own=frozenset(),
        declarations=(
            loop(rf"(?<!\w)(?P<names>{NAMES})[ \t]*+:=[ \t]*+range\b(?P<value>[^\n]*+)", "range"),
            declared(rf"(?<!\w)(?P<names>{NAMES})[ \t]*+:=[ \t]*+(?P<value>[^\n]*+)", ":="),
            declared(after("var") + rf"[ \t]++(?P<names>{NAMES})[ \t]++(?P<type>[\w.*\[\]]+)"),
            declared(after("var") + r"[ \t]++(?P<names>\w++)[ \t]*+=[ \t]*+(?P<value>[^\n]*+)"),
            declared(after("func") + r"\((?P<parameters>[^()]*+)\)"),
        ),
        parameters="type_last",
        keyword_argument=re.compile(r":(?!=)"),
        special_call=re.compile(r"\[[^\[\](){}\n]*+(?>(?:\[[^\[\]\n]*+\][^\[\](){}\n]*+)*)\]\("),  # `name[T](`
        keys_of_type="braces",
        several_results=_results,
        loops_over_keys=True,
        casts=(member_cast(".("),),
        asserts_types=True,
        value=_value,
        has_struct_literals=True,
        supertypes=SupertypeForms(
            embedded=re.compile(r"(?<=[\n{;])[ \t]*+(?P<bases>[^\W\d][\w.]*+)(?:\[[^]\n]*+\])?[ \t]*+(?=[;}\n])"),
            has_embedded_fields=True,
        ),
        type_cases=TypeCases(
            mark=".(type)",
            head=re.compile(r"switch\b(?<=\bswitch)\s++(?P<value>\w++)\s*+:=\s*+[^\n{]*?\.\(type\)\s*+\{"),
            case=re.compile(r"\n[ \t]*+(?:case\s++(?P<type>[^:\n]++)|default\s*+):"),
        ),
    )


ECOSYSTEM: Final = "go"


def import_tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last two elements of the package path, and its last one."""
    spec = item.spec
    tail = _tail(join(directory_of(from_path), spec) or "" if spec.startswith(".") else spec)
    return tuple(dict.fromkeys((tail, last_part(tail))))


def resolve_import(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of the package: in a module of the repository, else a vendored one."""
    spec = item.spec
    if spec.startswith("."):
        joined = join(directory_of(from_path), spec)
        return "" if not joined else _package(joined.rstrip("/") + "/", paths)
    modules = paths.roots(ECOSYSTEM).by_prefix
    end = len(spec)
    while end > 0:
        roots = modules.get(spec[:end])
        if roots is not None:
            rest = spec[end + 1 :]
            directories = [root.directory + rest + "/" if rest else root.directory for root in roots]
            found = [directory for directory in directories if paths.package_size(ECOSYSTEM, directory)]
            if found:
                return nearest(found, from_path) or ROOT_TARGET
        end = spec.rfind("/", 0, end)
    first = spec.partition("/")[0]
    if first in _STANDARD or spec == "C":
        return ""
    # Only paths with a host name are vendored.
    for directory in ancestors(from_path) if "." in first else ():
        found_vendored = _package(f"{directory}vendor/{spec}/", paths)
        if found_vendored:
            return found_vendored
    return "" if modules else _without_module(spec, from_path, paths)


def _without_module(spec: str, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of a package in a repository without a `go.mod`."""
    for directory in ancestors(from_path):
        if not directory or last_part(directory[:-1]) == "src":
            found = _package(f"{directory}{spec}/", paths) or (not directory and _package(f"src/{spec}/", paths))
            if found:
                return found
    parts = spec.split("/")
    # A repository has at least the name of its host, and on a code host those of its owner and its own.
    for count in range(_ROOT_PARTS.get(parts[0], 1 if "." not in parts[0] else 2), len(parts)):
        rest = "/".join(parts[count:]) + "/"
        found = _package(rest, paths)
        if found:
            return found
    return ""


_ROOT_PARTS: Final = {"bitbucket.org": 3, "codeberg.org": 3, "github.com": 3, "gitlab.com": 3}
"""Elements of the path of a repository's root, by host; elsewhere two, and one without a host."""

_STANDARD: Final = word_set(
    "archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go hash "
    "html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings "
    "structs sync syscall testing text time unicode unique unsafe weak"
)
"""First elements of the paths of the standard library, which have no host name."""


def package_tails(directory: str, paths: PathIndex) -> Iterator[str]:
    """Yields the tails of the imports that may lead to a package directory."""
    yield _tail(directory)
    if not paths.roots(ECOSYSTEM).all:
        yield last_part(directory[:-1])
    parts = directory.split("/")
    for position, part in enumerate(parts):
        if part == "vendor":
            yield _tail("/".join(parts[position + 1 :]))
    modules = paths.roots(ECOSYSTEM).by_directory
    for above in (directory, *ancestors(directory[:-1])):
        for root in modules.get(above, ()):
            if root.directory == above:
                yield _tail(f"{root.prefix}/{directory[len(above) :]}")


def _tail(package: str) -> str:
    parts = package.strip("/").rsplit("/", 2)
    return "/".join(parts[-2:])


def _package(directory: str, paths: PathIndex) -> str:
    return directory if paths.package_size(ECOSYSTEM, directory) else ""


_GO_MODULE: Final = lazy.pattern(r'^[ \t]*module[ \t]+"?([^\s"]+)', re.MULTILINE)


def _go_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    match = _GO_MODULE.search(source.decode("utf-8"))
    if match is not None:
        yield ModuleRoot(ECOSYSTEM, match[1], directory_of(path))


GO_IMPORTS: Final = ImportRules(
    tails=import_tails,
    resolve=resolve_import,
    ecosystem=ECOSYSTEM,
    are_same_in_directory=True,
    # An import names a package and never one of its files.
    packages=Packages(extensions=("go",), hide_files=True, tails=package_tails),
    importers=("go",),
    configuration=_go_roots,
)

GO = Language(
    grammar="go",
    rules={
        "package_clause": package_clause,
        "import_declaration": DESCEND,
        "import_spec_list": DESCEND,
        "import_spec": imports,
        "function_declaration": function,
        "method_declaration": method,
        "type_declaration": type_declaration,
        "field_declaration_list": DESCEND,
        "field_declaration": field,
        "method_elem": interface_method,
        "const_declaration": values,
        "var_declaration": values,
        **dict.fromkeys(word_set("statement_list block if_statement for_statement ERROR"), DESCEND),
    },
    nested_markers=(b"type ", b"struct"),
    comment_starts=(b"//", b"/*"),
    module=package_of,
    visibility=visibility_of,
    doc=doc_comment,
    uses=lexical_rules,
    imports=GO_IMPORTS,
    binding=Binding(only_top_level_is_bare=True, has_no_other_names=True, ends_in_version=True, directories_are_packages=True),
    members=Members(place="directory", are_defined_at_top_level=True, interfaces="structural", fields_embed_types=True),
    calls=Calls(arity_is_exact=True, receiver="func ("),
    types=WrittenTypes(
        variables="after_name",
        results="after_parameters",
        aliases="after_name",
        has_square_brackets=True,
        bounds_are_shared=True,
    ),
    regions=COMMENTED_STRINGS,
)
