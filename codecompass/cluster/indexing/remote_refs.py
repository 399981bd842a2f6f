"""Parses the refs that `git ls-remote` prints, and selects those that are wanted. Pure."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from blake3 import blake3
from msgspec import Struct

MAX_REFS: Final = 50
"""Refs of one repository. Each has its own index, which shares what does not differ."""

DEFAULT_REF: Final = "HEAD"

_BRANCHES: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_PEELED: Final = "^{}"
_PATTERN: Final = re.compile(r"[*?\[]")
_OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ALLOWED: Final = re.compile(r"refs/(?!.*(?:\.\.|@\{|//))[^\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]{1,240}")
_NUMBER: Final = re.compile(r"(\d+)")


class RemoteRef(Struct, frozen=True):
    """A ref of a remote."""

    name: str
    """Short name, for people."""
    reference: str
    """Full name, such as `refs/heads/main`."""
    object_id: str
    """Of the commit, even if the ref is an annotated tag."""

    @property
    def local(self) -> str:
        """The ref in a mirror. It is a hash, because names can clash (`a` and `a/b`, or `A` and `a` on some disks)."""
        return f"refs/wanted/{blake3(self.reference.encode('utf-8', 'surrogateescape')).hexdigest(16)}"


class Listing(Struct, frozen=True):
    """The refs that a remote has listed."""

    default: str
    """Full name of the branch that its HEAD points to; empty if unknown."""
    refs: dict[str, str]
    """Object ids of commits by full names; `HEAD` is one of them."""


class Selection(Struct, frozen=True, kw_only=True):
    """The wanted refs of a remote."""

    refs: tuple[RemoteRef, ...]
    """The default first, the others in the order in which they were asked for."""
    default: str
    """Name of the ref that is used if a question names none; empty without refs."""
    missing: tuple[str, ...] = ()
    """Wanted names that the remote does not have."""
    n_left_out: int = 0
    """Number of matching refs beyond MAX_REFS."""

    @property
    def seen(self) -> dict[str, str]:
        """Object ids by short names."""
        return {ref.name: ref.object_id for ref in self.refs}


def listing_patterns(wanted: Sequence[str]) -> tuple[str, ...]:
    """Returns patterns for `git ls-remote --symref` that match at least the wanted refs."""
    patterns = [DEFAULT_REF]
    for name in wanted:
        if name == DEFAULT_REF:
            continue
        for full in (name,) if name.startswith("refs/") else (_BRANCHES + name, _TAGS + name):
            patterns += [full, full + _PEELED]
    return tuple(patterns)


def parse_listing(output: bytes) -> Listing:
    """Parses the output of `git ls-remote --symref`. Lines that describe no ref are ignored."""
    default = ""
    refs: dict[str, str] = {}
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        value, _, name = line.partition("\t")
        if name == DEFAULT_REF and value.startswith("ref: "):
            default = value.removeprefix("ref: ")
        elif _OBJECT_ID.fullmatch(value) and name:
            refs[name] = value
    # For an annotated tag, `name^{}` has the id of its commit.
    for name in [each for each in refs if each.endswith(_PEELED)]:
        refs[name.removesuffix(_PEELED)] = refs.pop(name)
    if default and (default not in refs and DEFAULT_REF in refs):
        refs[default] = refs[DEFAULT_REF]
    return Listing(default if default in refs else "", refs)


def select_refs(listing: Listing, wanted: Sequence[str]) -> Selection:
    """Returns the refs that `wanted` names; a branch if a tag has the same name; the default branch if `wanted` is empty.

    Refs that match a pattern are sorted in descending order, with numbers compared as numbers. If the remote's default branch is
    not wanted, the first ref is the default.
    """
    found: dict[str, RemoteRef] = {}
    missing = []
    n_left_out = 0
    for name in wanted or (DEFAULT_REF,):
        matches = list(_matches(listing, name))
        if not matches:
            missing.append(name)
        for ref in matches:
            if ref.reference in found:
                continue
            if len(found) >= MAX_REFS:
                n_left_out += 1
            else:
                found[ref.reference] = ref
    refs = sorted(found.values(), key=lambda ref: ref.reference != listing.default)
    return Selection(refs=_distinct(refs), default=refs[0].name if refs else "", missing=tuple(missing), n_left_out=n_left_out)


def _matches(listing: Listing, name: str) -> Iterable[RemoteRef]:
    if name == DEFAULT_REF:
        reference = listing.default or DEFAULT_REF
        if reference in listing.refs and (reference == DEFAULT_REF or _ALLOWED.fullmatch(reference)):
            yield _ref(reference, listing.refs[reference])
        return
    kinds = ("",) if name.startswith("refs/") else (_BRANCHES, _TAGS)
    if not _PATTERN.search(name):
        for kind in kinds:
            if kind + name in listing.refs and _ALLOWED.fullmatch(kind + name):
                yield _ref(kind + name, listing.refs[kind + name])
                return
        return
    for kind in kinds:
        matching = [each for each in listing.refs if fnmatchcase(each, kind + name) and _ALLOWED.fullmatch(each)]
        for each in sorted(matching, key=_version, reverse=True):
            yield _ref(each, listing.refs[each])


def _ref(reference: str, object_id: str) -> RemoteRef:
    return RemoteRef(_short(reference), reference, object_id)


def _short(reference: str) -> str:
    for kind in (_BRANCHES, _TAGS):
        if reference.startswith(kind):
            return reference.removeprefix(kind)
    return reference.removeprefix("refs/")


def _distinct(refs: Sequence[RemoteRef]) -> tuple[RemoteRef, ...]:
    """Returns the refs with unique names: a tag with the name of a branch gets its longer name."""
    taken: set[str] = set()
    named = []
    for ref in sorted(refs, key=lambda each: each.reference.startswith(_TAGS)):
        name = ref.name if ref.name not in taken else ref.reference.removeprefix("refs/")
        taken.add(name)
        named.append(RemoteRef(name, ref.reference, ref.object_id))
    order = {ref.reference: number for number, ref in enumerate(refs)}
    return tuple(sorted(named, key=lambda ref: order[ref.reference]))


def _version(reference: str) -> list[tuple[int, int, str]]:
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in _NUMBER.split(reference)]
