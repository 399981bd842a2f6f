"""Homes that earlier versions of the program made, one for each format of index and registry that has ever been in use.

`tests/testdata/homes/SCHEMA-PARSER-REGISTRY.tar.gz` is the home of a user with one project: the `SHOP` of
`tests/cli/conftest.py` at /srv/shop, indexed, renamed `little-shop`, and in the group `storefront` if the program knew groups.
REGISTRY is the version in the file: 4 came between 3 and the 3 of today. A format gets a home when the next one is begun: index
such a project with the last program of the old one, `relocate` it to /srv/shop, and pack it without `registry.reserve`.
"""

import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

from codecompass.identity import project_id

HOMES = Path(__file__).parents[1] / "testdata" / "homes"

ROOT = Path("/srv/shop")

NAME = "little-shop"

GROUP = "storefront"


def all_homes() -> list[str]:
    """Returns the names of the homes, oldest format first."""
    return sorted((path.name.removesuffix(".tar.gz") for path in HOMES.iterdir()), key=versions)


def versions(name: str) -> tuple[int, int, int]:
    """Returns the versions of the index's schema, the parser and the registry that made a home."""
    schema, parser, registry = map(int, name.split("-"))
    return schema, parser, registry


def has_group(name: str) -> bool:
    """Returns whether the project of a home is in the group."""
    return versions(name) >= (6, 7, 4)


def unpack(name: str, home: Path, root: Path) -> None:
    """Makes a home as it was, of a project at `root` instead."""
    home.mkdir(mode=0o700, parents=True)
    with tarfile.open(HOMES / f"{name}.tar.gz") as archive:
        archive.extractall(home, filter="data")
    relocate(home, ROOT, root)


def relocate(home: Path, before: Path, root: Path) -> None:
    """Changes the root of the only project of a home."""
    old, new = project_id(before), project_id(root)
    (home / "projects" / old).rename(home / "projects" / new)
    with closing(sqlite3.connect(home / "registry.db")) as registry, registry:
        registry.execute("UPDATE projects SET root = ?, project_id = ? WHERE project_id = ?", (os.fsencode(root), new, old))
        tables = {table for (table,) in registry.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in {"jobs", "project_groups"} & tables:
            registry.execute(f"UPDATE {table} SET project_id = ? WHERE project_id = ?", (new, old))
