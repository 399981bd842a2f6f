"""How many tokens an answer costs, estimated from above.

The estimate is ASCII bytes over `ASCII_PER_TOKEN` plus `TOKENS_PER_OTHER` for each other character, over the encoded JSON.
"""

from typing import Final

ASCII_PER_TOKEN: Final = 2.0
TOKENS_PER_OTHER: Final = 1.0


def estimate_tokens(encoded: bytes) -> int:
    """Returns the number of tokens of a piece of an answer as it is sent, rounded up."""
    ascii_count = len(encoded.decode("utf-8", "replace").encode("ascii", "ignore"))
    other_count = len(encoded.decode("utf-8", "replace")) - ascii_count
    return int(-(-ascii_count // ASCII_PER_TOKEN) + -(-other_count * TOKENS_PER_OTHER // 1))
