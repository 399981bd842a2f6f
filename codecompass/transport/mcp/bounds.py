"""How long the members of messages may be, in characters and items: stated in the types of `wire`, enforced as they are decoded.

Arguments of tools are not among them: their bounds are those of the requests (`protocol.requests`).
"""

from typing import Annotated, Final

from msgspec import Meta

from codecompass.protocol.requests import MAX_PATH_LENGTH, MAX_QUERY_LENGTH

MAX_ID_LENGTH: Final = 1000
"""Ids and tokens are echoed and kept: one that is longer is no id of a client in its right mind."""

MAX_NAME_LENGTH: Final = 1000
"""Of names of tools, prompts, arguments and clients, of cursors and of the ids that we give."""

MAX_URI_LENGTH: Final = 3 * MAX_PATH_LENGTH + 100
"""Of a path of MAX_PATH_LENGTH bytes with each of them percent-encoded, and what stands before it."""

MAX_STATE_LENGTH: Final = 10_000
"""Of what a client carries for us from one call to the next."""

MAX_ARGUMENTS: Final = 100
"""Arguments of one call, and answers to what we asked."""

MAX_WATCHED: Final = 1000
"""Resources, and tasks, that a client names to be told of."""

MAX_ROOTS_LISTED: Final = 1000
"""Roots of a client. How many of them are looked at is in `roots`."""

MAX_OPENING_BYTES: Final = 65_536
"""Of the parameters of `initialize`: capabilities are kept as long as the session."""

Name = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
Id = Annotated[str, Meta(max_length=MAX_ID_LENGTH)]
Uri = Annotated[str, Meta(max_length=MAX_URI_LENGTH)]
State = Annotated[str, Meta(max_length=MAX_STATE_LENGTH)]
Text = Annotated[str, Meta(max_length=MAX_QUERY_LENGTH)]
