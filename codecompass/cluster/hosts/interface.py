"""What is asked of a code host, whatever its kind: the repositories of an owner, each with the id that survives a rename.

A kind of host is a module with one `HostKind`; `kinds.py` lists them. It reads pages and turns them into `HostRepository`s, and
decides nothing: which of them are wanted is decided in `discovery.py`.
"""

import http.client
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from codecompass.remote.rest import Answer, RestClient, ServiceFailed

MAX_REPOSITORIES: Final = 20_000
MAX_PAGES: Final = 1_000
"""Of one owner. A host that goes on with pages is given up."""

PAGE: Final = 100
"""Repositories in one page, where the host lets its clients choose."""


class HostRepository(Struct, frozen=True, kw_only=True):
    """A repository as its host lists it."""

    host_id: str
    """The same after a rename or move; of hosts without such ids, its name."""
    name: str
    """With its owner: `shop/api`."""
    url: str
    """Address for `git fetch`, by https."""
    is_archived: bool = False
    is_fork: bool = False
    is_public: bool = False
    """Whether anybody may read it at the host, known there or not."""


ReadersOf = Callable[[HostRepository], Iterable[str]]
"""Returns the logins of those who may read all code of a repository, some more than once. Whoever the host does not clearly let
read it is left out. Remembers groups that it has read. Raises ServiceFailed."""


class HostKind(Struct, frozen=True, kw_only=True):
    """A kind of host."""

    name: str
    title: str
    hosts: tuple[str, ...]
    """Hosts on the internet that are of this kind."""
    api: Callable[[str, bool], str]
    """Returns the URL of the interface from `scheme://host` and whether there is a token."""
    headers: Callable[[str], Mapping[str, str]]
    """Returns the headers with a token, which is not empty."""
    list: Callable[[RestClient, str], Iterator[HostRepository]]
    """Yields all repositories of an owner. Raises ServiceFailed."""
    readers: Callable[[RestClient, str], ReadersOf]
    """Returns the readers of repositories of an owner, for one look. Raises ServiceFailed."""


PageT = TypeVar("PageT")


def decoded(body: bytes, decoder: "msgspec.json.Decoder[PageT]") -> PageT:
    """Returns a decoded answer. Raises ServiceFailed if it is not what this kind of host answers."""
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ServiceFailed("its answer is not that of this kind of host", http.client.OK) from error


def linked_pages(client: RestClient, path: str, decoder: "msgspec.json.Decoder[list[PageT]]") -> Iterator[PageT]:
    """Yields the items of all pages that are chained by the header `Link`."""
    yield from _pages_after(client, client.get(path), decoder)


def of_first_that_exists(
    client: RestClient, paths: tuple[str, ...], decoder: "msgspec.json.Decoder[list[PageT]]"
) -> Iterator[PageT]:
    """Yields the items of the first of `paths` that exists: an owner is an organisation or a user, and only the host knows."""
    for path in paths:
        try:
            first = client.get(path)
        except ServiceFailed as error:
            if error.status != http.client.NOT_FOUND or path == paths[-1]:
                raise
        else:
            yield from _pages_after(client, first, decoder)
            return


def _pages_after(client: RestClient, answer: Answer, decoder: "msgspec.json.Decoder[list[PageT]]") -> Iterator[PageT]:
    for _ in range(MAX_PAGES):
        yield from decoded(answer.body, decoder)
        path = answer.next_link
        if not path:
            return
        answer = client.get(path)
    raise ServiceFailed(f"it has more than {MAX_PAGES:,} pages")
