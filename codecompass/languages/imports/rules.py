"""What the engine of imports asks a language: the form in which each language says how its import statements lead to files."""

from collections.abc import Callable, Collection, Iterable, Iterator

from msgspec import Struct

from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.records import Import


class Packages(Struct, frozen=True, kw_only=True):
    """For languages in which a package is a directory, which an import may lead to."""

    extensions: tuple[str, ...]
    """Of the files that make their directory a package, without a dot."""
    directory: Callable[[str], str | None] | None = None
    """Returns the directory of the package of a file (ends in `/`), None for a file without one. By default the file's own."""
    are_found_by_name: bool = False
    """Whether packages are looked for by the name of their directory, because no file says where they begin."""
    hide_files: bool = False
    """Whether no import names a single file of a package, so that files are not looked for at all."""
    tails: Callable[[str, PathIndex], Iterator[str]] | None = None
    """Yields the tails of the imports that may lead to a package directory; by default they follow from its path."""


class ImportRules(Struct, frozen=True, kw_only=True):
    """The imports of one language, or of a family of languages that import each other's files.

    The invariant that `tails`, `configured_tails` and `Packages.tails` must keep together is at the top of `resolution.py`.
    """

    tails: Callable[[Import, str], tuple[str, ...]]
    """Returns the tails on which the target of an import in the file of the given path depends: at most two, empty ones do not
    count."""
    resolve: Callable[[Import, str, PathIndex], str]
    """Returns the target of an import in the file of the given path, as `resolution.resolve` does."""
    ecosystem: str = ""
    """The ecosystem (`ecosystems.py`) of the module roots and packages; empty for a language without either."""
    family: tuple[str, ...] = ()
    """The languages whose imports depend on the module roots of the ecosystem, if they are more than the one that reads them."""
    packages: Packages | None = None
    importers: tuple[str, ...] = ()
    """The languages whose imports of a directory concern every file of this language in it."""
    is_part_of_outer_packages: bool = False
    """Whether imports of all directories above a file concern it, not only those of its own directory."""
    are_same_in_directory: bool = False
    """Whether tails and target of an import follow from its spec and the directory of the importing file alone."""
    configured_tails: Callable[[Collection[str], PathIndex], Iterator[str]] | None = None
    """Yields the tails of imports that depend on changed files (of any language) without being named like them: by configuration,
    or because a file decides where modules begin."""
    configuration: Callable[[str, bytes], Iterator[ModuleRoot]] | None = None
    """Yields the module roots that a file (path, content) of the ecosystem declares. Raises ValueError for an invalid file."""
    completed_roots: Callable[[Iterable[ModuleRoot]], list[ModuleRoot]] | None = None
    """Returns the module roots of the ecosystem, from those that its files declare and from those that complete them."""
