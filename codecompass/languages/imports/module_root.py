"""One statement of a configuration file about where names are found."""

from msgspec import Struct


class ModuleRoot(Struct, frozen=True, array_like=True):
    """One statement of a configuration file: names that begin with `prefix` are found at `directory`.

    For JavaScript `prefix` and `directory` may each have one `*`.
    """

    ecosystem: str
    """The family of languages that it applies to, e.g. `node`."""
    prefix: str
    directory: str
    """A directory (ends in `/`, empty for the root of the repository) or a file; it may not exist."""
    scope: str = ""
    """It applies to importing files below this directory; empty for all files."""
    rank: int = 0
    """Position among the roots of its file; of two roots for the same name, the lower rank is tried first."""
