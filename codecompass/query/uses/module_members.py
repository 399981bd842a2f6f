"""What modules hold and export, by name: definitions, names of other modules, and modules below them."""

from collections.abc import Sequence
from typing import Final

from codecompass.languages.records import CLASS_LIKE
from codecompass.query.uses.definitions import MEMBER_KINDS, Definitions, FileNames, is_member, name_path, unique
from codecompass.store.rows import ImportRow, SymbolRow

MAX_MODULES: Final = 12
"""Longest chain of modules that only re-export a name."""

DEFAULT: Final = "default"
"""The name under which a module of JavaScript exports its default."""


class Modules:
    """Looks names up in modules, for one question. A module is a file, or a directory with a trailing `/`. Not thread-safe."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._in_modules: dict[tuple[str, str], list[SymbolRow]] = {}
        self._package_roots: dict[str, str] = {}

    def default_of(self, target: str) -> list[SymbolRow]:
        """Returns what a module exports as its default."""
        names = self._definitions.names_at(target)
        if names is None:
            return []
        return [row for row in names.symbols if row.parent_id is None and "export default" in row.signature]

    def taken_by(self, row: ImportRow, file: FileNames) -> list[SymbolRow]:
        """Returns what an import in `file` names, as far as packages or files say it."""
        found = self._definitions.declared_as(row, file)
        return found or (self.in_module(row.target, row.name, 0) if row.target and row.name not in ("", "*") else [])

    def imported_as(self, row: ImportRow, local: str, depth: int = 0) -> list[SymbolRow]:
        """Returns what an import of a name brings into a file, where it is called `local`."""
        if row.name not in ("", DEFAULT):
            return self.in_module(row.target, row.name, depth)
        names = self._definitions.names_at(row.target)
        is_default = row.name == DEFAULT or (names is not None and names.traits.binding.has_export_statements)
        found = self.in_module(row.target, DEFAULT, depth) if is_default else []
        # Of a module whose default no statement shows, what has the same name is the best guess.
        return found or self.in_module(row.target, local, depth)

    def in_module(self, target: str, name: str, depth: int) -> list[SymbolRow]:
        """Returns the definitions of `name` in a file or directory, or in the modules that it re-exports the name from."""
        key = (target, name)
        known = self._in_modules.get(key)
        if known is None:
            self._in_modules[key] = []  # modules can import each other
            known = self._in_modules[key] = self._looked_up(target, name, depth)
        return known

    def _looked_up(self, target: str, name: str, depth: int) -> list[SymbolRow]:
        if target.endswith("/"):
            directory = target.rstrip("/")
            return [
                row
                for row in self._definitions.named(name)
                if row.path.rpartition("/")[0] == directory and row.parent_kind not in CLASS_LIKE and row.kind != "method"
            ]
        names = self._definitions.names_at(target)
        if names is None or depth > MAX_MODULES:
            return []
        exported = [row for own in names.exports.get(name, ()) if own != name for row in self.in_module(target, own, depth + 1)]
        if exported:
            return unique(exported)
        binding = names.traits.binding
        if binding.imports_members:
            own = list(names.by_name.get(name, ()))
        else:
            own = [
                row for row in names.by_name.get(name, ()) if row.parent_kind not in CLASS_LIKE and row.kind not in MEMBER_KINDS
            ]
        if not own and binding.module_table is not None:
            # Its methods and fields are members of the table that the module is, or of one that the table has as its base.
            members = names.by_name.get(name, [])
            own = [row for row in members if name_path(row)[:-1] == binding.module_table(target)] or list(members)
        if own:
            top = [row for row in own if row.parent_id is None]
            return top or own
        found: list[SymbolRow] = []
        for row in names.imports.get(name, ()):
            if row.target and row.target != target:
                found += self.imported_as(row, name, depth + 1)
        if not found:
            for row in names.everything_from if name != DEFAULT else ():
                if row.target and row.target != target:
                    found += self.in_module(row.target, name, depth + 1)
                    if found:
                        break
        return found or (self.default_of(target) if name == DEFAULT else [])

    def submodules(self, target: str, name: str) -> list[str]:
        """Returns the files of a submodule, found by imports or by location: in Python any import of it makes it a name of its
        package."""
        below = target if target.endswith("/") else target.removesuffix("__init__.py") if _is_init(target) else ""
        if below:
            candidates = (f"{below}{name}.py", f"{below}{name}/__init__.py", f"{below}{name}.pyi")
            located = [path for path in candidates if self._definitions.names_at(path) is not None]
            if located or target.endswith("/"):
                return located[:1] or self._namespace_below(f"{below}{name}/")
        names = None if target.endswith("/") else self._definitions.names_at(target)
        if names is None:
            return []
        if found := self.namespace(target, name):
            return [found]
        imported = [row.target for row in names.imports.get(name, ()) if row.target]
        paths = names.traits.binding.module_paths
        if imported or paths is None:
            return imported
        return [path for path in paths.submodule_files(target, name) if self._definitions.names_at(path) is not None]

    def namespace(self, target: str, name: str, depth: int = 0) -> str:
        """Returns the module that a module exports as an object under this name: `export * as name from ..`, or an import of all
        names that it exports again; empty if there is none."""
        names = None if target.endswith("/") or depth > MAX_MODULES else self._definitions.names_at(target)
        if names is None or not names.traits.binding.has_export_statements:
            return ""
        for own in (*names.exports.get(name, ()), name):
            for row in names.imports.get(own, ()):
                if row.target and row.name == "*":
                    return row.target
                if row.target and row.name and (found := self.namespace(row.target, row.name, depth + 1)):
                    return found
        for row in names.everything_from if name != DEFAULT else ():
            if row.target and row.target != target and (found := self.namespace(row.target, name, depth + 1)):
                return found
        return ""

    def _namespace_below(self, directory: str) -> list[str]:
        """Returns a directory that holds modules of Python but no `__init__.py`, as the only one of a list."""
        is_there = any(path.endswith(".py") for path in self._definitions.paths_in(directory.rstrip("/")))
        return [directory] if is_there else []

    def module_named(self, row: ImportRow, local: str, file: FileNames) -> str:
        """Returns the module that an import in `file` binds to a local name, empty if it is unknown: for `a` of Python's
        `import a.b` the package `a`, and the file that declares a module of that name if files are modules."""
        target, binding = row.target, file.traits.binding
        if binding.has_export_statements and row.name not in ("", "*"):
            return self.namespace(target, row.name) or target
        if binding.module_paths is not None and row.kind == "module":
            names = [*row.spec.split(binding.module_paths.separator), *([row.name] if row.name else [])]
            return self.module_of_path(names, file) or target
        if not target and binding.files_are_modules:
            return next((each.path for each in self._definitions.declared_as(row, file) if each.kind == "module"), "")
        if row.name or row.alias or not target.endswith((".py", "/")) or local != row.spec.partition(".")[0]:
            return target
        module = target.removesuffix("/").removesuffix("/__init__.py").removesuffix(".py")
        for _ in range(row.spec.count(".")):
            module = module.rpartition("/")[0]
        if module == target.removesuffix("/").removesuffix("/__init__.py").removesuffix(".py"):
            return target
        package = f"{module}/__init__.py"
        return package if self._definitions.names_at(package) is not None else f"{module}/"

    def module_of_path(self, names: Sequence[str], file: FileNames) -> str:
        """Returns the file of the module at a path that begins with a root (`crate`, `self`, `super`); empty if there is none."""
        paths = file.traits.binding.module_paths
        if paths is None or not names or names[0] not in paths.roots:
            return ""
        return paths.file_of(names, file.path, lambda path: self._definitions.names_at(path) is not None, self.submodules)

    def root_of_package(self, name: str, file: FileNames) -> str:
        """Returns the root file of the package of the repository that a file calls `name`; empty if there is none."""
        paths = file.traits.binding.module_paths
        if paths is None or name in file.by_name:
            return ""
        known = self._package_roots.get(name)
        if known is None:
            existing = (path for path in paths.package_roots(name) if self._definitions.names_at(path) is not None)
            known = self._package_roots[name] = next(existing, "")
        return known

    def below_module(self, target: str, name: str) -> list[SymbolRow]:
        """Returns the definitions of a name in the modules below a module, which often re-exports them."""
        names = None if target.endswith("/") else self._definitions.names_at(target)
        paths = None if names is None else names.traits.binding.module_paths
        if paths is None:
            return []
        base = paths.directory_of(target) + "/"
        below = (row for row in self._definitions.named(name) if row.path.startswith(base))
        return [row for row in below if not is_member(row) and row.kind != "impl"]


def _is_init(target: str) -> bool:
    return target == "__init__.py" or target.endswith("/__init__.py")
