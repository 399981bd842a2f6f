"""The error of search by meaning: a code for programs, and a hint for people."""

from typing import Literal

FailureCode = Literal[
    "timeout",
    "unreachable",
    "key_missing",
    "key_refused",
    "rate_limited",
    "server_error",
    "refused",
    "wrong_dimensions",
    "invalid_answer",
    "busy",
    "no_vectors",
    "not_installed",
    "store",
]
"""`refused`: any other status than success. `busy`: too many questions at a time. `no_vectors`: the texts of the index have not
been sent yet. `store`: the file of vectors cannot be used."""


class SemanticUnavailable(Exception):
    """A vector could not be made, or there are none to compare it with. Never contains a key or text from an endpoint."""

    def __init__(self, code: FailureCode, hint: str = "", *, is_of_text: bool = False) -> None:
        """`is_of_text`: whether the endpoint rejected these texts and may accept others."""
        super().__init__(f"{code}: {hint}" if hint else code)
        self.code: FailureCode = code
        self.hint = hint
        self.is_of_text = is_of_text

    @property
    def warning(self) -> str:
        """The warning for an answer that was found by words alone."""
        return f"semantic: unavailable ({self})"
