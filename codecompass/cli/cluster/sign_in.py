"""Signs a person in at an organisation's server from a terminal, and prints the token that they get."""

import time
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import printable
from codecompass.errors import CodeCompassError, DeadlineExceeded, InvalidInput
from codecompass.formatting import iso_time
from codecompass.remote.address import parse_address, without_user
from codecompass.remote.rest import RestClient, ServiceFailed, is_safe
from codecompass.units import SECONDS

LEAST_SECONDS: Final = 1 * SECONDS
"""At least between two polls, whatever a server says."""


_AnswerT = TypeVar("_AnswerT", bound=Struct)


class SignInFailed(CodeCompassError):
    """The server gave no token."""

    code = "sign_in_failed"


class _Begun(Struct):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: int = 600
    interval: int = 5


class _Answer(Struct):
    status: str = ""
    interval: int = 5
    token: str = ""
    name: str = ""
    groups: tuple[str, ...] = ()
    expires_at: float = 0.0


class GivenToken(Struct, frozen=True, kw_only=True):
    """The token as `--json` prints it. `expires_at` is ISO 8601 in UTC."""

    token: str
    name: str
    groups: tuple[str, ...]
    expires_at: str


class _Message(Struct):
    message: str = ""


class _Refusal(Struct):
    error: _Message


def login(invocation: Invocation, url: str) -> int:
    """Asks the person to open an address, waits until they have signed in there, and prints the token.

    Raises InvalidInput, SignInFailed, DeadlineExceeded.
    """
    terminal = invocation.terminal
    begun = _posted(url, "/login", {}, _Begun)
    terminal.note(f"Open {printable(begun.verification_uri_complete or begun.verification_uri)}", "bold")
    terminal.note(f"and enter the code {printable(begun.user_code)}. Waiting for you to sign in; end this with Ctrl-C.")
    deadline = time.monotonic() + begun.expires_in
    interval = float(begun.interval)
    while time.monotonic() < deadline:
        time.sleep(max(LEAST_SECONDS, interval))
        answer = _posted(url, "/login/token", {"device_code": begun.device_code}, _Answer)
        if answer.token:
            return _show(invocation, answer)
        interval = float(answer.interval)
    raise DeadlineExceeded("nobody has signed in in time. Run the command again.")


def _show(invocation: Invocation, answer: _Answer) -> int:
    expires = iso_time(answer.expires_at)
    if invocation.options.as_json:
        invocation.print_json(GivenToken(token=answer.token, name=answer.name, groups=answer.groups, expires_at=expires))
        return failure.DONE
    invocation.terminal.line(answer.token)
    groups = ", ".join(map(printable, answer.groups)) or "no group"
    invocation.terminal.note(f"Shown this once. For {printable(answer.name)} ({groups}), until {expires}.", "dim")
    return failure.DONE


def _posted(url: str, path: str, body: dict[str, str], kind: type[_AnswerT]) -> _AnswerT:
    base = parse_address(url)
    if base is None or not is_safe(base):
        raise InvalidInput(f"{without_user(url)[:200]!r} must be the https:// address of an organisation's server.", field="url")
    address = parse_address(base.with_path(base.path + path))
    assert address is not None
    client = RestClient(address, {"Content-Type": "application/json"})
    try:
        status, answer = client.post(msgspec.json.encode(body))
        if status == 200:
            return msgspec.json.decode(answer, type=kind)
        raise SignInFailed(msgspec.json.decode(answer, type=_Refusal).error.message)
    except ServiceFailed as error:
        raise SignInFailed(
            f"{base.authority}: {error.what}. If it is there, people do not sign in at it, or its identity provider is away."
        ) from error
    except msgspec.MsgspecError as error:
        raise SignInFailed(f"{base.authority} does not answer as an organisation's server does. Check the address.") from error
    finally:
        client.close()
