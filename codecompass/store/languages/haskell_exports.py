"""The export list of a Haskell module: what it names is public, everything else is private."""

from codecompass.store.languages.base import Context, Node
from codecompass.store.records import Visibility


def note_exports(root: Node, context: Context) -> None:
    """Writes down the export list: values, types, and the types whose members are all exported."""
    header = next((child for child in root.named_children if child.type == "header"), None)
    exports = None if header is None else header.child_by_field_name("exports")
    if exports is None:
        return
    names: list[tuple[str, str]] = []
    for export in exports.named_children:
        if export.type == "module_export" and context.field_text(export, "module") == ".".join(context.module):
            return
        value = export.child_by_field_name("variable") or export.child_by_field_name("operator")
        if value is not None:
            names.append(("value", bare(value, context)))
        exported = export.child_by_field_name("type")
        if exported is None:
            continue
        kind = "value" if context.field_text(export, "namespace") == "pattern" else "type"
        names.append((kind, bare(exported, context)))
        members = export.child_by_field_name("children")
        for member in [] if members is None else members.named_children:
            if member.type == "all_names":
                names.append(("all", bare(exported, context)))
            else:
                # A constructor, a method or an associated type: the list does not say which.
                names.extend((space, bare(member, context)) for space in ("value", "type"))
    context.notes["exports",] = ""
    for kind, name in names:
        context.notes["export", kind, name] = ""


def visibility_of(name: str, kind: str, context: Context, owner: str = "") -> Visibility:
    notes = context.notes
    is_public = ("exports",) not in notes or ("export", kind, name) in notes or (owner and ("export", "all", owner) in notes)
    return "public" if is_public else "private"


def bare(node: Node, context: Context) -> str:
    """`(<+>)` and `` `op` `` without what makes them prefix or infix; the last part of a qualified name."""
    while node.type == "qualified":
        last = node.child_by_field_name("id")
        if last is None:
            return context.text(node)
        node = last
    text = context.text(node)
    return text.strip("()` \n") if node.type in ("prefix_id", "infix_id") else text
