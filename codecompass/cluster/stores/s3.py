"""A store of segments in a bucket of a service that speaks S3.

    <PREFIX>/<prefix>/<repo_id>/<generation>/<digest>     an object of the bucket

The service makes an object visible with the last request of its upload, so it is there as a whole or not at all. Every request
has a deadline, and is repeated a bounded number of times within the same time again. Large objects are written and read in parts,
so that a deadline bounds how slow a connection may be, not how large an object.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import obstore
from msgspec import Struct
from obstore.exceptions import BaseError
from obstore.store import S3Store as Client

from codecompass.cluster.stores.s3_failures import Failure, failure_of, status_and_code
from codecompass.cluster.stores.segment_store import CHECKED, ObjectMissing, StoreUnavailable, checked_key, checked_part
from codecompass.errors import InvalidInput
from codecompass.settings import S3_SCHEME
from codecompass.units import MIB, MINUTES, SECONDS

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Credential

PART_BYTES: Final = 8 * MIB
"""What one request carries. S3 allows 10,000 parts, so an object may have 80 GB."""

UPLOADS: Final = 4
"""Parts of an object that are under way at a time; they are in memory."""

CONNECT_SECONDS: Final = 5 * SECONDS
RETRIES: Final = 5
FIRST_PAUSE_SECONDS: Final = 0.2 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 5 * SECONDS

KEYS_KEPT_SECONDS: Final = 5 * MINUTES
"""After this time the files with the keys are read again, because whoever rotates keys replaces the files."""

PAGE: Final = 1_000
"""Objects that the service lists with one request, at most."""

MAX_KEY_BYTES: Final = 4_096
MAX_CA_BYTES: Final = 4 * MIB

_EMPTY: Final = frozenset({"InvalidRange", "416"})
"""An object without content has no first byte to ask for."""


class S3Options(Struct, frozen=True, kw_only=True):
    """Where the bucket is and how to prove who asks. An empty text: what the environment (AWS_*) or the machine says."""

    bucket: str
    prefix: str = ""
    """Without slashes at its ends."""
    endpoint: str = ""
    region: str = ""
    has_bucket_in_path: bool = True
    """Otherwise the bucket is the first part of the host's name."""
    access_key_file: str = ""
    secret_key_file: str = ""
    ca_file: str = ""
    """PEM certificates that may have signed the service's, besides those of the system."""
    timeout_seconds: float = 30.0
    """Deadline of one request with its content. A call ends after twice this time for each part at the latest."""


class S3Store:
    """A store in a bucket. Raises InvalidInput for a file that cannot be read; sends nothing before it is used."""

    def __init__(self, options: S3Options, prefix: str) -> None:
        self._options = options
        self._top = f"{options.prefix}/{prefix}" if options.prefix else prefix
        self._client = _client(options)

    @property
    def address(self) -> str:
        """See `SegmentStore`."""
        where = f"{S3_SCHEME}{self._options.bucket}" + (f"/{self._options.prefix}" if self._options.prefix else "")
        return f"{where} at {self._options.endpoint}" if self._options.endpoint else where

    def put(self, key: str, path: Path) -> None:
        """See `SegmentStore`. Raises OSError if the file cannot be read."""
        name = self._name(key)
        # A file that is missing here would look like a missing object.
        path.stat()
        with self._available():
            obstore.put(self._client, name, path, chunk_size=PART_BYTES, max_concurrency=UPLOADS)

    def blocks(self, key: str) -> Iterator[bytes]:
        """See `SegmentStore`. A block has at most PART_BYTES."""
        name = self._name(key)
        start = size = 0
        while not start or start < size:
            try:
                with self._available():
                    found = obstore.get(self._client, name, options={"range": (start, start + PART_BYTES)})
                    size = found.meta["size"]
                    block = bytes(found.bytes())
            except _Absent:
                # Some services answer the same if there is no bucket; then this raises.
                self.keys(key.partition("/")[0])
                raise ObjectMissing(key) from None
            except _NoSuchRange:
                # The caller compares what it has read with the size and digest that it expects.
                return
            if not block:
                return
            yield block
            start += len(block)

    def size(self, key: str) -> int | None:
        """See `SegmentStore`."""
        found = self._head(key)
        return None if found is None else found[0]

    def written_at(self, key: str) -> float | None:
        """See `SegmentStore`. In whole seconds."""
        found = self._head(key)
        return None if found is None else found[1]

    def keys(self, repo_id: str) -> list[str]:
        """See `SegmentStore`."""
        above = f"{self._top}/"
        prefix = above + checked_part(repo_id)
        with self._available():
            pages = obstore.list(self._client, prefix, chunk_size=PAGE)
            names = [each["path"].removeprefix(above) for page in pages for each in page]
        # Whatever else somebody has put there is not ours to remove.
        return sorted(name for name in names if name.count("/") == 2)

    def remove(self, key: str) -> None:
        """See `SegmentStore`."""
        name = self._name(key)
        try:
            with self._available():
                obstore.delete(self._client, name)
        except _Absent:
            pass

    def repositories(self) -> list[str]:
        """See `SegmentStore`."""
        with self._available():
            found = obstore.list_with_delimiter(self._client, self._top)["common_prefixes"]
        return sorted(name for each in found if (name := each.rpartition("/")[2]) != CHECKED)

    def free(self) -> None:
        """See `SegmentStore`. A service does not tell."""

    def _head(self, key: str) -> tuple[int, float] | None:
        name = self._name(key)
        try:
            with self._available():
                found = obstore.head(self._client, name)
        except _Absent:
            return None
        return found["size"], found["last_modified"].timestamp()

    def _name(self, key: str) -> str:
        return f"{self._top}/{checked_key(key)}"

    @contextmanager
    def _available(self) -> Iterator[None]:
        try:
            yield
        # The client raises FileNotFoundError for what the service does not have.
        except (BaseError, OSError) as error:
            text = str(error)
            status, code = status_and_code(text)
            if status == "404" and code in ("", "NoSuchKey"):
                raise _Absent from None
            if status in _EMPTY or code in _EMPTY:
                raise _NoSuchRange from None
            # Without the client's error as its cause: that has the service's answer, and some services repeat tokens in it.
            raise StoreUnavailable(self._message(failure_of(text, self._options.timeout_seconds))) from None

    def _message(self, failure: Failure) -> str:
        return (
            f"the store of segments at {self.address} cannot be used: {failure.what}. Whoever runs this server can "
            f"{failure.remedy}; workers and servers go on by themselves."
        )


