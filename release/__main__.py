"""`make release`: builds, checks and describes the files of a release of the commit that is checked out."""

import argparse
import os
import sys
import tempfile
import tomllib
from pathlib import Path

from release.bill import require_complete, write_bill
from release.building import build_reproducibly
from release.bundle import pack_bundle
from release.checking import check_built, check_bundle
from release.checksums import write_checksums
from release.definition import DEFINITION
from release.interpreters import interpreters, supported_versions
from release.notes import release_notes
from release.source import ReleaseError, export, read_commit

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Returns the exit code: 0 if all files are in the directory and right."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="directory of the files, by default dist/")
    parser.add_argument("--python", action="append", metavar="VERSION", help="check on this version alone, such as 3.12")
    options = parser.parse_args()
    try:
        make_release(options.out.absolute(), tuple(options.python or ()))
    except ReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    return 0


def make_release(target: Path, wanted: tuple[str, ...]) -> None:
    """Writes the files of a release into a directory. Raises ReleaseError at the first thing that is not right."""
    commit = read_commit(ROOT)
    if commit.changed:
        raise ReleaseError(f"not committed: {', '.join(commit.changed)}")
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        source = Path(scratch) / "source"
        source.mkdir()
        export(ROOT, commit, source)
        version = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
        notes = release_notes((source / "CHANGELOG.md").read_text(encoding="utf-8"), version)
        versions = supported_versions(source / "pyproject.toml")
        found = interpreters(wanted or versions, os.environ)
        for missing in sorted({*(wanted or versions)} - found.keys()):
            print(f"not checked on Python {missing}: this machine has none", flush=True)
        if not found:
            raise ReleaseError("no Python to check on")
        target.mkdir(parents=True, exist_ok=True)
        built = build_reproducibly(ROOT, commit, target)
        print(f"built twice from {commit.id[:12]}, the same bytes: {built.wheel.name}, {built.sdist.name}", flush=True)
        environment = check_built(built, version, found, Path(scratch))
        bill = target / f"codecompass-{version}.cdx.json"
        write_bill(environment, source / "pyproject.toml", bill)
        require_complete(bill, built.wheel, version)
        bundle = pack_bundle(source, built.wheel, DEFINITION, commit, target)
        check_bundle(bundle, version, Path(scratch) / "bundle")
        told = target / f"codecompass-{version}-notes.md"
        told.write_text(notes, encoding="utf-8")
        sums = write_checksums([built.wheel, built.sdist, bundle, bill, told], target)
    print(f"wrote {sums}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
