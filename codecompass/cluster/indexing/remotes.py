"""Access to remotes with this machine's git: listing their refs, and mirrors of the wanted commits.

Credentials come from git's own helpers and from ssh; nobody is prompted. A remote may be slow, endless or hostile: each command
has a deadline, is ended if nothing arrives any more, and transfers a bounded number of bytes. Mirrors are shallow: they hold only
the newest commit of each wanted ref, because an index needs no history.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from codecompass.cluster.indexing.remote_refs import Listing, RemoteRef, listing_patterns, parse_listing
from codecompass.errors import CodeCompassError
from codecompass.nurseries import open_nursery
from codecompass.scan.git_process import GitCommand, git_command
from codecompass.scan.git_remotes import DEFAULT_PROTOCOLS, without_credentials
from codecompass.scan.git_repository import GitRepository, repository_at
from codecompass.store.filesystem import disk_usage
from codecompass.store.layout import make_private_directory
from codecompass.units import GIB, HOURS, KIB, MIB, MINUTES, SECONDS

MAX_LISTING_BYTES: Final = 64 * MIB
MAX_ERROR_BYTES: Final = 64 * KIB
_READ_BYTES: Final = 64 * KIB
_LOOK_SECONDS: Final = 1 * SECONDS
_WANTED: Final = "refs/wanted/"

MAX_PACKS: Final = 20
"""Packs of a mirror from which they are repacked into one, without unreachable objects."""

_ALLOWED_VARIABLES: Final = re.compile(
    r"GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|ASKPASS|PROXY_\w+|HTTP_\w+|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+))"
)
"""Git's variables that say how to reach a remote. The others are dropped, because they refer to another repository."""


class RemoteError(CodeCompassError):
    """A git command on a remote failed. The message says what to do on the worker's machine."""

    code = "remote_failed"
    is_retryable = True


class RemoteLimits(Struct, frozen=True, kw_only=True):
    """Limits of the access to a remote."""

    protocols: tuple[str, ...] = DEFAULT_PROTOCOLS
    """Protocols that git may use."""
    listing_seconds: float = 1 * MINUTES
    fetch_seconds: float = 2 * HOURS
    silence_seconds: float = 5 * MINUTES
    """Time without any output or data. A server may compress a large repository for minutes."""
    max_bytes: int = 20 * GIB
    """Size of a mirror on disk."""


class Mirror:
    """The commits of one repository on this machine, in a git directory without a working tree.

    Only the holder of the repository's lock in this home may use it.
    """

    def __init__(self, root: Path, limits: RemoteLimits, depth: int = 1) -> None:
        """`depth` is how many generations of commits are fetched."""
        self.root: Final = root
        """Can be used as the root of a workspace, because it has a `.git`."""
        self._git: Final = root / ".git"
        self._limits = limits
        self._depth = depth

    async def fetch(self, url: str, refs: Sequence[RemoteRef]) -> None:
        """Fetches the remote's current commits of `refs`. Raises RemoteError, OSError."""
        if not refs:
            return
        await self._prepare(is_long=len(refs[0].object_id) > 40)
        refspecs = [f"+{ref.reference}:{ref.local}" for ref in refs]
        options = (
            *("--force", f"--depth={self._depth}", "--no-tags", "--no-write-fetch-head"),
            *("--no-auto-maintenance", "--no-recurse-submodules"),
        )
        command = _command(self._limits, self.root, "fetch", "--progress", *options, "--", url, *refspecs)
        try:
            await _run(command, self._limits, url=url, seconds=self._limits.fetch_seconds, size=self._size)
        except RemoteError as error:
            if not error.data.get("is_remotes"):
                # The mirror may be damaged. It is only a copy, and the next attempt creates it again.
                await trio.to_thread.run_sync(self.remove)
            raise

    async def keep_only(self, refs: Collection[RemoteRef]) -> None:
        """Deletes all other refs, and repacks if there are more than MAX_PACKS packs. Raises RemoteError."""
        kept = {ref.local for ref in refs}
        listed = await self._local("for-each-ref", "--format=%(refname)", _WANTED)
        for name in listed.decode("ascii", "replace").split():
            if name not in kept:
                await self._local("update-ref", "-d", name)
        packs = await trio.to_thread.run_sync(lambda: len(list((self._git / "objects" / "pack").glob("*.pack"))))
        if packs > MAX_PACKS:
            await self._local("-c", "gc.pruneExpire=now", "gc", "--quiet", "--prune=now")

    def remove(self) -> None:
        """Deletes the mirror. Blocking."""
        shutil.rmtree(self.root, ignore_errors=True)

    def repository(self) -> GitRepository | None:
        """Returns the mirror for reading, or None before the first fetch."""
        return repository_at(os.path.realpath(self.root))

    async def _prepare(self, *, is_long: bool) -> None:
        wanted = "sha256" if is_long else "sha1"
        if (self._git / "HEAD").exists():
            there = (await self._local("rev-parse", "--show-object-format")).decode("ascii", "replace").strip()
            if there != wanted:
                await trio.to_thread.run_sync(self.remove)
            else:
                await trio.to_thread.run_sync(self._remove_leftovers)
                return
        await trio.to_thread.run_sync(make_private_directory, self.root)
        await self._local("init", "--quiet", "--template=", f"--object-format={wanted}", ".")
        await self._local("config", "core.bare", "true")

    def _remove_leftovers(self) -> None:
        """Removes temporary files and locks of a killed fetch."""
        pack = self._git / "objects" / "pack"
        for path in (*pack.glob("tmp_*"), *pack.glob(".tmp-*"), *self._git.glob("*.lock")):
            path.unlink(missing_ok=True)

    def _size(self) -> int:
        return disk_usage(self._git / "objects")

    async def _local(self, *arguments: str) -> bytes:
        try:
            return await _run(
                _command(self._limits, self.root, *arguments), self._limits, url="", seconds=self._limits.fetch_seconds
            )
        except RemoteError:
            await trio.to_thread.run_sync(self.remove)
            raise


