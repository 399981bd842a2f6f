"""Follows module paths of Rust (`crate::a::b`) from file to file, by the `mod` declarations in them and by location.

A `mod x;` leads to the file that it resolves to, which may have any name (`#[path = "y.rs"] mod x;`).
"""

from collections.abc import Callable, Sequence
from typing import Final

KEYWORDS: Final = frozenset({"crate", "self", "super"})

HasFile = Callable[[str], bool]
Submodules = Callable[[str, str], Sequence[str]]
"""Takes a file and the name of a module; returns the files of that module."""


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
