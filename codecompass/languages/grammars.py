"""The packages in which grammars are found without loading any: what is not named after its language, or not in the pack."""

from collections.abc import Mapping
from typing import Final

GRAMMAR_PACK: Final = "tree_sitter_language_pack"

NAMED_OTHERWISE: Final[Mapping[str, str]] = {"objectivec": "objc"}
"""Grammars by languages that have another name."""

SEPARATE_GRAMMARS: Final[Mapping[str, str]] = {"csharp": "tree_sitter_c_sharp"}
"""Grammars that the pack imports from separate packages, by language."""
