"""The type of syntax nodes, which is the library's only where types are checked.

The server reads what languages are (comments, imports, how names are bound) and never parses, so it must not load the library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node
else:
    Node = object

__all__ = ["Node"]
