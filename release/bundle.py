"""Packs the MCP bundle: its manifest, what starts the server, and the wheel, so that only its dependencies are downloaded."""

import time
import zipfile
from pathlib import Path

from release.definition import Definition
from release.outlets import wheel_name
from release.source import Commit, ReleaseError

FILES = ("manifest.json", "pyproject.toml", "server.py")
MODE = 0o100644


def pack_bundle(source: Path, wheel: Path, definition: Definition, commit: Commit, target: Path) -> Path:
    """Writes the bundle of the files in the repository `source` into the directory `target` and returns its file.

    The same commit gives the same bytes. Raises ReleaseError if the wheel is not the one that the bundle names.
    """
    if wheel.name != wheel_name(definition):
        raise ReleaseError(f"the bundle names {wheel_name(definition)}, not {wheel.name}")
    contents = {name: (source / "plugins/bundle" / name).read_bytes() for name in FILES}
    contents |= {"LICENSE": (source / "LICENSE").read_bytes(), wheel.name: wheel.read_bytes()}
    bundle = target / f"{definition.name}-{definition.version}.mcpb"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, date_time=time.gmtime(commit.seconds)[:6])
            entry.external_attr = MODE << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, contents[name])
    return bundle
