"""An organisation of thirty real repositories without a network: packages installed in every development environment, each
committed to a local git remote; and the processes of workers and servers.

Some of the repositories are *edited*: each commit writes its number into several files, so that an answer that mixes generations
is noticed. Each repository has a unique word, so that a leak is noticed.
"""

import secrets
import sys
import sysconfig
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.indexing.schedule import Times
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.manifests import ManifestReader
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.generations import Generations
from codecompass.cluster.stores.opening import open_store
from codecompass.settings import ClusterSettings
from tests.cluster.git_remote import GitRemote
from tests.cluster.nodes import free_ports
from tests.cluster.processes import DEADLINE_SECONDS, POLL_SECONDS, LoggedProcess
from tests.cluster.working import LIMITS, WorkerProcess

N_REPOSITORIES = 30
FILES = range(5, 61)
MOST_BYTES = 450_000
"""Of the sources of a package, so that thirty are indexed in half a minute."""

N_EDITED = 6
COPIES = ("one", "two", "three", "four")
"""The files of an edited repository that contain the number of its commit."""

TIMES = Times(lease=3, poll=30, grace=12, first_backoff=0.5, longest_backoff=2, affinity=0.5)
"""A tenth of the production times, except grace, within which each request must end. Pushes are announced as by webhooks."""

NUMBER = "NUMBER_OF_THE_COMMIT"
EVERYWHERE = "IN_EACH_REPOSITORY"
N_WORKERS = 2
N_SERVERS = 2


def installed_packages() -> dict[str, dict[str, str]]:
    """Returns the sources of the thirty largest installed packages within the limits: by name, then by path."""
    base = Path(sysconfig.get_paths()["purelib"])
    found = []
    for directory in base.iterdir():
        paths = sorted(directory.rglob("*.py")) if directory.is_dir() else []
        size = sum(path.stat().st_size for path in paths)
        if len(paths) in FILES and size <= MOST_BYTES:
            found.append((-size, directory.name, paths))
    assert len(found) >= N_REPOSITORIES, f"only {len(found)} packages that are neither small nor large are installed"
    return {
        name: {str(path.relative_to(base)): path.read_text("utf-8", "replace") for path in paths}
        for _, name, paths in sorted(found)[:N_REPOSITORIES]
    }


class Pushed(Struct):
    """A repository as last pushed."""

    remote: GitRemote
    repo_id: str
    groups: tuple[str, ...]
    word: str
    n_files: int = 0
    """Number of its indexed files."""
    number: int = 0
    commits: dict[str, int] = {}
    """All pushed commits, with their numbers."""

    @property
    def commit(self) -> str:
        return next(reversed(self.commits))


UNLIMITED = {"CODECOMPASS_ACCESS_MAX_REQUESTS_PER_MINUTE": "0"}
"""The clients of these tests ask without a pause for minutes."""


