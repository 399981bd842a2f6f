"""Follows module paths of Rust (`crate::a::b`) from file to file, by the `mod` declarations in them and by location.

A `mod x;` leads to the file that it resolves to, which may have any name (`#[path = "y.rs"] mod x;`).
"""

from collections.abc import Sequence
from typing import Final

from codecompass.languages.module_paths import HasFile, ModulePaths, Submodules


def crate_file(path: str, has_file: HasFile) -> str:
    """Returns the root file of the crate of a file; the file itself in a directory whose files are crates, such as `tests`."""
    at = 0 if path.startswith("src/") else path.rfind("/src/") + 1
    if not path.startswith("src/", at) or path.startswith("src/bin/", at):
        return path
    names = ("main.rs", "lib.rs") if path.endswith("/main.rs") else ("lib.rs", "main.rs")
    return next((root for name in names if has_file(root := f"{path[:at]}src/{name}")), "")


def parent_file(path: str, has_file: HasFile) -> str:
    """Returns the file of the module around that of a file; empty if none is found."""
    directory, _, name = path.rpartition("/")
    if name in ("lib.rs", "main.rs"):
        return ""
    if name == "mod.rs":
        directory = directory.rpartition("/")[0]
    below = directory + "/" if directory else ""
    candidates = (f"{below}mod.rs", f"{directory}.rs", f"{below}lib.rs", f"{below}main.rs")
    return next((each for each in candidates if each != path and has_file(each)), "")


def module_file(path: Sequence[str], from_path: str, has_file: HasFile, submodules: Submodules) -> str:
    """Returns the file of the module that a path in a file outside inline modules names; empty if any step is not found."""
    current = from_path
    for position, name in enumerate(path):
        if name == "crate":
            current = crate_file(from_path, has_file) if position == 0 else ""
        elif name == "super":
            current = parent_file(current, has_file)
        elif name != "self":
            current = next(iter(submodules(current, name)), "")
        if not current:
            return ""
    return current


def steps(first: str, rest: Sequence[str], n_inline: int) -> tuple[list[str], list[str]]:
    """Returns the names that lead from a file to the module at the beginning of a path, and the steps after them. Each `super`
    leaves one of the inline modules, of which a file contains any number."""
    names = [first]
    while rest[: len(names)] and rest[len(names) - 1] == ".super":
        names.append("super")
    following = list(rest[len(names) - 1 :])
    n_inline = n_inline if first != "crate" else 0
    if n_inline and "super" not in names:
        return [], list(rest)
    return [*["self"] * min(n_inline, len(names)), *names[n_inline:]], following


def crate(path: str) -> str:
    """Returns the directory of the crate that a file belongs to."""
    return path.partition("/src/")[0]


def roots_of_crate(name: str) -> list[str]:
    """Returns the files that may be the root of a crate of the repository. A name in code has `_` for each `-` of the crate's."""
    directories = [f"{prefix}{each}/" for each in (name, name.replace("_", "-")) for prefix in ("", "crates/")]
    return [f"{directory}src/lib.rs" for directory in directories]


_OF_DIRECTORIES: Final = frozenset({"lib", "main", "mod"})
"""Files whose submodules are in the same directory."""


def directory_of(path: str) -> str:
    """Returns the directory that contains the submodules of a file."""
    directory, _, stem = path.removesuffix(".rs").rpartition("/")
    return directory if stem in _OF_DIRECTORIES else f"{directory}/{stem}"


def submodule_files(path: str, name: str) -> tuple[str, ...]:
    """Returns the files in which a submodule may be: macros hide many `mod x;`."""
    base = directory_of(path)
    return (f"{base}/{name}.rs", f"{base}/{name}/mod.rs")


def is_file_of(path: str, name: str) -> bool:
    """Whether a path is that of the file of a module with this name."""
    return path.endswith((f"/{name}.rs", f"/{name}/mod.rs"))


MODULE_PATHS: Final = ModulePaths(
    roots=frozenset({"crate", "self", "super"}),
    separator="::",
    standard=frozenset({"alloc", "core", "std"}),
    steps=steps,
    file_of=module_file,
    package_of=crate,
    package_roots=roots_of_crate,
    directory_of=directory_of,
    submodule_files=submodule_files,
    is_file_of=is_file_of,
)
