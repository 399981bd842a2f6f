"""JavaScript and TypeScript: relative files without extensions, aliases, packages of the workspace."""

from collections.abc import Collection, Iterator
from typing import Final

from codecompass.languages.ecmascript.ecmascript_configuration import BUILD_DIRECTORIES, NODE, ecmascript_roots, with_inherited
from codecompass.languages.imports.path_index import ModuleRoot, ModuleRoots, PathIndex
from codecompass.languages.imports.paths import (
    ancestors,
    dependency_tail,
    directory_of,
    join,
    last_part,
    shared_parts,
    stem_of,
    tail_of,
)
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

_TYPED: Final = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte", ".astro")
_PLAIN: Final = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".json", ".vue", ".svelte", ".astro")
_SOURCES_OF: Final = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts", ".d.mts"), ".cjs": (".cts", ".d.cts")}
"""TypeScript imports name the file that the build will write."""

_MAX_CANDIDATES: Final = 100
"""Paths tried for one name. Only generated configuration has more."""

_TYPED_IMPORTERS: Final = (".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".astro", ".mdx")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of a relative path joined with the importer's directory; for a name its last part."""
    spec = _path_or_name(item.spec)
    if not spec.startswith("."):
        return (tail_of(last_part(spec.rstrip("/"))),)
    path = join(directory_of(from_path), spec)
    if path is None:
        return ()
    built = (tail_of(last_part(path)),) if _sources_of_built(path) else ()
    return tuple(dict.fromkeys((dependency_tail(path) or "index", *built)))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file, or the directory of a package of the workspace whose entry is not in the repository."""
    spec = _path_or_name(item.spec)
    if not spec:
        return ""
    is_typed = from_path.endswith(_TYPED_IMPORTERS)
    if not spec.startswith("."):
        return _resolve_name(spec, from_path, is_typed, paths)
    path = join(directory_of(from_path), spec)
    if path is None:
        return ""
    if last_part(spec) in ("", ".", ".."):
        return _directory(path, is_typed, paths)
    if not paths.files_with_tail(tail_of(last_part(path))):
        return ""
    found = _file(path, is_typed, paths) or _directory(path, is_typed, paths)
    return found or next((found for source in _sources_of_built(path) if (found := _file(source, is_typed, paths))), "")


def _sources_of_built(path: str) -> tuple[str, ...]:
    """Returns where the source of a file may be that a build writes: `core/dist/util` is usually built from `core/src/util`."""
    parts = path.split("/")
    for position in range(len(parts) - 2, -1, -1):
        if parts[position] in BUILD_DIRECTORIES:
            above, below = parts[:position], parts[position + 1 :]
            return "/".join([*above, "src", *below]), "/".join([*above, *below])
    return ()


def configured_tails(changed: Collection[str], paths: PathIndex) -> Iterator[str]:
    """Yields the tails of imports that lead to the files of `changed` under another name: entries of packages, aliases."""
    roots = paths.roots(NODE)
    for path in changed:
        yield from _tails_of_file(path, roots)


def _tails_of_file(path: str, roots: ModuleRoots) -> Iterator[str]:
    stem = stem_of(path)
    stems = {stem, stem[:-6]} if stem.endswith("/index") else {stem, ""} if stem == "index" else {stem}
    for target in stems:
        for root in roots.by_stem.get(target, ()):
            yield tail_of(last_part(root.prefix))
            yield from _directory_importers(root, roots)
    for target in stems:
        for root in (root for directory in ancestors(target) for root in roots.wildcards.get(directory, ())):
            head, _, rest = root.directory.partition("*")
            # As in `stem_of`, only the last part is cut at its first dot.
            slash = rest.rfind("/") + 1
            rest = rest[:slash] + rest[slash:].partition(".")[0]
            if target.startswith(head) and target.endswith(rest) and len(target) > len(head) + len(rest):
                matched = target[len(head) : len(target) - len(rest)]
                yield tail_of(last_part(root.prefix.replace("*", matched).rstrip("/")))


def _directory_importers(root: ModuleRoot, roots: ModuleRoots) -> Iterator[str]:
    """Yields the tails of imports of a package's directory (`require("..")`), which lead to its entry."""
    for package in roots.by_prefix.get(root.prefix, ()):
        if package.directory.endswith("/") or not package.directory:
            yield dependency_tail(package.directory) or "index"


def _path_or_name(spec: str) -> str:
    """Returns what is imported without loader and query; empty for anything but a path or package (`node:fs`, a URL)."""
    if "!" in spec:
        spec = last_part(spec, "!")
    if "?" in spec:
        spec = spec.partition("?")[0]
    return "" if ":" in spec or spec.startswith("/") else spec


def _resolve_name(spec: str, from_path: str, is_typed: bool, paths: PathIndex) -> str:
    roots = paths.roots(NODE)
    package = ""
    for path in _configured_paths(spec, from_path, roots):
        if not path or path.endswith("/"):
            package = package or path or "/"
            continue
        found = _file_or_index(path, is_typed, paths)
        if found:
            return found
    if package:
        return package
    if spec.startswith(("@/", "~/")):
        # Not a valid package name, but the usual alias for the source directory in the configuration of bundlers.
        for directory in ancestors(from_path):
            for path in (f"{directory}src/{spec[2:]}", directory + spec[2:]):
                found = _file_or_index(path, is_typed, paths)
                if found:
                    return found
    return ""


def _configured_paths(spec: str, from_path: str, roots: ModuleRoots) -> Iterator[str]:
    """Yields the paths that the configuration maps a name to, the most specific first."""
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
        # Of several packages with one name, the nearest is meant.
        matches.sort(key=lambda match: (*_specificity(match), -shared_parts(match[0].directory, from_path)))
    for root, matched in matches[:_MAX_CANDIDATES]:
        path = root.directory.replace("*", matched)
        if ".." not in matched or (joined := join("", path)) is None:
            yield path
        else:
            yield joined


def _specificity(match: tuple[ModuleRoot, str]) -> tuple[int, bool, int, int]:
    root, matched = match
    return -len(root.scope), matched != "", -len(root.prefix), root.rank


def _file(path: str, is_typed: bool, paths: PathIndex) -> str:
    dot = path.rfind(".")
    sources = _SOURCES_OF.get(path[dot:], ()) if dot > 0 else ()
    if is_typed:
        for extension in sources:
            if paths.has_file(path[:dot] + extension):
                return path[:dot] + extension
    if paths.has_file(path):
        return path
    for extension in _TYPED if is_typed else _PLAIN:
        if paths.has_file(path + extension):
            return path + extension
    if not is_typed:
        for extension in sources:
            if paths.has_file(path[:dot] + extension):
                return path[:dot] + extension
    return ""


def _directory(path: str, is_typed: bool, paths: PathIndex) -> str:
    """Returns the file that an import of a directory leads to: the entry of its package, else its index file."""
    directory = path.rstrip("/") + "/" if path else ""
    roots = paths.roots(NODE)
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


def _file_or_index(path: str, is_typed: bool, paths: PathIndex) -> str:
    return _file(path, is_typed, paths) or _index(path.rstrip("/") + "/", is_typed, paths)


_ENDINGS: Final = (
    *(".d.ts", ".d.mts", ".d.cts", ".tsx", ".ts", ".mts", ".cts"),
    *(".jsx", ".js", ".mjs", ".cjs", ".es6", ".vue", ".svelte", ".astro", ".mdx"),
)


def ecmascript_module(path: str) -> tuple[str, ...]:
    """Returns the path without `src/`, extension and a last `index`: `packages/ui/src/menu/index.ts` is `packages.ui.menu`."""
    for ending in _ENDINGS:
        if path.endswith(ending):
            path = path[: -len(ending)]
            break
    parts = path.split("/")
    if "src" in parts[:-1]:
        parts.remove("src")
    if parts[-1] == "index" and len(parts) > 1:
        parts.pop()
    return tuple(parts)


ECMASCRIPT_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=NODE,
    family=("astro", "javascript", "mdx", "svelte", "tsx", "typescript", "vue"),
    configured_tails=configured_tails,
    configuration=ecmascript_roots,
    completed_roots=with_inherited,
)
