"""The answers to a question about several projects: one of each local project, and those of another server; when they fill the
page; and the metadata and warnings of the merged answer."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass.errors import CodeCompassError, SymbolNotFound, WorkspaceBusy
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.decode import several_projects
from codecompass.protocol.metadata import PROTOCOL_VERSION, Metadata, ProjectPart
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, SearchCodeReply
from codecompass.protocol.requests import ALL_PROJECTS, FindReferences, LocateSymbol, SearchCode
from codecompass.query.merging import has_best_hit
from codecompass.transport.tools.call import ToolCall
from codecompass.units import MILLISECONDS, SECONDS

ALWAYS_ASKED: Final = 32
"""Projects that may have hits and are all asked, so that all their hits are counted. Of more, later ones are passed over once
the page is full: what they could add would not be shown. Of a thousand repositories most have a README."""

ASKED_FOR_SIMILAR: Final = 128
"""Projects that are asked for similar names even if such names fill the page. Later ones are asked for the exact name alone: that
looks at a few definitions instead of all."""

NAMED_SILENT: Final = 10
"""Projects without an answer that a warning names; it counts the others."""

RETRY_MS: Final = int(SECONDS / MILLISECONDS)

SharedRequest = SearchCode | LocateSymbol | FindReferences
SharedReply = SearchCodeReply | LocateSymbolReply | FindReferencesReply


class Asked(Struct, frozen=True):
    """The projects that a question addresses: local ones, and names for which another server is queried."""

    here: tuple[SelectedProject, ...]
    elsewhere: tuple[str, ...] = ()
    is_elsewhere_first: bool = False
    """Whether the first name of the question is one of `elsewhere`, and not `*`."""


class ProjectAnswer(Struct, frozen=True):
    """The answer of one project: its reply or its failure; neither if it was not searched because others match better, or, with
    `is_passed_over`, because the hits of those before it fill the page.

    If another server has answered, the project's root names that server, and is not a directory of this machine.
    """

    selected: SelectedProject
    reply: SharedReply | None = None
    is_checked: bool = False
    """Whether its index was compared with its tree."""
    failure: CodeCompassError | None = None
    is_passed_over: bool = False
    is_name_exact: bool = False
    """Whether it was asked for exactly the name, because similar ones of those before it fill the page."""

    @property
    def is_fresh(self) -> bool:
        """Whether the answer, if there is one, reflects the current tree."""
        if self.reply is None:
            return self.is_checked and self.failure is None
        return self.is_checked and self.reply.metadata.freshness_status == "fresh"

    @property
    def is_cut(self) -> bool:
        """Whether it shows nothing, although its index was not searched to the end: there may be something."""
        reply = self.reply
        if reply is None or (reply.references if isinstance(reply, FindReferencesReply) else reply.results):
            return False
        if isinstance(reply, SearchCodeReply) and reply.commits:
            return False
        # An answer from an index that may be old is partial as well.
        is_partial = reply.metadata.result_completeness == "partial" and reply.metadata.freshness_status == "fresh"
        return is_partial or (isinstance(reply, SearchCodeReply) and not reply.is_counted)


class OtherAnswers(Struct, frozen=True, kw_only=True):
    """The answers of another server for all of its projects that were queried; empty if none was.

    `page` is set instead of `answers` if that server does not send the data for merging: its hits, in its own order. `failure` is
    set if it has not answered at all; the warnings say so too.
    """

    answers: tuple[ProjectAnswer, ...] = ()
    page: SearchCodeReply | LocateSymbolReply | None = None
    n_projects: int = 0
    is_fresh: bool = True
    is_complete: bool = True
    warnings: tuple[str, ...] = ()
    failure: CodeCompassError | None = None


class Answers(Struct, frozen=True):
    """All answers to a question: the local ones in the order in which the projects are named, and the others."""

    here: tuple[ProjectAnswer, ...] = ()
    other: OtherAnswers = OtherAnswers()

    @property
    def each(self) -> tuple[ProjectAnswer, ...]:
        """All answers, local ones first."""
        return (*self.here, *self.other.answers)


class PageFill:
    """Decides what the projects after those that have answered can still add to the page."""

    def __init__(self, limit: int | None) -> None:
        """`limit` is the number of hits that are shown; None for an answer that counts all."""
        self._limit = limit
        self._n_asked = 0
        self._n_with_hits = 0
        self._n_with_best_hits = 0
        self._n_with: list[int] = []
        """How many projects have at least one hit, at least two, and so on."""
        self.n_lines = 0
        """Matching lines that the projects have reported, for a literal or a pattern."""

    def needs_no_more(self) -> bool:
        """Returns False, and counts one more project as asked, unless it and all later ones need not be asked.

        The first hits of all projects precede their second ones, so as many projects with hits as are shown fill the page.
        """
        if self._limit is not None and self._n_asked >= ALWAYS_ASKED and self._n_with_best_hits >= self._limit:
            return True
        self._n_asked += 1
        return False

    def room(self) -> int:
        """Returns how many of its first hits the next project has to show, for a page with a limit of hits none of which is
        better than another: later ones come after so many of other projects that they are beyond the page, and one more."""
        assert self._limit is not None
        n_before = 0
        for depth, n_projects in enumerate(self._n_with, 1):
            n_before += n_projects
            if n_before + depth > self._limit:
                return depth
        return min(self._limit, self._limit + 1 - n_before)

    def has_enough_similar(self) -> bool:
        """Whether the project that was counted last can only add hits that precede those before it: exact names."""
        return self._limit is not None and self._n_asked > ASKED_FOR_SIMILAR and self._n_with_hits >= self._limit

    def add(self, answer: ProjectAnswer) -> None:
        """Takes the answer of a project into account."""
        reply = answer.reply
        if isinstance(reply, SearchCodeReply | LocateSymbolReply):
            self._n_with_hits += bool(reply.results)
            self._n_with_best_hits += has_best_hit(reply)
            self._n_with += [0] * (len(reply.results) - len(self._n_with))
            for depth in range(len(reply.results)):
                self._n_with[depth] += 1
        if isinstance(reply, SearchCodeReply) and reply.unit == "line":
            self.n_lines += reply.total_candidates


def several_metadata(call: ToolCall, request: SharedRequest, answers: Answers, shown: Collection[str | None]) -> Metadata:
    """Returns the metadata of the merged answer; `shown` are the labels of the projects that have hits in it."""
    is_fresh = all(each.is_fresh for each in answers.here) and answers.other.is_fresh
    is_complete = all(
        each.is_fresh and (each.reply is None or each.reply.metadata.result_completeness == "complete") for each in answers.here
    )
    return Metadata(
        codecompass_protocol_version=PROTOCOL_VERSION,
        freshness_status="fresh" if is_fresh else "stale",
        indexing_status="ready",
        result_completeness="complete" if is_complete and answers.other.is_complete else "partial",
        ref="live",
        schema_status="compatible",
        workspace=", ".join(several_projects(request.workspace) or (request.workspace or ALL_PROJECTS,)),
        project_id="",
        projects=tuple(
            ProjectPart(
                name=each.selected.label,
                root=str(each.selected.project.root),
                commit=each.reply.metadata.commit,
                freshness_status=each.reply.metadata.freshness_status if each.is_checked else "unchecked",
                total_candidates=each.reply.total if isinstance(each.reply, FindReferencesReply) else each.reply.total_candidates,
            )
            for each in answers.each
            if each.reply is not None and each.selected.label in shown
        ),
        n_projects=len(answers.here) + answers.other.n_projects,
        warnings=(*call.warnings, *_warnings(answers.here), *answers.other.warnings),
    )


def nothing_notice(answers: Answers) -> str:
    """Returns what an answer without hits begins with if not every project was searched to the end, so that it does not read as
    if there were nothing; empty if all were."""
    n_open = sum(each.is_cut or not isinstance(each.failure, SymbolNotFound | None) for each in answers.here)
    n_here = len(answers.here)
    if n_open:
        return f"not known: {n_open:,} of {n_here:,} projects {_NOT_SEARCHED}"
    # The other server's warnings say how many of its projects these are.
    return f"not known: projects of the other server {_NOT_SEARCHED}" if not answers.other.is_complete else ""


_NOT_SEARCHED: Final = (
    "were not searched, or not to the end, and the others have nothing; the warnings name them and say what to do"
)


def silence(answers: Answers) -> tuple[str, ...]:
    """Returns the warnings about projects that could not be asked, or not to the end; one about those of another server."""
    here = [each for each in answers.here if not isinstance(each.failure, SymbolNotFound)]
    return (*_silent(here), *(answers.other.warnings[:1] if not answers.other.is_complete else ()))


def _silent(answers: Sequence[ProjectAnswer]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for each in answers:
        if each.failure is not None:
            reasons.setdefault(f"no answer from {{}}: {_reason(each.failure)}", []).append(each.selected.label)
        elif each.is_cut:
            reasons.setdefault(_CUT, []).append(each.selected.label)
    for reason, names in reasons.items():
        more = f" and {len(names) - NAMED_SILENT:,} more" if len(names) > NAMED_SILENT else ""
        yield reason.replace("{}", f"{', '.join(names[:NAMED_SILENT])}{more}", 1)


_CUT: Final = "not searched to the end: {}; ask again with a larger timeout_ms, or name fewer"


def _warnings(answers: Sequence[ProjectAnswer]) -> list[str]:
    warnings = list(_silent(answers))
    passed_over = sum(each.is_passed_over for each in answers)
    if passed_over:
        warnings.append(
            f"{passed_over:,} more projects may have hits and were not searched, because the page is full and their hits would "
            "come after these; total_candidates is without them. Name a group or some projects, or be more specific"
        )
    exactly = sum(each.is_name_exact for each in answers)
    if exactly:
        warnings.append(
            f"{exactly:,} projects were only asked for exactly this name, because similar names of others fill the page; "
            "total_candidates is without their similar names"
        )
    unchecked = sum(not each.is_checked and each.failure is None for each in answers)
    if unchecked:
        warnings.append(
            f"{unchecked:,} of {len(answers):,} projects were answered from their indexes as they are, and only "
            "the files shown were compared with the disk; name one alone for its newest state"
        )
    return warnings


_REASONS: Final[Mapping[str, str]] = {
    "index_not_ready": "it has no index yet; index_repo makes one",
    "deadline_exceeded": "not in time; pass a larger timeout_ms, or name fewer",
}


def _reason(failure: CodeCompassError) -> str:
    return _REASONS.get(failure.code, failure.message.rstrip("."))


def require_an_answer(answers: Answers) -> None:
    """Raises the reason if all projects failed: one that another attempt cannot change if they all have it."""
    other = answers.other
    failed = [(each, each.failure) for each in answers.here if each.failure is not None]
    if len(failed) < len(answers.here) or (other.failure is None and other.n_projects):
        return
    if not failed:
        if other.failure is not None:
            raise other.failure
        return
    first, failure = failed[0]
    if len(failed) == 1:
        raise failure
    names = ", ".join(each.selected.label for each, _ in failed[:NAMED_SILENT])
    message = f"none of {len(failed):,} projects answered ({names}); the first, {first.selected.label}: {failure.message}"
    if not failure.is_retryable and all(type(each) is type(failure) for _, each in failed):
        raise type(failure)(message, **failure.data)
    raise WorkspaceBusy(message, retry_after_ms=RETRY_MS)
