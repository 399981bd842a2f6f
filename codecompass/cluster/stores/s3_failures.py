"""What a failure of a service that speaks S3 means, and what helps: from the text of the client's error, which is not shown.

The text has the service's answer. Services repeat identifiers of keys and tokens in it, so only its status, its error code and
the kind of a failed connection are read from it. `<Code>` is in the error responses of the API of S3.
"""

import re
from typing import Final

from msgspec import Struct

_STATUS: Final = re.compile(r"status code: (\d{3})\b")
_CODE: Final = re.compile(r"<Code>([A-Za-z0-9.]{1,60})</Code>")


class Failure(Struct, frozen=True):
    """What happened, and what whoever runs the server can do."""

    what: str
    remedy: str


_REGION: Final = Failure("the bucket is in another region", "set cluster.s3_region and cluster.s3_endpoint as the service says")
_FILES: Final = "cluster.s3_access_key_file and cluster.s3_secret_key_file"
_KEY: Final = Failure("it does not accept the key", f"correct {_FILES}, or renew the key")
_RIGHTS: Final = Failure("the key has no right to do this", "give it the rights that docs/organisation.md lists")
_BUSY: Final = Failure("it refuses because of too many requests", "raise its limits, or run fewer workers at a time")
_CUT_SHORT: Final = Failure("it ended an answer too early", "look into the log of the service and of proxies before it")
_STRANGE: Final = Failure("its answer is not that of a service for S3", "correct cluster.s3_endpoint")
_FULL: Final = Failure("it has no space left, or the quota is used up", "make room there, or raise the quota")

_BY_CODE: Final = {
    "NoSuchBucket": Failure("there is no such bucket", "create the bucket, or correct cluster.segments"),
    "InvalidBucketName": Failure("it does not accept the bucket's name", "correct cluster.segments"),
    "AuthorizationHeaderMalformed": _REGION,
    "PermanentRedirect": _REGION,
    "TemporaryRedirect": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "InvalidAccessKeyId": _KEY,
    "SignatureDoesNotMatch": _KEY,
    "InvalidToken": _KEY,
    "ExpiredToken": _KEY,
    "TokenRefreshRequired": _KEY,
    "AccessDenied": _RIGHTS,
    "AllAccessDisabled": _RIGHTS,
    "RequestTimeTooSkewed": Failure("its clock and that of this machine differ", "run a time service on both"),
    "InvalidObjectState": Failure(
        "the object was moved to an archive", "restore it, and remove the lifecycle rule that archives objects of this bucket"
    ),
    "SlowDown": _BUSY,
    "TooManyRequests": _BUSY,
    "RequestLimitExceeded": _BUSY,
    "XMinioStorageFull": _FULL,
    "QuotaExceeded": _FULL,
    "InsufficientStorage": _FULL,
    "EntityTooLarge": Failure("it does not accept objects of this size", "raise its limit"),
}
_BY_STATUS: Final = {
    "301": _REGION,
    "307": _REGION,
    "400": Failure("it refuses the request (400)", "check cluster.s3_endpoint, cluster.s3_region and cluster.s3_path_style"),
    "401": _KEY,
    "403": Failure("it does not accept the key, or the key has no right to do this", _RIGHTS.remedy),
    "429": _BUSY,
    "507": _FULL,
}

_BY_KIND: Final = (
    ("BareRedirect", _REGION),
    (
        "CaUsedAsEndEntity",
        Failure(
            "its certificate is that of an authority (CA:TRUE), which no service may show",
            "give the service a certificate that the authority has signed, and set cluster.s3_ca_file to that of the authority",
        ),
    ),
    ("NotValidForName", Failure("its certificate is for another host name", "correct cluster.s3_endpoint or the certificate")),
    ("Expired", Failure("its certificate has expired", "renew the certificate")),
    (
        "InvalidCertificate",
        Failure("its certificate is not trusted", "set cluster.s3_ca_file to the certificate of the authority that signed it"),
    ),
    ("InvalidMessage", Failure("it does not speak TLS", "begin cluster.s3_endpoint with http://, or turn on TLS there")),
    ("Parse(", _STRANGE),
    ("NotPartial", _STRANGE),
    ("kind: Connect", Failure("it cannot be reached", "start it, or correct cluster.s3_endpoint")),
    ("kind: Interrupted", _CUT_SHORT),
    ("kind: Request", _CUT_SHORT),
    ("ContentRange", _CUT_SHORT),
)
"""By the names in the client's error, the most special first."""

_NO_CREDENTIALS: Final = ("/latest/api/token", "/latest/meta-data", "169.254.170.")
"""Addresses at which machines of clouds give keys. They are asked if nothing else says a key."""


def status_and_code(text: str) -> tuple[str, str]:
    """Returns the HTTP status and the error code of the answer in the text of an error; empty what it has not."""
    status, code = _STATUS.search(text), _CODE.search(text)
    return status[1] if status else "", code[1] if code else ""


def failure_of(text: str, timeout_seconds: float) -> Failure:
    """Returns what the text of an error means."""
    if any(each in text for each in _NO_CREDENTIALS):
        return Failure("no key for it was found", f"set {_FILES}, or give this machine a role")
    if "External AWS credential provider" in text:
        return Failure("the files with its keys cannot be read", f"correct {_FILES}")
    status, code = status_and_code(text)
    shown = f"{status} {code}".strip()
    if shown:
        known = _BY_CODE.get(code) or _BY_STATUS.get(status)
        if known is None:
            known = Failure(f"it answers {shown}", "look into the log of the service")
        return known if shown in known.what or not code else Failure(f"{known.what} ({shown})", known.remedy)
    return _without_answer(text, timeout_seconds)


def _without_answer(text: str, timeout_seconds: float) -> Failure:
    if "kind: Timeout" in text:
        what = f"it did not answer within {timeout_seconds:g} s"
        return Failure(what, "check the service and the connection to it, or raise cluster.s3_timeout_ms")
    return next((known for name, known in _BY_KIND if name in text), _STRANGE)
