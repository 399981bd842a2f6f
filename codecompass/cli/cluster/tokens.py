"""Creates, lists, rotates and revokes the tokens of an organisation's servers."""

import time

from msgspec import Struct

from codecompass import formatting
from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import Cell, printable, write_table
from codecompass.cluster.access.tokens import SCOPES, SHOWN_ID_LENGTH, KnownToken, Scope, Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.catalog import prepare
from codecompass.formatting import iso_time


class TokenEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token as `--json` prints it, without its text. Times are ISO 8601 in UTC; `expires_at` is absent for one that does not
    expire, `last_used_at`, which may be an hour late, for one that was never used."""

    id: str
    name: str
    groups: tuple[str, ...]
    is_admin: bool = False
    scope: tuple[str, ...]
    created_at: str
    expires_at: str = ""
    has_expired: bool = False
    last_used_at: str = ""


class TokenList(Struct, frozen=True):
    """All tokens, ordered by name."""

    tokens: tuple[TokenEntry, ...]


class NewToken(Struct, frozen=True):
    """A new token with its text, which is shown only once."""

    name: str
    token: str


class RevokedTokens(Struct, frozen=True):
    """The tokens that were revoked."""

    revoked: tuple[TokenEntry, ...]


def add(
    invocation: Invocation,
    engine: Engine,
    name: str,
    groups: tuple[str, ...],
    days: int | None,
    *,
    is_admin: bool,
    scope: tuple[Scope, ...],
) -> int:
    """Creates a token and prints it. Only the token goes to stdout, so that it can be redirected."""
    prepare(engine)
    text = Tokens(engine).add(name, groups, days=days, is_admin=is_admin, scope=scope or SCOPES)
    _show_new(invocation, name, text)
    if not invocation.options.as_json:
        until = (
            "until it is revoked" if days is None else f"for {formatting.count(days, 'day')}; codecompass cluster token rotate"
        )
        invocation.terminal.note(f"Valid {until}{'' if days is None else ' makes its successor'}.", "dim")
    return failure.DONE


def rotate(invocation: Invocation, engine: Engine, which: str, days: int | None, grace_hours: int) -> int:
    """Replaces a token by a new one, and prints that."""
    text, old = Tokens(engine).rotate(which, days=days, grace_hours=grace_hours)
    _show_new(invocation, old.token.name, text)
    if not invocation.options.as_json:
        until = f"ends in {formatting.count(grace_hours, 'hour')} at the latest" if grace_hours else "is refused within seconds"
        invocation.terminal.note(f"The old one ({old.id[:SHOWN_ID_LENGTH]}) {until}.", "dim")
    return failure.DONE


def _show_new(invocation: Invocation, name: str, text: str) -> None:
    if invocation.options.as_json:
        invocation.print_json(NewToken(name, text))
        return
    invocation.terminal.line(text)
    invocation.terminal.note("Shown this once. Clients send it as the header Authorization: Bearer ...", "dim")


def list_tokens(invocation: Invocation, engine: Engine) -> int:
    """Prints all tokens, without their texts, which are not stored."""
    entries = tuple(_entry(each) for each in Tokens(engine).listed())
    if invocation.options.as_json:
        invocation.print_json(TokenList(entries))
    elif not entries:
        invocation.terminal.note("no tokens yet. Make one: codecompass cluster token add NAME --group GROUP")
    else:
        header = [Cell(text, ("dim",)) for text in ("NAME", "ID", "GROUPS", "FOR", "CREATED", "EXPIRES", "LAST USED")]
        write_table(invocation.terminal, [header, *(_row(each) for each in entries)])
    return failure.DONE


def revoke(invocation: Invocation, engine: Engine, which: str) -> int:
    """Revokes tokens by name or id, and prints which."""
    entries = tuple(_entry(each) for each in Tokens(engine).revoke(which))
    if invocation.options.as_json:
        invocation.print_json(RevokedTokens(entries))
    for each in () if invocation.options.as_json else entries:
        invocation.terminal.line(f"revoked {printable(each.name)} ({each.id[:SHOWN_ID_LENGTH]})")
    return failure.DONE


def _entry(known: KnownToken) -> TokenEntry:
    token = known.token
    return TokenEntry(
        id=known.id,
        name=token.name,
        groups=token.groups,
        is_admin=token.is_admin,
        scope=token.scope,
        created_at=iso_time(token.created_at),
        expires_at=iso_time(token.expires_at) if token.expires_at else "",
        has_expired=token.viewer(time.time()) is None,
        last_used_at=iso_time(token.used_at) if token.used_at else "",
    )


def _row(entry: TokenEntry) -> list[Cell]:
    groups = "all (administrator)" if entry.is_admin else ", ".join(entry.groups)
    expires = f"{entry.expires_at} (expired)" if entry.has_expired else entry.expires_at or "never"
    used = entry.last_used_at or "never"
    cells = (entry.name, entry.id[:SHOWN_ID_LENGTH], groups, ", ".join(entry.scope), entry.created_at, expires, used)
    return [Cell(printable(text)) for text in cells]
