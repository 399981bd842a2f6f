"""What a node is made of: a Java of the right version, and OpenSearch unpacked.

The plain distribution comes by its Maven coordinates, once for a checkout, into `.venv/opensearch`; CODECOMPASS_OPENSEARCH_HOME
names another one, unpacked (a plain one too: nothing here configures the plugins of the full distribution).
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
"""From what runs our settings to the last one that OpenSearch 2.19 is tested with; 24 took the security manager away."""

FETCH_SECONDS = 240
"""56 MB, and Maven's own plugins where it never ran before."""


class Missing(Exception):
    """This machine has not what nodes need; the text says what."""


class FetchFailed(Exception):
    """Maven is there, but the distribution did not come; the text is Maven's."""


def java_home() -> Path:
    """Returns the directory of the first Java with an accepted version: that of JAVA_HOME, or else `java` on the PATH.

    Raises:
        Missing: There is none.
    """
    named = os.environ.get("JAVA_HOME")
    seen = []
    for java in (shutil.which("java", path=str(Path(named, "bin"))) if named else None, shutil.which("java")):
        if java is None:
            continue
        # Its own word, because `java` may be a link, or a program that looks for the real one.
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
    """Returns the directory of an unpacked OpenSearch, which it fetches where needed; several processes may ask at once.

    Raises:
        Missing: It has to be fetched, and there is no `mvn`; or the variable names no distribution.
        FetchFailed: `mvn` did not bring it.
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
                # At once: a fetch that is interrupted leaves nothing that looks whole.
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
        # In an empty directory: a project there would be read.
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
            # Readable for all: the nodes of root run as somebody else.
            path.chmod(0o755 if member.is_dir() or member.external_attr >> 16 & 0o100 else 0o644)
