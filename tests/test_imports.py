"""Layering rules that can be checked from the imports: which module may import which."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "codecompass"

ORDER = (
    *("base", "remote", "protocol", "languages", "scan", "worker", "store", "semantic", "query"),
    *("actors", "projects", "transport", "cluster", "cli"),
)
"""The layers from lowest to highest; each may import those before it. `base` is the modules directly in the package."""

THIRD_PARTY = {
    "tantivy": {"store"},
    "sqlite3": {"store"},
    "apsw": {"store"},
    "sqlite_vec": {"store"},
    "httpx2": {"remote"},
    "tree_sitter": {"languages", "worker"},
    "tree_sitter_language_pack": {"languages", "worker"},
    "trio": {"nurseries", "remote", "semantic", "actors", "projects", "transport", "cluster", "cli"},
    "opensearchpy": {"cluster"},
    "opentelemetry": {"trace_export"},
    "asyncclick": {"cli"},
    "prompt_toolkit": {"cli"},
}
"""The packages, and modules of `base`, that may import a library. cli/doctor reads grammars through the worker's loader."""

LOADED_BY = {"codecompass.nurseries": "trio"}
"""Modules of `base` that load a library: whoever may not import that may not import them."""

WORKER_NEVER = {"trio", "tantivy", "sqlite3", "asyncclick", "structlog"}


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE).parts
    return relative[0] if len(relative) > 1 else "base"


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.invariant("Each layer imports only what it may")
def test_a_module_imports_only_what_its_layer_may():
    assert [violation for path in MODULES for violation in violations(path)] == []


def violations(path: Path) -> Iterator[str]:
    part = part_of(path)
    for name in imported_modules(path):
        first, *rest = name.split(".")
        if first == "codecompass" and rest:
            is_entry_point = path.name == "__main__.py" and part == "base"
            target = rest[0] if (PACKAGE / rest[0]).is_dir() else "base"
            if ORDER.index(target) > ORDER.index(part) and not is_entry_point:
                yield f"{path.relative_to(PACKAGE)} imports {name}"
            if part not in THIRD_PARTY.get(LOADED_BY.get(name, ""), {part}):
                yield f"{path.relative_to(PACKAGE)} imports {name}"
        elif not {part, path.stem if part == "base" else part} & THIRD_PARTY.get(first, {part}):
            yield f"{path.relative_to(PACKAGE)} imports {name}"


@pytest.mark.invariant("The worker loads neither the event loop nor a store")
def test_the_worker_process_loads_neither_the_event_loop_nor_the_stores():
    import subprocess
    import sys

    code = "import sys, codecompass.worker.__main__, codecompass.worker.parsing; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not WORKER_NEVER & set(loaded)