async def list_remote(url: str, wanted: Sequence[str], limits: RemoteLimits) -> Listing:
    """Returns the remote's refs, at least the wanted ones. Raises RemoteError."""
    command = _command(limits, None, "ls-remote", "--symref", "--", url, *listing_patterns(wanted))
    return parse_listing(await _run(command, limits, url=url, seconds=limits.listing_seconds))


def _command(limits: RemoteLimits, directory: Path | None, *command: str) -> GitCommand:
    """Returns a command that is run in a mirror's `directory`; None for one without a repository."""
    place = Path("/") if directory is None else directory
    return git_command(
        *command,
        ceiling=str(place.parent),
        options=("-C", str(place)),
        settings=(
            *("maintenance.auto=false", "gc.auto=0", "fetch.unpackLimit=1", "fetch.writeCommitGraph=false"),
            *("submodule.recurse=false", "fetch.recurseSubmodules=false"),
            *("http.lowSpeedLimit=1000", f"http.lowSpeedTime={limits.silence_seconds:.0f}"),
        ),
        protocols=limits.protocols,
        inherited=_ALLOWED_VARIABLES,
    )


class _Progress:
    """The output of a command so far, and the number of bytes read."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.errors = bytearray()
        self.n_bytes = 0


async def _run(
    command: GitCommand, limits: RemoteLimits, *, url: str, seconds: float, size: Callable[[], int] | None = None
) -> bytes:
    """Runs git and returns its output. `size` returns the bytes that it has stored so far. Raises RemoteError.

    It runs without a terminal, so neither git nor ssh can prompt. Its child processes are killed in any case, also if cancelled.
    """
    try:
        process = await trio.lowlevel.open_process(
            command.arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=command.environment,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise RemoteError(
            f"git could not be started ({error.strerror}). Install git on the machine of the worker, and check its limits."
        ) from error
    progress = _Progress()
    ended_for = ""
    try:
        with trio.CancelScope(deadline=trio.current_time() + seconds) as scope:
            async with open_nursery() as nursery:

                def end(cause: str) -> None:
                    nonlocal ended_for
                    ended_for = cause
                    nursery.cancel_scope.cancel()

                nursery.start_soon(_watch, progress, limits, size, end)
                async with open_nursery() as reading:
                    reading.start_soon(_collect, process.stdout, progress.output, MAX_LISTING_BYTES, progress, end)
                    reading.start_soon(_collect, process.stderr, progress.errors, MAX_ERROR_BYTES, progress, None)
                await process.wait()
                nursery.cancel_scope.cancel()
        if scope.cancelled_caught:
            ended_for = f"it took longer than {seconds:.0f} seconds"
    finally:
        with trio.CancelScope(shield=True):
            _kill(process)
            await process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    await stream.aclose()
    if ended_for:
        raise _failure(url, ended_for, "")
    if process.returncode != 0:
        raise _failure(url, "", progress.errors.decode("utf-8", "replace"))
    return bytes(progress.output)


async def _collect(
    stream: trio.abc.ReceiveStream | None,
    kept: bytearray,
    max_bytes: int,
    progress: _Progress,
    end: Callable[[str], None] | None,
) -> None:
    """Reads a stream to its end. Beyond `max_bytes` it calls `end` and stops or, without `end`, keeps only the last bytes."""
    assert stream is not None
    async with stream:
        async for piece in stream:
            progress.n_bytes += len(piece)
            kept += piece
            if len(kept) > max_bytes:
                if end is not None:
                    end(f"it listed more than {max_bytes // MIB} MiB of refs")
                    return
                del kept[:-max_bytes]


async def _watch(progress: _Progress, limits: RemoteLimits, size: Callable[[], int] | None, end: Callable[[str], None]) -> None:
    """Ends the command if nothing has arrived for `silence_seconds`, or if it has stored more than `max_bytes`."""
    state, since = (0, 0), trio.current_time()
    while True:
        await trio.sleep(min(_LOOK_SECONDS, limits.silence_seconds))
        n_stored = 0 if size is None else await trio.to_thread.run_sync(size, abandon_on_cancel=True)
        if n_stored > limits.max_bytes:
            end(f"its mirror would take more than {limits.max_bytes / GIB:.1f} GiB")
            return
        now = (progress.n_bytes, n_stored)
        if now != state:
            state, since = now, trio.current_time()
        elif trio.current_time() - since >= limits.silence_seconds:
            end(f"nothing came for {limits.silence_seconds:.0f} seconds")
            return


def _kill(process: trio.Process) -> None:
    """Kills git and its child processes. Does nothing if git has ended, because its process id may have been reused."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


