"""Which refs a remote has, as `git ls-remote` prints them, and which of them are wanted."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from blake3 import blake3
from msgspec import Struct

MAX_REFS: Final = 50
"""Of one repository. Each is an index of its own, though it shares what does not differ."""

DEFAULT_REF: Final = "HEAD"

_BRANCHES: Final = "refs/heads/"
_TAGS: Final = "refs/tags/"
_PEELED: Final = "^{}"
_PATTERN: Final = re.compile(r"[*?\[]")
_OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ALLOWED: Final = re.compile(r"refs/(?!.*(?:\.\.|@\{|//))[^\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]{1,240}")
_NUMBER: Final = re.compile(r"(\d+)")


class RemoteRef(Struct, frozen=True):
    """A ref of a remote. `name` is what people call it; `object_id` that of the commit, also for an annotated tag."""

    name: str
    reference: str
    object_id: str

    @property
    def local(self) -> str:
        """Where a mirror keeps it. Names of remotes can exclude each other (`a` and `a/b`, `A` and `a` on some disks)."""
        return f"refs/wanted/{blake3(self.reference.encode('utf-8', 'surrogateescape')).hexdigest(16)}"


class Listing(Struct, frozen=True):
    """What a remote said. `default` is the full name of the branch that its HEAD is; empty where it does not say, or has none."""

    default: str
    refs: dict[str, str]
    """Object ids of commits by full names; `HEAD` is one of them."""


class Selection(Struct, frozen=True, kw_only=True):
    """What of a remote is wanted, the default first, then as asked for. `missing` are wanted names that it does not have, and
    `n_left_out` how many refs more match than are taken."""

    refs: tuple[RemoteRef, ...]
    default: str
    """The name of the ref that answers where none is asked for; empty without refs."""
    missing: tuple[str, ...] = ()
    n_left_out: int = 0

    @property
    def seen(self) -> dict[str, str]:
        """Object ids by names."""
        return {ref.name: ref.object_id for ref in self.refs}


def listing_patterns(wanted: Sequence[str]) -> tuple[str, ...]:
    """Returns the patterns for `git ls-remote --symref` that find what is wanted, and more."""
    patterns = [DEFAULT_REF]
    for name in wanted:
        if name == DEFAULT_REF:
            continue
        for full in (name,) if name.startswith("refs/") else (_BRANCHES + name, _TAGS + name):
            patterns += [full, full + _PEELED]
    return tuple(patterns)


def parse_listing(output: bytes) -> Listing:
    """Returns what `git ls-remote --symref` printed. Lines that are none of a ref are passed over."""
    default = ""
    refs: dict[str, str] = {}
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        value, _, name = line.partition("\t")
        if name == DEFAULT_REF and value.startswith("ref: "):
            default = value.removeprefix("ref: ")
        elif _OBJECT_ID.fullmatch(value) and name:
            refs[name] = value
    # The line of what an annotated tag is of follows the tag's own.
    for name in [each for each in refs if each.endswith(_PEELED)]:
        refs[name.removesuffix(_PEELED)] = refs.pop(name)
    if default and (default not in refs and DEFAULT_REF in refs):
        refs[default] = refs[DEFAULT_REF]
    return Listing(default if default in refs else "", refs)


def select_refs(listing: Listing, wanted: Sequence[str]) -> Selection:
    """Returns the refs that `wanted` names: of branches and tags by the same name, the branch; without any, the default branch.

    Of those that match a pattern the highest come first, numbers counting as numbers. A default branch that is not wanted is
    not taken: then the first of the refs answers where none is asked for.
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
    """Gives a tag that is called like a branch its longer name."""
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
