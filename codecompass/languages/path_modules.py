"""Derives the module of a file from its path, for the languages in which qualified names begin with it. Pure functions."""

from collections.abc import Callable, Mapping
from typing import Final

_SOURCE_DIRECTORIES: Final = frozenset({"src", "lib"})
_SWIFT_ROOTS: Final = frozenset({"Sources", "Tests"})
_ECMASCRIPT_ENDINGS: Final = (
    *(".d.ts", ".d.mts", ".d.cts", ".tsx", ".ts", ".mts", ".cts"),
    *(".jsx", ".js", ".mjs", ".cjs", ".es6", ".vue", ".svelte", ".astro"),
)


def python_module(path: str) -> tuple[str, ...]:
    """Returns the dotted module of a path: `src/pkg/mod.py` is `pkg.mod`, `pkg/__init__.py` is `pkg`."""
    parts = path.rsplit(".", 1)[0].split("/")
    if len(parts) > 1 and parts[0] in _SOURCE_DIRECTORIES:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return tuple(parts)


def rust_module(path: str) -> tuple[str, ...]:
    """Returns the module path of a file: `src/auth/jwt.rs` is `auth::jwt`, `net/src/io/mod.rs` is `net::io`.

    The crate's name is the directory above `src`; a crate at the root has none.
    """
    parts = path.removesuffix(".rs").split("/")
    if "src" in parts[:-1]:
        at = len(parts) - 2 - parts[-2::-1].index("src")
        parts = [part.replace("-", "_") for part in parts[max(at - 1, 0) : at]] + parts[at + 1 :]
    if parts[-1] in ("mod", "lib", "main") and (len(parts) > 1 or "/" in path):
        parts = parts[:-1]
    return tuple(part for part in parts if part)


def lua_module(path: str) -> tuple[str, ...]:
    """Returns the name by which the file is required: `lua/a/b.lua` and `x/lua/a/b/init.lua` are `a.b`."""
    parts = path.rsplit(".", 1)[0].split("/")
    if "lua" in parts[:-1]:
        parts = parts[len(parts) - parts[::-1].index("lua") :]
    elif len(parts) > 1 and parts[0] in _SOURCE_DIRECTORIES:
        parts = parts[1:]
    if parts[-1] == "init" and len(parts) > 1:
        parts = parts[:-1]
    return tuple(parts)


def swift_module(path: str) -> tuple[str, ...]:
    """Returns the module: by convention the directory below `Sources` or `Tests`."""
    parts = path.split("/")
    for index, part in enumerate(parts[:-2]):
        if part in _SWIFT_ROOTS:
            return (parts[index + 1],)
    return ()


def zig_module(path: str) -> tuple[str, ...]:
    """Returns the path without its extension and source directory: a file is a struct with its name."""
    parts = path.rsplit(".", 1)[0].split("/")
    return tuple(parts[1:] if len(parts) > 1 and parts[0] in _SOURCE_DIRECTORIES else parts)


def ecmascript_module(path: str) -> tuple[str, ...]:
    """Returns the path without `src/`, extension and a last `index`: `packages/ui/src/menu/index.ts` is `packages.ui.menu`."""
    for ending in _ECMASCRIPT_ENDINGS:
        if path.endswith(ending):
            path = path[: -len(ending)]
            break
    parts = path.split("/")
    if "src" in parts[:-1]:
        parts.remove("src")
    if parts[-1] == "index" and len(parts) > 1:
        parts.pop()
    return tuple(parts)


PATH_MODULES: Final[Mapping[str, Callable[[str], tuple[str, ...]]]] = {
    "astro": ecmascript_module,
    "javascript": ecmascript_module,
    "jupyter": python_module,
    "lua": lua_module,
    "python": python_module,
    "rust": rust_module,
    "svelte": ecmascript_module,
    "swift": swift_module,
    "tsx": ecmascript_module,
    "typescript": ecmascript_module,
    "vue": ecmascript_module,
    "zig": zig_module,
}
"""By language."""

SEPARATORS: Final[Mapping[str, str]] = {"rust": "::"}
"""The separator between the parts of a qualified name, by language; a dot for the others."""


def moved_name(language: str, old_path: str, new_path: str, qualified_name: str) -> str | None:
    """Returns the qualified name of a definition after its file moved from `old_path` to `new_path`.

    None if the names alone do not determine it.
    """
    separator = SEPARATORS.get(language, ".")
    old, new = (separator.join(PATH_MODULES[language](path)) for path in (old_path, new_path))
    if old == new:
        return qualified_name
    if not old or not new or not qualified_name.startswith(old + separator):
        return None
    return new + qualified_name[len(old) :]
