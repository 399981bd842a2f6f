"""JavaScript and TypeScript: relative files with the extensions left out, aliases, packages of the workspace."""

from collections.abc import Iterator
from typing import Final

from codecompass.imports.paths import ancestors, awaited_tail, directory_of, join, last_part, shared_parts, stem_of, tail_of
from codecompass.imports.repository import ModuleRoot, PathIndex, Roots
from codecompass.languages.records import Import

ECOSYSTEM: Final = "node"

_TYPED: Final = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte")
_PLAIN: Final = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".json", ".vue", ".svelte")
_SOURCES_OF: Final = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts", ".d.mts"), ".cjs": (".cts", ".d.cts")}
"""TypeScript names the file that will have been built."""

_MAX_PLACES: Final = 100
"""Places tried for one name. Configuration that gives more is generated."""

_TYPED_IMPORTERS: Final = (".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the place that a relative path spells, of a name only its last part."""
    spec = _clean(item.spec)
    if not spec.startswith("."):
        return (tail_of(last_part(spec.rstrip("/"))),)
    place = join(directory_of(from_path), spec)
    return () if place is None else (awaited_tail(place) or "index",)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file; a package of the workspace whose entry is not in the repository is its directory."""
    spec = _clean(item.spec)
    if not spec:
        return ""
    is_typed = from_path.endswith(_TYPED_IMPORTERS)
    if not spec.startswith("."):
        return _named(spec, from_path, is_typed, paths)
    place = join(directory_of(from_path), spec)
    if place is None:
        return ""
    if last_part(spec) in ("", ".", ".."):
        return _directory(place, is_typed, paths)
    if not paths.files_with_tail(tail_of(last_part(place))):
        return ""
    return _file(place, is_typed, paths) or _directory(place, is_typed, paths)


def configured_tails(path: str, paths: PathIndex) -> Iterator[str]:
    """Yields the tails of imports that lead to `path` through a name unlike its own: entries of packages, aliases."""
    stem = stem_of(path)
    stems = {stem, stem[:-6]} if stem.endswith("/index") else {stem, ""} if stem == "index" else {stem}
    roots = paths.roots(ECOSYSTEM)
    for place in stems:
        for root in roots.by_stem.get(place, ()):
            yield tail_of(last_part(root.prefix))
            yield from _directory_importers(root, roots)
    for place in stems:
        for root in (root for directory in ancestors(place) for root in roots.wildcards.get(directory, ())):
            head, _, rest = root.directory.partition("*")
            # As in the stem: only the last part loses what follows its first dot.
            slash = rest.rfind("/") + 1
            rest = rest[:slash] + rest[slash:].partition(".")[0]
            if place.startswith(head) and place.endswith(rest) and len(place) > len(head) + len(rest):
                matched = place[len(head) : len(place) - len(rest)]
                yield tail_of(last_part(root.prefix.replace("*", matched).rstrip("/")))


def _directory_importers(root: ModuleRoot, roots: Roots) -> Iterator[str]:
    """`require("..")` in a package leads to its entry, by the name of its directory."""
    for package in roots.by_prefix.get(root.prefix, ()):
        if package.directory.endswith("/") or not package.directory:
            yield awaited_tail(package.directory) or "index"


def _clean(spec: str) -> str:
    """Returns the path without loader and query; empty for what is no path (`node:fs`, an address, a template)."""
    if "!" in spec:
        spec = last_part(spec, "!")
    if "?" in spec:
        spec = spec.partition("?")[0]
    return "" if ":" in spec or spec.startswith("/") else spec


def _named(spec: str, from_path: str, is_typed: bool, paths: PathIndex) -> str:
    roots = paths.roots(ECOSYSTEM)
    package = ""
    for place in _mapped(spec, from_path, roots):
        if not place or place.endswith("/"):
            package = package or place or "/"
            continue
        found = _file_or_index(place, is_typed, paths)
        if found:
            return found
    if package:
        return package
    if spec.startswith(("@/", "~/")):
        # No package can have such a name: it is the alias of the sources that bundlers are configured for.
        for directory in ancestors(from_path):
            for place in (f"{directory}src/{spec[2:]}", directory + spec[2:]):
                found = _file_or_index(place, is_typed, paths)
                if found:
                    return found
    return ""


def _mapped(spec: str, from_path: str, roots: Roots) -> Iterator[str]:
    """Yields where the configuration says that a name leads, the most specific first."""
    matches: list[tuple[ModuleRoot, str]] = []
    for scope in ancestors(from_path):
        matches += [(root, "") for root in roots.by_name.get((scope, spec), ())]
        for length in roots.head_lengths.get(scope, ()):
            if length >= len(spec):
                continue
            for root in roots.by_head.get((scope, spec[:length]), ()):
                rest = root.prefix[length + 1 :]
                if spec.endswith(rest) and len(spec) > length + len(rest):
                    matches.append((root, spec[length : len(spec) - len(rest)]))
    matches.sort(key=_specificity)
    if len({(root.prefix, root.rank) for root, _ in matches}) < len(matches):
        # Two packages of one name: the nearer one is meant.
        matches.sort(key=lambda match: (*_specificity(match), -shared_parts(match[0].directory, from_path)))
    for root, matched in matches[:_MAX_PLACES]:
        place = root.directory.replace("*", matched)
        if ".." not in matched or (joined := join("", place)) is None:
            yield place
        else:
            yield joined


def _specificity(match: tuple[ModuleRoot, str]) -> tuple[int, bool, int, int]:
    root, matched = match
    return -len(root.scope), matched != "", -len(root.prefix), root.rank


def _file(place: str, is_typed: bool, paths: PathIndex) -> str:
    dot = place.rfind(".")
    sources = _SOURCES_OF.get(place[dot:], ()) if dot > 0 else ()
    if is_typed:
        for extension in sources:
            if paths.has_file(place[:dot] + extension):
                return place[:dot] + extension
    if paths.has_file(place):
        return place
    for extension in _TYPED if is_typed else _PLAIN:
        if paths.has_file(place + extension):
            return place + extension
    if not is_typed:
        for extension in sources:
            if paths.has_file(place[:dot] + extension):
                return place[:dot] + extension
    return ""


def _directory(place: str, is_typed: bool, paths: PathIndex) -> str:
    """Returns what stands for a directory: the entry of the package that it is, else its index file."""
    directory = place.rstrip("/") + "/" if place else ""
    roots = paths.roots(ECOSYSTEM)
    for package in roots.by_directory.get(directory, ()):
        if package.directory == directory:
            for root in roots.by_prefix[package.prefix]:
                inside = root.directory.startswith(directory) and len(root.directory) > len(directory)
                found = _file(root.directory, is_typed, paths) if inside else ""
                if found:
                    return found
    return _index(directory, is_typed, paths)


def _index(directory: str, is_typed: bool, paths: PathIndex) -> str:
    for extension in _TYPED if is_typed else _PLAIN:
        if paths.has_file(f"{directory}index{extension}"):
            return f"{directory}index{extension}"
    return ""


def _file_or_index(place: str, is_typed: bool, paths: PathIndex) -> str:
    return _file(place, is_typed, paths) or _index(place.rstrip("/") + "/", is_typed, paths)
