"""The input of a person: parameters of an address or of a form, each of bounded length."""

from typing import Final
from urllib.parse import parse_qs

from codecompass.protocol.requests import (
    MAX_NAME_LENGTH,
    MAX_PATH_LENGTH,
    MAX_PROJECT_ID_LENGTH,
    MAX_QUERY_LENGTH,
    MAX_REF_LENGTH,
    MAX_WORD_LENGTH,
    MAX_WORDS_LENGTH,
)
from codecompass.transport.http.request import BAD_REQUEST, TOO_LARGE, UNSUPPORTED_TYPE, HttpRefusal, HttpRequest, require_method

LENGTHS: Final = {
    "q": MAX_QUERY_LENGTH,
    "mode": MAX_WORD_LENGTH,
    "path": MAX_PATH_LENGTH,
    "kind": MAX_WORDS_LENGTH,
    "language": MAX_WORDS_LENGTH,
    "limit": 10,
    "why": 1,
    "why_not": MAX_PATH_LENGTH,
    "project": MAX_PROJECT_ID_LENGTH,
    "search": 1_500,
    "line": 10,
    "first": 10,
    "last": 10,
    "ref": MAX_REF_LENGTH,
    "name": MAX_NAME_LENGTH,
    "view": MAX_WORD_LENGTH,
    "base": MAX_REF_LENGTH,
    "head": MAX_REF_LENGTH,
    "action": MAX_WORD_LENGTH,
    "job": MAX_WORD_LENGTH,
    "mark": MAX_WORD_LENGTH,
    "was": MAX_WORD_LENGTH,
    "found": MAX_WORD_LENGTH,
    "to": 2_000,
    "token": 1_000,
}
"""Every parameter that the page reads, with its maximum number of characters."""

FORM_TYPE: Final = "application/x-www-form-urlencoded"
MAX_FORM_BYTES: Final = 20_000


class Fields:
    """The query parameters of one request. A blank one counts as absent."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def text(self, name: str) -> str:
        """Returns the value; empty if absent. Raises HttpRefusal if it is too long or given twice."""
        return (self._request.parameter(name, LENGTHS[name]) or "").strip()

    def given(self, name: str) -> str | None:
        """Returns the value; None if absent. Raises like `text`."""
        return self.text(name) or None

    def number(self, name: str, default: int, *, lowest: int, highest: int) -> int:
        """Returns the value, clamped to the range; `default` if absent. Raises HttpRefusal if it is not a number."""
        value = self.text(name)
        if not value:
            return default
        if not (value.isascii() and value.isdecimal()):
            raise HttpRefusal(BAD_REQUEST, f"?{name}= has to be a whole number. Correct the address.")
        return max(lowest, min(int(value), highest))


class WrittenFields(Fields):
    """The fields of an address that is itself a field, as `urlencode` writes them. What cannot be read counts as absent."""

    def __init__(self, written: str) -> None:
        try:
            self._values = parse_qs(written, max_num_fields=len(LENGTHS))
        except ValueError:
            self._values = {}

    def text(self, name: str) -> str:
        """Returns the value; empty if absent or too long."""
        value = self._values.get(name, [""])[0].strip()
        return value if len(value) <= LENGTHS[name] else ""


async def read_form(request: HttpRequest) -> dict[str, str]:
    """Returns the fields of a submitted form. Raises HttpRefusal if it is not a form, and for a field that is too long."""
    require_method(request, "POST")
    if request.media_type != FORM_TYPE:
        raise HttpRefusal(UNSUPPORTED_TYPE, "this takes a form of the page. Use its buttons.")
    body = await request.body()
    if len(body) > MAX_FORM_BYTES:
        raise HttpRefusal(TOO_LARGE, "the form is too large. Load the page again.")
    try:
        values = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=len(LENGTHS))
    except ValueError:
        raise HttpRefusal(BAD_REQUEST, "the form cannot be read. Load the page again.") from None
    form = {name: given[0] for name, given in values.items() if name in LENGTHS}
    if any(len(value) > LENGTHS[name] for name, value in form.items()):
        raise HttpRefusal(BAD_REQUEST, "a field of the form is too long. Load the page again.")
    return form
