"""`POST /login` and `POST /login/token`: how people sign in for a token over HTTP (`access/sign_in.py`)."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from codecompass.cluster.access.sign_in import ProviderUnavailable, SignIn, SignInRefused
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.errors import InvalidInput
from codecompass.transport.http.app import Handler
from codecompass.transport.http.request import FORBIDDEN, NOT_FOUND, OK, UNAVAILABLE, HttpRefusal, HttpRequest, require_method
from codecompass.units import SECONDS

LOGIN: Final = "/login"
LOGIN_TOKEN: Final = "/login/token"

SIGN_INS: Final = 4
"""Requests to the identity provider at a time. They need no token, so they must not take threads from questions."""

SIGN_IN_SECONDS: Final = 30 * SECONDS
"""Deadline of one. It asks the provider twice, each time with a shorter deadline, and the engine once."""

T = TypeVar("T")


class _DeviceCode(Struct):
    device_code: str


_device_code: Final = msgspec.json.Decoder(_DeviceCode)
_encode: Final = msgspec.json.Encoder().encode


def sign_in_pages(by: SignIn | None) -> Mapping[str, Handler]:
    """Returns the handlers by path; with None they say that nobody signs in here."""
    calls = EngineCalls(SIGN_INS)

    async def signed_in(work: Callable[[SignIn], T]) -> T:
        if by is None:
            raise HttpRefusal(NOT_FOUND, "people do not sign in here. Whoever runs this server issues tokens.")
        try:
            return await calls.run(lambda: work(by), SIGN_IN_SECONDS)
        except SignInRefused as error:
            raise HttpRefusal(FORBIDDEN, error.message, reason=error.code) from error
        except (ProviderUnavailable, EngineUnavailable) as error:
            raise HttpRefusal(UNAVAILABLE, error.message, is_retryable=True, reason=error.code) from error

    async def login(request: HttpRequest) -> None:
        require_method(request, "POST")
        await request.body()
        await request.answer(OK, _encode(await signed_in(lambda by: by.begin())))

    async def login_token(request: HttpRequest) -> None:
        require_method(request, "POST")
        body = await request.body()
        try:
            code = _device_code.decode(body).device_code
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InvalidInput('send {"device_code": "..."} with what POST /login has answered.') from error
        await request.answer(OK, _encode(await signed_in(lambda by: by.finish(code))))

    return {LOGIN: login, LOGIN_TOKEN: login_token}
