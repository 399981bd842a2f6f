"""YAML by what it means: jobs of GitHub Actions and GitLab CI, services of Compose, manifests of Kubernetes, OpenAPI; of other
files the keys to a bounded depth."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.configuration.keys import MAX_DEPTH, MAX_KEYS, Node, has_keys, keys
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import SymbolKind
from codecompass.languages.schemas.openapi import DEPTH, described_api, is_described
from codecompass.languages.templates.template_tags import go_calls
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry
from codecompass.languages.words import word_set

_LINE: Final = lazy.pattern(
    r"(?m)^(?P<indent>[ ]*+)(?:(?P<item>-)(?=\s)|(?P<key>\"[^\"\n]*+\"|'[^'\n]*+'"
    r"|[^\s#:{}\[\],&*!|>'\"%@`-][^#:\n]*+(?>(?:[:#](?!\s|$)[^#:\n]*+)*))"
    r"[ \t]*+:(?=\s|$)(?:[ \t]*+(?P<block>[|>][-+\d]*+)[ \t]*+(?:#[^\n]*+)?$)?|(?P<end>---|\.\.\.)(?=\s|$))"
)
_WORKFLOW: Final = lazy.pattern(r"(?:^|/)\.(?:github|gitea|forgejo)/workflows/[^/]++$")
_GITLAB: Final = lazy.pattern(r"(?:^|/)\.gitlab-ci(?:[.\w-]*+)$|\.gitlab-ci\.ya?ml$|(?:^|/)\.gitlab/ci/")
_COMPOSE: Final = lazy.pattern(r"(?:^|/)(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml$")
_FLOW_NAME: Final = lazy.pattern(r"[ \t]*+\{(?:[^{}\n]*?,)??[ \t]*+name[ \t]*+:[ \t]++[\"']?(?P<name>[\w.-]++)")
_TEMPLATED: Final = lazy.pattern(r"[ \t]*+[\"']?(?P<name>[^\s{]*+\{\{[^\n]*\}\}[\w.-]*+)")
"""A name in a template of Helm."""
_GITLAB_WORDS: Final = word_set("default include stages variables workflow image services cache before_script after_script spec")


def nodes(text: str, depth: int) -> list[Node]:
    """Returns the keys that are at most `depth` deep and in no list."""
    found: list[Node] = []
    open_: list[tuple[int, int]] = []
    """For each mapping around the line, its indent and the number of the key; -1 for an item of a list, or a key too deep."""
    document, literal = 0, -1
    for match in _LINE.finditer(text):
        indent = len(match["indent"])
        if 0 <= literal < indent:
            continue
        literal = -1
        if match["end"] is not None and not indent:
            document, indent = document + 1, -1
        is_item = match["item"] is not None
        # The items of a list may be indented like the key that it belongs to.
        while open_ and (open_[-1][0] > indent or (open_[-1][0] == indent and (not is_item or open_[-1][1] < 0))):
            number = open_.pop()[1]
            if number >= 0:
                found[number] = replace(found[number], end=match.start())
        if match["key"] is None:
            open_ += [(indent, -1)] * is_item
            continue
        around = open_[-1][1] if open_ else None
        if around is None or (around >= 0 and len(found[around].path) < depth):
            path = (() if around is None else found[around].path) + (match["key"].strip("\"' "),)
            open_.append((indent, len(found)))
            found.append(Node(path, match.start("key"), match.end("key") + 1, len(text), document))
        else:
            open_.append((indent, -1))
        literal = indent if match["block"] is not None else -1
    return found


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields what a file means, or its keys."""
    if is_described(text):
        yield from described_api(nodes(text, DEPTH), text)
        return
    if not has_keys(text, path):
        return
    found = nodes(text, MAX_DEPTH)
    top = {node.path[0] for node in found}
    if "jobs" in top and _WORKFLOW.search(path) is not None:
        yield from _below(found, {"jobs": "target"})
    elif _COMPOSE.search(path) is not None and "services" in top:
        yield from _below(
            found, {"services": "resource", "volumes": "key", "networks": "key", "secrets": "key", "configs": "key"}
        )
    elif _GITLAB.search(path) is not None:
        for node in found[:MAX_KEYS]:
            if len(node.path) == 1:
                yield Entry(node.path[0], "key" if node.path[0] in _GITLAB_WORDS else "target", node.start, node.end, doc="")
    elif {"apiVersion", "kind"} <= top:
        yield from _manifests(found, text)
    else:
        yield from keys(node for node in found if node.path[-1] != "<<")


def _below(found: list[Node], kinds: dict[str, SymbolKind]) -> Iterator[Entry]:
    """Yields the keys directly below some keys at the top."""
    for node in found:
        if len(node.path) == 2 and node.path[0] in kinds:
            yield Entry(node.path[1], kinds[node.path[0]], node.start, node.end, node.path[0], doc="")


def _manifests(found: list[Node], text: str) -> Iterator[Entry]:
    """Yields the objects of Kubernetes: one a document, qualified by its kind (`Deployment.web`)."""
    documents: dict[int, dict[tuple[str, ...], Node]] = {}
    for node in found:
        documents.setdefault(node.document, {}).setdefault(node.path, node)
    for of in documents.values():
        kind, name = of.get(("kind",)), _name_of_object(of, text)
        if kind is not None and name and "apiVersion" in {path[0] for path in of}:
            start, end = min(node.start for node in of.values()), max(node.end for node in of.values())
            named = f"{kind.text(text)} {name}"
            yield Entry(name, "resource", start, end, kind.text(text), signature=named, doc="")


def _name_of_object(of: dict[tuple[str, ...], Node], text: str) -> str:
    """Returns the name in the metadata, also if these are written in one line; empty if there is none."""
    if (name := of.get(("metadata", "name"))) is not None:
        templated = _TEMPLATED.match(text, name.value)
        return name.text(text) if templated is None else templated["name"]
    metadata = of.get(("metadata",))
    found = None if metadata is None else _FLOW_NAME.match(text, metadata.value)
    return "" if found is None else found["name"]


YAML = Language(
    outline=outline,
    comment_starts=(b"#",),
    uses=references(
        "schema",
        r"\$ref[\"']?[ \t]*+:[ \t]*+[\"']?[^\"'\s]*[/#](?P<command>[\w.-]++)"
        r"|^[ \t-]*+(?:needs|extends|depends_on|dependencies|stage)[ \t]*+:[ \t]*+\[?"
        r"(?P<command2>[\w.-]++(?>(?:[ \t]*+,[ \t]*+[\w.-]++)*))"
        rf"|{go_calls}",
    ),
    display=Display(line_comment="#", lexer="yaml"),
)
