"""nginx: servers by name, locations, upstreams, variables and zones; which location proxies to which upstream; included files."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.patterns import DOUBLE, HASH, SINGLE, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, braces

_HIDDEN: Final = any_of(r"(?<!\S)#[^\n]*+", DOUBLE, SINGLE)
_ARGUMENT: Final = r"(?:\"[^\"\n]*+\"|[^\s;{}\"]++)"

_heads: Final = braces(
    r"(?:^|[;{}])[ \t]*+(?:upstream[ \t]++\"?(?P<resource>(?<=\")[^\"\n]++|[^\s;{\"]++)|(?P<server>server)(?=\s*+\{)"
    r"|server_name[ \t]++(?P<name>[^;{}]++)"
    r"|location[ \t]++(?P<route>[^\s{};](?:[^{};\n]|\{\d++,?\d*+\})*?)\s*+(?=\{(?!\d++,?\d*+\}))"
    rf"|(?:map|geo|split_clients)(?:[ \t]++{_ARGUMENT})?[ \t]++\$(?P<var>\w++)(?=\s*+\{{)|\w*set\w*+[ \t]++\$(?P<var2>\w++)"
    r"|log_format[ \t]++(?P<key2>\w++)|(?P<key>(?:listen|root)\b))"
    r"|\b(?:keys_)?zone=(?P<zone>\w++)(?=:)",
    _HIDDEN,
    kinds={"server": "resource", "name": "resource", "zone": "resource"},
    scopes={"resource": "upstream", "server": "server_name", "name": "server_name", "zone": "zone"},
    imports=r"(?:^|[;{}])[ \t]*+include[ \t]++[\"']?([^;*\"'\n]++)(?=[;\"'])",
)
_WORD: Final = lazy.pattern(r"\S+")


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields definitions; a server is called by the first of its names, and the others are beside it."""
    items = list(_heads(text, path))
    servers: list[int] = []
    """The servers around an entry, by their places among the items."""
    dropped: set[int] = set()
    for place, item in enumerate(items):
        if not isinstance(item, Entry):
            continue
        while servers and items[servers[-1]].end <= item.start:  # type: ignore[union-attr]
            servers.pop()
        if item.name == "server" and item.scope == "server_name" and text.startswith("server", item.start):
            servers.append(place)
            dropped.add(place)
        elif item.scope == "server_name" and servers:
            server = items[servers[-1]]
            first = _WORD.search(item.name)
            if isinstance(server, Entry) and first is not None and servers[-1] in dropped:
                items[servers[-1]] = replace(server, name=first[0].strip("\"'"), signature=f"server_name {item.name}")
                dropped.discard(servers[-1])
    for place, item in enumerate(items):
        if place in dropped:
            continue
        if isinstance(item, Entry) and item.scope == "server_name" and not text.startswith("server", item.start):
            for word in list(_WORD.finditer(item.name))[1:]:
                start = item.start + word.start()
                yield replace(item, name=word[0].strip("\"'"), start=start, end=start + len(word[0]), scope="", doc="")
        else:
            yield item


NGINX = Language(
    outline=outline,
    separator=" ",
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "nginx",
        r"_pass[ \t]++(?:\w++://)?+(?!unix:|\d++\.)(?P<command>[\w.-]++)|\$\{?(?P<variable>[a-z_]\w*+)"
        r"|\b(?:limit_req|limit_conn|proxy_cache)[ \t]++(?:zone=)?(?P<command2>\w++)|[ \t](?P<command3>@[\w-]++)(?=[ \t]*+;)",
        any_of(HASH),
    ),
    display=Display(line_comment="#", lexer="nginx"),
)
