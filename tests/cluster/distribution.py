"""The prerequisites of a node: a suitable Java, and an unpacked OpenSearch.

The minimal distribution is fetched by its Maven coordinates, once per checkout, into `.venv/opensearch`;
CODECOMPASS_OPENSEARCH_HOME can name another unpacked one (also minimal: the plugins of the full distribution are not configured
here).
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSION = "2.19.4"
ARTIFACT = f"org.opensearch.distribution.integ-test-zip:opensearch:{VERSION}:zip"
SHA256 = "3902e642715210d1d9d7cbdcc8f5abd6f931d1d7a679cea3750937becf16c406"
CACHE = Path(__file__).parents[2] / ".venv" / "opensearch"
HOME_VARIABLE = "CODECOMPASS_OPENSEARCH_HOME"

JAVA_VERSIONS = range(17, 22)
"""From the oldest that runs with our settings to the newest with which OpenSearch 2.19 is tested; 24 has no security manager."""

FETCH_SECONDS = 240
"""For 56 MB, and Maven's own plugins on its first run."""


class Missing(Exception):
    """A prerequisite is missing on this machine; the text names it."""


class FetchFailed(Exception):
    """Maven is installed, but could not fetch the distribution; the text is Maven's."""


def java_home() -> Path:
    """Returns the home of the first Java with an accepted version: that of JAVA_HOME, or else `java` on the PATH.

    Raises:
        Missing: There is none.
    """
    named = os.environ.get("JAVA_HOME")
    seen = []
    for java in (shutil.which("java", path=str(Path(named, "bin"))) if named else None, shutil.which("java")):
        if java is None:
            continue
        # Asks Java itself, because `java` may be a link, or a wrapper that finds the real one.
        told = subprocess.run(
            [java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=60, check=False
        )
        home = re.search(r"^\s*java\.home = (.+)$", told.stderr, re.MULTILINE)
        version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)$", told.stderr, re.MULTILINE)
        if home and version and int(version[1]) in JAVA_VERSIONS:
            return Path(home[1])
        seen.append(f"{java} is {version[1] if version else 'unusable'}")
    wanted = f"Java {JAVA_VERSIONS.start} to {JAVA_VERSIONS.stop - 1} is not there, by JAVA_HOME or on the PATH"
    raise Missing(f"{wanted} ({', '.join(seen)})" if seen else wanted)


def distribution() -> Path:
    """Returns the directory of an unpacked OpenSearch, fetching it if necessary; safe to call from several processes.

    Raises:
        Missing: It has to be fetched, and there is no `mvn`; or the variable names no distribution.
        FetchFailed: `mvn` could not fetch it.
    """
    named = os.environ.get(HOME_VARIABLE)
    if named:
        if not Path(named, "bin", "opensearch").is_file():
            raise Missing(f"{HOME_VARIABLE}={named} has no bin/opensearch; name an unpacked distribution")
        return Path(named).resolve()
    home = CACHE / f"opensearch-{VERSION}"
    if home.is_dir():
        return home
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Missing(f"OpenSearch is not there: install mvn, which fetches it, or name an unpacked one with {HOME_VARIABLE}")
    CACHE.mkdir(parents=True, exist_ok=True)
    with _alone(CACHE / "lock"):
        if not home.is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE, prefix="fetching-") as place:
                _unpack(_fetch(mvn, Path(place)), Path(place, "unpacked"))
                # Atomically, so that an interrupted fetch leaves no directory that looks complete.
                Path(place, "unpacked", home.name).rename(home)
    return home


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(mvn: str, place: Path) -> Path:
    command = [mvn, "--batch-mode", "--quiet", "--strict-checksums", "dependency:copy"]
    options = [f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={place}"]
    try:
        # In an empty directory, because Maven would read a project in it.
        done = subprocess.run([*command, *options], cwd=place, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise FetchFailed(f"{ARTIFACT} did not come within {FETCH_SECONDS} seconds") from error
    archive = place / f"opensearch-{VERSION}.zip"
    if done.returncode or not archive.is_file():
        raise FetchFailed(
            f"mvn dependency:copy of {ARTIFACT} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"
        )
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise FetchFailed(f"{ARTIFACT} has the SHA-256 {found}, expected {SHA256}")
    return archive


def _unpack(archive: Path, place: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            path = Path(packed.extract(member, place))
            # Readable by all: nodes started by root run as another user.
            path.chmod(0o755 if member.is_dir() or member.external_attr >> 16 & 0o100 else 0o644)
