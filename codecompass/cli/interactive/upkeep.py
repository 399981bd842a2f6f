"""The thread that compares the tree with the index during an interactive search, and updates the index.

    no question since the last check    -> do nothing
    a question, then a quiet moment     -> compare; a new question cancels that, but for CHECK_LATEST_SECONDS at most
    files have changed                  -> balanced: run a job; other policies: report it
    another process is writing          -> wait for its end, then compare again
    nothing can be written              -> report it

An answer is called up to date only if its generation was compared with the tree, as of the start of that comparison.
"""

import io
import math
import threading
import time
from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from codecompass import formatting
from codecompass.cli.interactive.finder import message_of
from codecompass.cli.interactive.source import Source, Version, version_of
from codecompass.cli.invocation import GlobalOptions, Invocation
from codecompass.cli.jobs import OTHERS_POLL_SECONDS, JobStop, JobStopped, run_job
from codecompass.cli.readiness import drift_of
from codecompass.cli.terminal import Terminal
from codecompass.errors import IndexInProgress, PermissionDenied
from codecompass.query.metadata import cannot_update
from codecompass.scan.walk import ScanCancelled
from codecompass.store.drift import Drift
from codecompass.store.index import WorkspaceIndex
from codecompass.store.lock import is_locked

QUIET_SECONDS: Final = 0.5
"""A check waits until no question was asked for this long: it takes 15 us a file, in the process that answers."""

RECHECK_SECONDS: Final = 2.0
"""Minimum time between the end of one check and the start of the next."""

CHECK_LATEST_SECONDS: Final = 10.0
"""This long after a question, a check is no longer cancelled, however much is typed: it slows the answers down."""

JOIN_SECONDS: Final = 5.0
"""How long `stop` waits for a job and its worker processes to end."""

Phase = Literal["unknown", "checking", "updating", "waiting", "fresh", "stale", "failed"]


class TreeState(Struct, frozen=True):
    """How fresh the index is. `version` is up to date as of `as_of`, in seconds since 1970.

    `changed` are files whose content is not indexed; `message` says what has changed, or why it cannot be indexed.
    """

    phase: Phase = "unknown"
    version: Version | None = None
    as_of: float = 0.0
    changed: frozenset[str] = frozenset()
    message: str = ""


class Upkeep:
    """Keeps the index of a source up to date. `report` is called in its thread, with each new state."""

    def __init__(self, options: GlobalOptions, source: Source, report: Callable[[TreeState], object]) -> None:
        self._options, self._source, self._report = options, source, report
        self._changed = threading.Condition()
        self._asked_first = math.inf
        self._asked_last = -math.inf
        self._checked_at = -math.inf
        self._began_for = -math.inf
        self._is_forced = False
        self._is_stopped = False
        self._stop = JobStop()
        self._thread = threading.Thread(target=self._run, name="interactive-upkeep", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def note_question(self) -> None:
        """Notes that a question was asked now."""
        with self._changed:
            self._asked_last = time.monotonic()
            self._asked_first = min(self._asked_first, self._asked_last)
            self._changed.notify()

    def check_now(self) -> None:
        """Starts a check as soon as the last one has ended."""
        with self._changed:
            self._is_forced = True
            self._changed.notify()

    def stop(self) -> None:
        """Stops the thread, with the job that it runs, and waits up to JOIN_SECONDS for it. What is published stays."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        self._stop.cancel()
        if self._thread.ident is not None:
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        index = WorkspaceIndex(self._source.layout, self._source.project.project_id)
        try:
            while self._wait_until_due():
                try:
                    self._check(index)
                except JobStopped:
                    return
                except ScanCancelled:
                    self._report(TreeState())
                    continue
                except Exception as error:  # noqa: BLE001 - the boundary of a check: the next one may succeed
                    self._report(TreeState("failed", message=message_of(error)))
                self._checked_at = time.monotonic()
        finally:
            index.close()

    def _wait_until_due(self) -> bool:
        """Waits until a check is due and returns True; returns False once `stop` was called."""
        with self._changed:
            while not self._is_stopped:
                due = -math.inf if self._is_forced else self._due()
                now = time.monotonic()
                if now >= due:
                    self._began_for = -math.inf if self._is_forced else self._asked_first
                    self._is_forced = False
                    self._asked_first = math.inf
                    return True
                self._changed.wait(None if due == math.inf else due - now)
            return False

    def _due(self) -> float:
        if self._asked_first == math.inf:
            return math.inf
        quiet = min(self._asked_last + QUIET_SECONDS, self._asked_first + CHECK_LATEST_SECONDS)
        return max(quiet, self._checked_at + RECHECK_SECONDS)

    def _is_preempted(self) -> bool:
        """Whether a check should end because the user types or leaves. The question that it began for stays unchecked."""
        if not self._is_stopped:
            with self._changed:
                if self._asked_first == math.inf or time.monotonic() > self._began_for + CHECK_LATEST_SECONDS:
                    return False
                self._asked_first = self._began_for
        return True

    def _check(self, index: WorkspaceIndex) -> None:
        source = self._source
        while not self._is_stopped:
            self._report(TreeState("checking"))
            began = time.time()
            with index.snapshot() as snapshot:
                drift = drift_of(snapshot, str(source.project.root), source.settings, is_cancelled=self._is_preempted)
                version = version_of(snapshot)
            if drift.is_fresh:
                self._report(TreeState("fresh", version, began))
                return
            changed = frozenset(drift.paths)
            if source.policy != "balanced":
                remedy = "; run codecompass sync" if source.policy == "strict" else ""
                self._report(TreeState("stale", version, changed=changed, message=_changes(drift) + remedy))
                return
            self._report(TreeState("updating", changed=changed, message=_changes(drift)))
            began = time.time()
            try:
                self._run_job()
            except PermissionDenied as error:
                self._report(TreeState("stale", version, changed=changed, message=cannot_update(error)))
                return
            except IndexInProgress:
                self._report(TreeState("waiting", changed=changed))
                while is_locked(source.layout) and not self._is_stopped:
                    with self._changed:
                        self._changed.wait(OTHERS_POLL_SECONDS)
            else:
                with index.snapshot() as snapshot:
                    version = version_of(snapshot)
                self._report(TreeState("fresh", version, began))
                return

    def _run_job(self) -> None:
        # A job writes its progress and its warnings to a terminal; the command's own shows the search.
        invocation = Invocation(self._options)
        invocation.terminal = Terminal(invocation.environment, io.StringIO(), io.StringIO())
        with invocation.registry() as registry:
            run_job(invocation, registry, self._source.project, cause="question", stop=self._stop)


def _changes(drift: Drift) -> str:
    return formatting.count(drift.n_files, "changed file") if drift.n_files else "changed settings"
