"""What commands answer in JSON beyond the answers of tools."""

from msgspec import Struct

from codecompass.errors import ErrorBody


class ErrorReport(Struct, frozen=True):
    """Printed instead of an answer."""

    error: ErrorBody
