"""Why there is no answer by meaning: a word for programs, and for people what to do."""

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
"""`refused` is any other status than success, `busy` too many questions at a time, `no_vectors` an index whose texts have not
been sent yet, `store` a file of vectors that cannot be used."""


class SemanticUnavailable(Exception):
    """There is no vector, or there are none to compare it with. Never holds a key or what an endpoint wrote."""

    def __init__(self, code: FailureCode, hint: str = "", *, is_of_text: bool = False) -> None:
        """`is_of_text` says that the endpoint may take other texts, and did not take these."""
        super().__init__(f"{code}: {hint}" if hint else code)
        self.code: FailureCode = code
        self.hint = hint
        self.is_of_text = is_of_text

    @property
    def warning(self) -> str:
        """What an answer says that was made from words alone."""
        return f"semantic: unavailable ({self})"
