"""How paths of modules (`crate::a::b`) lead to files, for languages that name modules by paths."""

from collections.abc import Callable, Sequence

from msgspec import Struct

HasFile = Callable[[str], bool]
Submodules = Callable[[str, str], Sequence[str]]
"""Takes a file and the name of a module; returns the files of that module."""


class ModulePaths(Struct, frozen=True, kw_only=True):
    """The rules for paths of modules of one language. The functions know nothing of the files of a repository but what they are
    given."""

    roots: frozenset[str]
    """First names of a path that say where it begins: at the root of the package, at the module itself, at the one around it."""
    separator: str
    """Separates the names of a path."""
    standard: frozenset[str]
    """First names of paths that lead out of the repository into the standard library."""
    steps: Callable[[str, Sequence[str], int], tuple[list[str], list[str]]]
    """Takes a root, the steps after it (`.name`) and the number of inline modules around; returns the names that lead from the
    file to a module's file, and the steps after them. No names: the path leads to an inline module of the same file."""
    file_of: Callable[[Sequence[str], str, HasFile, Submodules], str]
    """Returns the file of the module that a path names, in a file outside inline modules; '' if any step is not found."""
    package_of: Callable[[str], str]
    """Returns the directory of the package that a file belongs to."""
    package_roots: Callable[[str], Sequence[str]]
    """Returns the files of which the first that exists is the root of the package with a name."""
    directory_of: Callable[[str], str]
    """Returns the directory that contains the submodules of a file."""
    submodule_files: Callable[[str, str], Sequence[str]]
    """Returns the files in which the submodule of a file with a name may be."""
    is_file_of: Callable[[str, str], bool]
    """Whether a path is that of the file of a module with a name."""
