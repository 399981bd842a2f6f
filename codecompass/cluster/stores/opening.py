"""Opens the store of segments that the settings name: an absolute path, or `s3://BUCKET[/PREFIX]`.

The client of S3 is imported for a bucket alone.
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codecompass.cluster.engine.schema import FORMAT
from codecompass.cluster.stores.directory import DirectoryStore
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.errors import InvalidInput
from codecompass.remote.address import parse_address, without_user
from codecompass.settings import S3_SCHEME, ClusterSettings

if TYPE_CHECKING:
    from codecompass.cluster.stores.s3 import S3Options

NOT_INSTALLED: Final = "the client of S3 is not installed. Install it with: pip install 'codecompass[cluster]'"

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}(?:/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}){0,9}")


def open_store(settings: ClusterSettings) -> SegmentStore:
    """Returns the store that the settings name; nothing is sent yet. Raises InvalidInput if they name none."""
    prefix = f"{settings.prefix}-v{FORMAT}"
    if not settings.segments:
        raise InvalidInput(
            "no store of segments. Set cluster.segments (CODECOMPASS_CLUSTER_SEGMENTS) to the directory that workers and servers "
            "share, or to s3://BUCKET/PREFIX.",
            field="cluster.segments",
        )
    if settings.segments.startswith(S3_SCHEME):
        if find_spec("obstore") is None:
            raise InvalidInput(NOT_INSTALLED, remediation="pip install 'codecompass[cluster]'")
        options = _s3_options(settings)
        from codecompass.cluster.stores.s3 import S3Store

        return S3Store(options, prefix)
    root = Path(settings.segments)
    if not root.is_absolute():
        raise InvalidInput(
            "cluster.segments must be the absolute path of a directory, or s3://BUCKET/PREFIX.", field="cluster.segments"
        )
    return DirectoryStore(root, prefix)


def _s3_options(settings: ClusterSettings) -> "S3Options":
    from codecompass.cluster.stores.s3 import S3Options

    bucket, _, prefix = settings.segments.removeprefix(S3_SCHEME).partition("/")
    prefix = prefix.rstrip("/")
    if not _BUCKET.fullmatch(bucket) or (prefix and not _PREFIX.fullmatch(prefix)):
        raise InvalidInput(
            "cluster.segments must be s3://BUCKET or s3://BUCKET/PREFIX: the bucket in lower-case letters, digits, dots and "
            "hyphens, the prefix in letters, digits, dots, hyphens, underscores and slashes.",
            field="cluster.segments",
        )
    if settings.s3_endpoint and ((address := parse_address(settings.s3_endpoint)) is None or address.path):
        raise InvalidInput(
            f"cluster.s3_endpoint must be an http(s):// address without user and path, not {without_user(settings.s3_endpoint)}.",
            field="cluster.s3_endpoint",
        )
    if bool(settings.s3_access_key_file) != bool(settings.s3_secret_key_file):
        missing = "s3_secret_key_file" if settings.s3_access_key_file else "s3_access_key_file"
        raise InvalidInput(
            f"cluster.s3_access_key_file and cluster.s3_secret_key_file belong together; set cluster.{missing} too.",
            field=f"cluster.{missing}",
        )
    return S3Options(
        bucket=bucket,
        prefix=prefix,
        endpoint=settings.s3_endpoint.rstrip("/"),
        region=settings.s3_region,
        has_bucket_in_path=settings.s3_path_style,
        access_key_file=settings.s3_access_key_file,
        secret_key_file=settings.s3_secret_key_file,
        ca_file=settings.s3_ca_file,
        timeout_seconds=settings.s3_timeout_ms / 1000,
    )
