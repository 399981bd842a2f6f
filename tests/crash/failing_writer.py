"""Publishes in one way, again and again, with each of its system calls failing once: python -m tests.crash.failing_writer WAY TOP

To be run under LD_PRELOAD of `tests/support/failing_calls.c`. Prints a line of JSON for each failure that left neither the old
state nor the new one, and at last one with the number of calls. STEP and FIRST (arguments) choose which calls fail besides those
that make something durable or give it its name.
"""

import ctypes
import errno
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from codecompass.errors import CodeCompassError, IndexNotReady
from codecompass.languages.records import Chunk
from codecompass.store.epochs import require_compatible
from codecompass.store.forks import ForkSource, NotForkable
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.publication import write_guard
from codecompass.store.registry import open_registry
from codecompass.store.vectors import FileTexts, TextPlace, VectorSpace, VectorsUnusable, vectors_for_reading, vectors_for_writing
from codecompass.store.writer import IndexWriter
from codecompass.worker.messages import FileText

FAILURES = {"EIO once": (errno.EIO, 0), "ENOSPC for good": (errno.ENOSPC, 1)}
FILES = ("a.txt", "b.txt", "c.txt")
SPACE = VectorSpace(model="m", dimensions=4, reading="1")
ALWAYS = "fr"
"""The first letters of the calls that fail whatever the step is: fsync, fdatasync, ftruncate, rename."""
PUBLISHED, REFUSED, BROKEN = 0, 10, 20


def index_of(home: HomeLayout, number: int = 0) -> ProjectLayout:
    return home.project(f"{number:016x}")


def write(layout: ProjectLayout, version: str, **options: object) -> None:
    """Publishes files that all hold the version; one exists only in new versions."""
    with write_guard(layout):
        writer = IndexWriter(layout, **{"fresh": False, **options})
        try:
            for path in (*FILES, *(["new.txt"] if version != "v1" else [])):
                text = f"{version}\n"
                chunk = Chunk(1, 1, text, names=version)
                writer.write_text(
                    FileText(path, "indexed", size=len(text), content_hash=text.encode(), line_count=1, chunks=(chunk,))
                )
            writer.publish(completeness="complete", ref=version, commit="", rules_fingerprint="")
        finally:
            writer.abandon()


def version_of(layout: ProjectLayout) -> str:
    """Reads both stores completely; returns the one version in them, '' if there is no index."""
    index = WorkspaceIndex(layout, layout.project_id)
    try:
        with index.snapshot() as snapshot:
            rows = snapshot.facts.files()
            found = {"".join(chunk.text for chunk in snapshot.text.file_chunks(row.id)).strip() for row in rows}
            found |= {row.content_hash.decode().strip() for row in rows} | {snapshot.meta.ref}
            assert len(found) == 1, found
            assert len(rows) == snapshot.meta.file_count == len(FILES) + (found != {"v1"}), rows
            return found.pop()
    except IndexNotReady:
        return ""
    finally:
        index.close()


def source_of(home: HomeLayout, number: int) -> ForkSource:
    return ForkSource(index_of(home, number), require_compatible(index_of(home, number)).epoch)


def write_again(home: HomeLayout) -> None:
    write(index_of(home), "v3", fresh=version_of(index_of(home)) == "")


def names(home: HomeLayout) -> str:
    with open_registry(home) as registry:
        return ",".join(sorted(project.root.name for project in registry.projects()))


def register(home: HomeLayout, *roots: str) -> None:
    with open_registry(home) as registry:
        for root in roots:
            registry.register(Path("/srv") / root)


def make_vectors(home: HomeLayout, version: str) -> None:
    with vectors_for_writing(index_of(home), SPACE) as store:
        store.add([(version.encode(), bytes(16))])
        store.put_files([FileTexts("a.py", version.encode(), (TextPlace(version.encode(), 1, 3, "fn"),))])


def vectors(home: HomeLayout) -> str:
    with vectors_for_reading(index_of(home), SPACE) as store:
        return ",".join(found.decode() for found in store.files().values())


class Way:
    """One way to publish. `old` and `new` are what `look` returns before and after `change`; `again` must give `last`."""

    def __init__(
        self,
        prepare: Callable[[HomeLayout], object],
        change: Callable[[HomeLayout], object],
        old: str = "v1",
        new: str = "v2",
        last: str = "v3",
        look: Callable[[HomeLayout], str] = lambda home: version_of(index_of(home)),
        again: Callable[[HomeLayout], object] = write_again,
    ) -> None:
        self.prepare, self.change, self.old, self.new, self.last = prepare, change, old, new, last
        self.look, self.again = look, again


def first(home: HomeLayout) -> None:
    write(index_of(home), "v1", fresh=True)