_CAUSES: Final = (
    (
        re.compile(
            r"could not read (?:username|password)|authentication failed|terminal prompts disabled|(?:error:|HTTP) 40[13]\b|"
            r"permission denied|host key verification failed|access denied",
            re.IGNORECASE,
        ),
        "Give the worker's user a credential for it: a credential helper of git (git help credentials), or for ssh a key and the "
        "key of the host",
    ),
    (
        re.compile(r"not found|does not exist|does not appear to be a git repository|(?:error:|HTTP) 404\b", re.IGNORECASE),
        "Check the address, and whether the worker's user may read it; a repository that is gone is taken out with: codecompass "
        "cluster remove NAME",
    ),
    (
        re.compile(r"transport '.*' not allowed", re.IGNORECASE),
        "Allow the protocol on the machines of the workers (setting cluster.protocols), or add another address of the repository",
    ),
)


def _failure(url: str, ended_for: str, errors: str) -> RemoteError:
    # A remote may send control characters, also where git ends a line.
    lines = [line for line in re.split(r"[\x00-\x08\x0a-\x1f\x7f]+", without_credentials(errors)) if line.strip()]
    said = [line.strip() for line in lines if re.match(r"\s*(?:fatal|error|remote|ssh|.*denied|.*failed)", line, re.IGNORECASE)]
    cause = ended_for or ": ".join((said or lines or ["git ended without a message"])[-3:])
    remedy = next((remedy for pattern, remedy in _CAUSES if not ended_for and pattern.search(cause)), "")
    is_remotes = bool(ended_for or remedy)
    if not url:
        return RemoteError(
            f"the mirror on the worker's machine cannot be used: {cause[:500].rstrip('.')}. It is made anew by the next attempt."
        )
    shown = without_credentials(url)
    if not remedy:
        remedy = f"Workers try again by themselves; on such a machine this shows the same: git ls-remote {shown}"
    return RemoteError(f"{shown} could not be read: {cause[:500].rstrip('.')}. {remedy}.", url=shown, is_remotes=is_remotes)
