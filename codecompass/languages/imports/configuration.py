"""Reads the module roots that files of a repository declare; most are configuration files, which `ecosystems.py` names.

Runs in worker processes. An invalid file has no roots: it is a test fixture, or is being edited.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from msgspec.structs import replace

from codecompass.languages import described
from codecompass.languages.ecosystems import ecosystem_of
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.table import ECOSYSTEMS
from codecompass.units import MIB

MAX_ROOTS_PER_FILE: Final = 500
"""Only generated files have more; the first ones are kept."""

MAX_READ: Final = 20_000
"""Roots taken from a reader, including duplicates and roots that are too long."""

MAX_SOURCE_BYTES: Final = 1 * MIB
"""A larger file is not configuration, whatever file size the user has allowed."""

MAX_ROOT_LENGTH: Final = 1_000
"""Characters of a name, and of its target. Roots with longer ones are ignored."""


def module_roots(path: str, source: bytes) -> tuple[ModuleRoot, ...]:
    """Returns the module roots that the file at `path` declares, ranked in the order of the file; () for an invalid file."""
    ecosystem = ecosystem_of(path, source)
    if ecosystem is None or len(source) > MAX_SOURCE_BYTES:
        return ()
    rules = described(ecosystem.language).imports
    if rules is None or rules.configuration is None:
        return ()
    found: dict[ModuleRoot, None] = {}
    try:
        for root in islice(rules.configuration(path, source), MAX_READ):
            if len(root.prefix) <= MAX_ROOT_LENGTH and len(root.directory) <= MAX_ROOT_LENGTH:
                found[root] = None
            if len(found) == MAX_ROOTS_PER_FILE:
                break
    except (ValueError, RecursionError):
        return ()
    return tuple(replace(root, rank=rank) for rank, root in enumerate(found))


def completed_roots(ecosystem: str, roots: Iterable[ModuleRoot]) -> list[ModuleRoot]:
    """Returns the module roots of an ecosystem, from its own and those of the ecosystems that complete it."""
    found = list(roots)
    if all(root.ecosystem == ecosystem for root in found):
        return found
    rules = described(ECOSYSTEMS[ecosystem].language).imports
    if rules is None or rules.completed_roots is None:
        return [root for root in found if root.ecosystem == ecosystem]
    return rules.completed_roots(found)
