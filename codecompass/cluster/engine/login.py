"""How a program proves to the engine who it is, and how it checks that it talks to the right one: password and certificates."""

from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.settings import ClusterSettings

MAX_PASSWORD_BYTES: Final = 4_096


class EngineLogin(Struct, frozen=True, kw_only=True):
    """Names of files, and of the user. Empty: not needed, or what the addresses say."""

    user: str = ""
    password_file: str = ""
    """Its first line is the password of `user`."""
    ca_file: str = ""
    """PEM certificates that may have signed the engine's; empty: those of the system."""
    client_certificate: str = ""
    """PEM certificate that is shown to the engine."""
    client_key: str = ""
    """PEM key of that; empty if it is in the same file."""


def engine_login(settings: ClusterSettings) -> EngineLogin:
    """Returns the login that the settings name."""
    return EngineLogin(
        user=settings.user,
        password_file=settings.password_file,
        ca_file=settings.ca_file,
        client_certificate=settings.client_certificate,
        client_key=settings.client_key,
    )


def client_arguments(login: EngineLogin) -> dict[str, Any]:
    """Returns the arguments of the engine's client. Raises InvalidInput for a file that cannot be read."""
    arguments: dict[str, Any] = {}
    if login.user or login.password_file:
        if not (login.user and login.password_file):
            missing = "user" if not login.user else "password_file"
            raise InvalidInput(
                f"cluster.user and cluster.password_file belong together; set cluster.{missing} too.", field=f"cluster.{missing}"
            )
        arguments["http_auth"] = (login.user, _password(login.password_file))
    for field, name, path in (
        ("ca_file", "ca_certs", login.ca_file),
        ("client_certificate", "client_cert", login.client_certificate),
        ("client_key", "client_key", login.client_key),
    ):
        if path:
            _require_readable(field, path)
            arguments[name] = path
    return arguments


def _password(path: str) -> str:
    _require_readable("password_file", path)
    with open(path, "rb") as file:
        content = file.read(MAX_PASSWORD_BYTES + 1)
    password = content.decode(errors="replace").split("\n", 1)[0].rstrip("\r")
    if not password or len(content) > MAX_PASSWORD_BYTES:
        raise InvalidInput(
            f"cluster.password_file: {path} must have the password in its first line, at most {MAX_PASSWORD_BYTES} bytes.",
            field="cluster.password_file",
        )
    return password


def _require_readable(field: str, path: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise InvalidInput(
            f"cluster.{field}: {path} cannot be read ({error.strerror}). Correct the setting, or let this program read it.",
            field=f"cluster.{field}",
        ) from error