class _Absent(Exception):
    """The service answers that there is no such object."""


class _NoSuchRange(Exception):
    """The service answers that the object ends before the part that was asked for."""


def _client(options: S3Options) -> Client:
    # Single removals, because not every service has the request for several.
    config: S3Config = {"disable_bulk_delete": True, "virtual_hosted_style_request": not options.has_bucket_in_path}
    if options.endpoint:
        scheme, _, host = options.endpoint.partition("://")
        config["endpoint"] = options.endpoint if options.has_bucket_in_path else f"{scheme}://{options.bucket}.{host}"
    if options.region:
        config["region"] = options.region
    seconds = timedelta(seconds=options.timeout_seconds)
    client: ClientConfig = {
        "timeout": seconds,
        "connect_timeout": timedelta(seconds=min(CONNECT_SECONDS, options.timeout_seconds)),
        "allow_http": options.endpoint.startswith("http://"),
    }
    if options.ca_file:
        client["root_certificate"] = _read("s3_ca_file", options.ca_file, MAX_CA_BYTES)
    # A request that took all of its time is not repeated; one that was refused at once is.
    retries: RetryConfig = {
        "max_retries": RETRIES,
        "retry_timeout": seconds,
        "backoff": {
            "init_backoff": timedelta(seconds=FIRST_PAUSE_SECONDS),
            "max_backoff": timedelta(seconds=LONGEST_PAUSE_SECONDS),
            "base": 2,
        },
    }
    keys = None
    if options.access_key_file:
        keys = _KeyFiles(options.access_key_file, options.secret_key_file)
        keys()
    try:
        return Client(options.bucket, config=config, client_options=client, retry_config=retries, credential_provider=keys)
    except (BaseError, ValueError):
        raise InvalidInput(
            f"cluster.s3_ca_file: {options.ca_file} has no certificate in PEM form. Correct the file."
            if options.ca_file
            else "the variables AWS_* of the environment cannot be used. Correct them, or set cluster.s3_endpoint and the files "
            "with the keys.",
            field="cluster.s3_ca_file" if options.ca_file else "cluster.s3_endpoint",
        ) from None


class _KeyFiles:
    """Reads the keys from their files; the client calls this when those that it has are out of date."""

    def __init__(self, access_key_file: str, secret_key_file: str) -> None:
        self._access_key_file = access_key_file
        self._secret_key_file = secret_key_file

    def __call__(self) -> "S3Credential":
        """Returns the keys. Raises InvalidInput."""
        return {
            "access_key_id": _first_line("s3_access_key_file", self._access_key_file),
            "secret_access_key": _first_line("s3_secret_key_file", self._secret_key_file),
            "token": None,
            "expires_at": datetime.now(UTC) + timedelta(seconds=KEYS_KEPT_SECONDS),
        }


def _first_line(field: str, path: str) -> str:
    line = _read(field, path, MAX_KEY_BYTES).decode(errors="replace").split("\n", 1)[0].strip()
    if not line:
        raise InvalidInput(f"cluster.{field}: {path} must have the key in its first line.", field=f"cluster.{field}")
    return line


def _read(field: str, path: str, max_bytes: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise InvalidInput(
            f"cluster.{field}: {path} cannot be read ({error.strerror}). Correct the setting, or let this program read it.",
            field=f"cluster.{field}",
        ) from error
    if len(content) > max_bytes:
        message = f"cluster.{field}: {path} is larger than {max_bytes} bytes. Correct the setting."
        raise InvalidInput(message, field=f"cluster.{field}")
    return content
