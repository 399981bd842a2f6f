"""Other names of languages, as people write them in filters."""

from collections.abc import Mapping
from typing import Final

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "py": ("python",),
    "python3": ("python",),
    "js": ("javascript",),
    "jsx": ("javascript",),
    "node": ("javascript",),
    "ts": ("typescript", "tsx"),
    "typescript": ("typescript", "tsx"),
    "golang": ("go",),
    "rs": ("rust",),
    "c++": ("cpp",),
    "cxx": ("cpp",),
    "cc": ("cpp",),
    "c#": ("csharp",),
    "cs": ("csharp",),
    "rb": ("ruby",),
    "kt": ("kotlin",),
    "sh": ("bash",),
    "shell": ("bash",),
    "ex": ("elixir",),
    "exs": ("elixir",),
    "hs": ("haskell",),
    "ipynb": ("jupyter",),
    "notebook": ("jupyter",),
    "md": ("markdown",),
    "yml": ("yaml",),
}
"""The languages that a name stands for, in the order in which they are named to a reader."""