def two(home: HomeLayout) -> None:
    first(home)
    write(index_of(home, 1), "v1", fresh=True)


def shared(home: HomeLayout) -> None:
    """An index whose facts another one has as its base."""
    first(home)
    write(index_of(home, 1), "v2", fresh=True, source=source_of(home, 0))


def both(home: HomeLayout) -> str:
    """The version of the first index, if that of the second, from which it was forked, is intact."""
    assert version_of(index_of(home, 1)) == "v1"
    return version_of(index_of(home))


def intact_fork(home: HomeLayout) -> str:
    """The version of the first index, if the fork of it is intact."""
    assert version_of(index_of(home, 1)) == "v2"
    return version_of(index_of(home))


WAYS = {
    "first": Way(lambda home: home.root.mkdir(), lambda home: write(index_of(home), "v2", fresh=True), old=""),
    "update": Way(first, lambda home: write(index_of(home), "v2")),
    "rebuild": Way(first, lambda home: write(index_of(home), "v2", fresh=True)),
    "parking": Way(first, lambda home: write(index_of(home), "v2", fresh=True, source=source_of(home, 0), parks=True)),
    "fork": Way(two, lambda home: write(index_of(home), "v2", fresh=True, source=source_of(home, 1)), look=both),
    "shared": Way(shared, lambda home: write(index_of(home), "v2"), look=intact_fork),
    "first registration": Way(
        lambda home: home.root.mkdir(), lambda home: register(home, "two"), "", "two", "three,two", names,
        lambda home: register(home, "two", "three"),
    ),
    "registration": Way(
        lambda home: register(home, "one"), lambda home: register(home, "two"), "one", "one,two", "one,three,two", names,
        lambda home: register(home, "two", "three"),
    ),
    "vectors": Way(
        lambda home: (first(home), make_vectors(home, "v1")), lambda home: make_vectors(home, "v2"), look=vectors,
        again=lambda home: make_vectors(home, "v3"),
    ),
}  # fmt: skip


def in_child(work: Callable[[], int]) -> int:
    """Runs work in a fork of this process, which has no threads; returns its exit code."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = BROKEN
    try:
        code = work()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def attempt(way: Way, home: HomeLayout, calls: ctypes.CDLL, number: int, failure: str) -> tuple[int, int, str]:
    """Prepares, and publishes with call `number` failing.

    Returns the exit code, the number of calls and the one that failed; if none did, the first letters of all.
    """
    note = home.root.with_name(home.root.name + ".note")

    def publish() -> int:
        way.prepare(home)
        error, for_good = FAILURES[failure]
        calls.failing_arm(os.fsencode(home.root), number, error, for_good)
        try:
            way.change(home)
        except (CodeCompassError, NotForkable, VectorsUnusable, OSError):
            code = REFUSED
        else:
            code = PUBLISHED
        finally:
            n_calls = calls.failing_disarm()
            note.write_text(f"{n_calls} {calls.failing_kinds().decode()} {calls.failing_name().decode()}")
        return code

    code = in_child(publish)
    n_calls, kinds, name = note.read_text().split(" ", 2)
    return code, int(n_calls), name or kinds


def check(way: Way, home: HomeLayout, published: int) -> int:
    """In a process that has not seen the failure: the old state or the new one, and the next publication succeeds."""
    found = way.look(home)
    assert found in ((way.new,) if published == PUBLISHED else (way.old, way.new)), (found, published)
    way.again(home)
    assert way.look(home) == way.last
    return PUBLISHED


def main(name: str, top: str, step: str = "1", first_call: str = "1") -> None:
    """Lets each call of a way fail, in every way of FAILURES."""
    way, calls = WAYS[name], ctypes.CDLL(None)
    calls.failing_name.restype = ctypes.c_char_p
    calls.failing_disarm.restype = ctypes.c_long
    calls.failing_arm.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int)
    calls.failing_kinds.restype = ctypes.c_char_p
    code, n_calls, kinds = attempt(way, HomeLayout(Path(top) / "whole"), calls, 0, "EIO once")
    assert code == PUBLISHED, "it fails by itself"
    for failure in FAILURES:
        for number in range(1, n_calls + 1):
            if (number - int(first_call)) % int(step) and kinds[number - 1] not in ALWAYS:
                continue
            home = HomeLayout(Path(top) / f"{failure[:3]}{number}")
            code, _, call = attempt(way, home, calls, number, failure)
            after = in_child(lambda home=home, code=code: check(way, home, code))  # type: ignore[misc]
            if code == BROKEN or after != PUBLISHED:
                print(json.dumps({"way": name, "failure": failure, "number": number, "call": call, "code": code, "after": after}))
    print(json.dumps({"n_calls": n_calls}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