class Thirty:
    """The organisation. Each method blocks; not thread-safe."""

    def __init__(self, urls: Sequence[str], directory: Path) -> None:
        self.urls = tuple(urls)
        self.directory = directory
        self.prefix = f"t{secrets.token_hex(5)}"
        self.engine = Engine(urls, prefix=self.prefix, patience=60)
        self.engine.prepare()
        self.repositories = Repositories(self.engine, LIMITS.protocols)
        self.segments = directory / "segments"
        self.segments.mkdir(parents=True)
        self.store = open_store(ClusterSettings(prefix=self.prefix, segments=str(self.segments)))
        self.manifests = ManifestReader(self.engine)
        self.generations = Generations(self.engine, self.store, directory / "read")
        tokens = Tokens(self.engine)
        self.tokens = {group: tokens.add(f"agent of {group}", [group]) for group in ("red", "blue")}
        self.pushed: dict[str, Pushed] = {}
        for number, (name, files) in enumerate(installed_packages().items()):
            self._add(number, name, files)
        self.workers: list[WorkerProcess] = []
        self.servers: list[LoggedProcess] = []
        self.ports: list[int] = []

    def start(self) -> None:
        """Starts workers and servers."""
        self.workers += [self._worker(number) for number in range(N_WORKERS)]
        self.servers += [self._server(number, port) for number, port in enumerate(free_ports(N_SERVERS))]
        self.ports += [int(str(server.wait_for("http_listening")["port"])) for server in self.servers]

    def _add(self, number: int, name: str, files: Mapping[str, str]) -> None:
        groups = {N_REPOSITORIES - 1: (), N_REPOSITORIES - 2: ("everyone",)}.get(
            number, (("red",), ("blue",), ("red", "blue"))[number % 3]
        )
        word = f"only_in_{secrets.token_hex(8)}"
        remote = GitRemote(self.directory / "remotes", name)
        mark = {"mark.py": f'{EVERYWHERE} = "{word}"\n'}
        commit = remote.push({**files, **mark, **(numbered(0) if number < N_EDITED else {})})
        added = self.repositories.add(remote.url, groups=groups, name=name).repository
        self.pushed[name] = Pushed(remote, added.repo_id, groups, word, commits={commit: 0})

    @property
    def edited(self) -> list[str]:
        return list(self.pushed)[:N_EDITED]

    def seen_by(self, group: str) -> frozenset[str]:
        """Returns the names of the repositories visible to the token of a group."""
        return frozenset(name for name, each in self.pushed.items() if {group, "everyone"} & set(each.groups))

    def push(self, name: str, *, rewrites: bool = False) -> None:
        """Commits the next number to an edited repository, and announces the push as a webhook does."""
        each = self.pushed[name]
        each.number += 1
        commit = each.remote.push(numbered(each.number), amends=rewrites)
        each.commits[commit] = each.number
        self.engine.patiently(lambda: self.repositories.note_changed(each.repo_id))

    # Processes.

    def _worker(self, number: int) -> WorkerProcess:
        return WorkerProcess(",".join(self.urls), self.prefix, self.directory / f"worker{number}", TIMES)

    def _server(self, number: int, port: int) -> LoggedProcess:
        command = ["serve-mcp", "--transport", "http", "--store", "opensearch", "--port", str(port), "--tools", "all"]
        engine = ["--cluster-url", ",".join(self.urls), "--cluster-prefix", self.prefix, "--log-level", "info"]
        home = self.directory / f"server{number}"
        environment = {"CODECOMPASS_HOME": str(home), "CODECOMPASS_CLUSTER_SEGMENTS": str(self.segments), **UNLIMITED}
        log = self.directory / f"server{number}-{len(list(self.directory.glob(f'server{number}-*.log')))}.log"
        return LoggedProcess([sys.executable, "-m", "codecompass", *command, *engine], log, environment)

    def kill_worker(self, number: int) -> None:
        """Kills a worker, and starts another one with its disk."""
        self.workers[number].kill()
        self.workers[number].end()
        self.workers[number] = self._worker(number)

    def start_server_again(self, number: int) -> None:
        """Restarts a killed server at its address."""
        self.servers[number].end()
        self.servers[number] = self._server(number, self.ports[number])
        self.servers[number].wait_for("http_listening")

    def end(self) -> None:
        """Ends all processes."""
        for process in (*self.workers, *self.servers):
            process.end()
        self.generations.close()
        self.engine.close()

    # Results.

    def now(self, name: str) -> Repository:
        found = self.engine.patiently(lambda: self.repositories.get(self.pushed[name].repo_id))
        assert found is not None
        return found

    def wait_until_published(self, names: Collection[str] = ()) -> None:
        """Waits until the last pushed commits of these repositories, or of all, are published."""

        def is_published(name: str) -> bool:
            head = self.now(name).default_head
            return head is not None and head.commit == self.pushed[name].commit

        waiting = set(names or self.pushed)

        def are_published() -> bool:
            waiting.difference_update([name for name in waiting if is_published(name)])
            return not waiting

        wait_until(are_published, lambda: f"never published: {[self.now(name) for name in waiting]}")

    def wait_until_swept(self) -> None:
        """Waits until no repository has pending work, and what was replaced has been removed."""

        def busy() -> list[Repository]:
            every = self.engine.patiently(lambda: self.repositories.listed(with_removed=True, is_current=True))
            return [each for each in every if each.lease is not None or each.is_pending or each.retired]

        wait_until(lambda: not busy(), lambda: f"never swept: {busy()}")

    def differences(self) -> dict[str, object]:
        """Returns by repository how the engine's contents differ from those of its newest commit."""
        self.engine.refresh(self.engine.names.manifests)
        found = {name: difference for name in self.pushed if (difference := self._difference(name))}
        known = {each.repo_id for each in self.pushed.values()}
        strangers = (set(self._manifests({"match_all": {}}).values()) | set(self.store.repositories())) - known
        return {**found, **({"strangers": strangers} if strangers else {})}

    def _difference(self, name: str) -> dict[str, object]:
        each = self.pushed[name]
        head = self.now(name).default_head
        assert head is not None
        manifest = self.manifests.manifest(head.generation)
        pairs = {
            "segments": (self.store.keys(each.repo_id), sorted({file.key for file in manifest.segments})),
            "commit": (head.commit, each.commit),
            "files": (head.file_count, each.n_files),
            "manifests": (self._manifests({"term": {"repo_id": each.repo_id}}).keys(), {head.generation}),
        }
        return {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}

    def _manifests(self, query: Mapping[str, object]) -> dict[str, str]:
        """Returns the ids of repositories by generation."""
        found = self.engine.documents(self.engine.names.manifests, dict(query))
        return {each.id: msgspec.json.decode(each.source)["repo_id"] for each in found}


def numbered(number: int) -> dict[str, str]:
    """Returns the files that contain the number of a commit."""
    return {f"numbered/{each}.py": f"{NUMBER} = {number}\n\n\ndef number_{each}():\n    return {NUMBER}\n" for each in COPIES}


def wait_until(holds: Callable[[], bool], otherwise: Callable[[], str] = lambda: "never so") -> None:
    """Waits for other processes to make a condition hold."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            if holds():
                return
        except EngineUnavailable:
            if time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline:
            raise AssertionError(otherwise())
        time.sleep(POLL_SECONDS)
