"""Answers about several projects for a server that merges them with its own: one part a project, with the data for merging."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, Raw
from msgspec.structs import replace

from codecompass.errors import AmbiguousSymbol, InvalidInput, SymbolNotFound, error_body
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.encode import encode, one_line
from codecompass.protocol.parts import PartRequest
from codecompass.protocol.replies import AnswerPart, ImportedSymbol, PartsReply
from codecompass.query.package_names import FAMILIES
from codecompass.transport.tools.call import Call
from codecompass.transport.tools.project_answers import Answers, ProjectAnswer, SharedRequest
from codecompass.transport.tools.several_projects import ask_all, deadline_of, several_metadata

MAX_PACKAGES: Final = 10_000
MAX_IMPORTED_LENGTH: Final = 1_000
"""Maximum number of packages in another server's ImportedSymbol, and of characters of each of its texts."""


async def parts_reply(call: Call, request: SharedRequest, selected: Sequence[SelectedProject], part: PartRequest) -> PartsReply:
    """Returns the answers of the selected projects but those that `part` leaves out. Raises InvalidInput for an invalid part."""
    if part.imported is not None:
        _check(part.imported)
    ids = await _ids(call, selected)
    left_out = frozenset(part.leave_out)
    wanted = [each for each in selected if left_out.isdisjoint(ids[each.project.project_id])]
    answers = await ask_all(call, request, wanted, deadline_of(call, request), part.imported)
    # A project that does not define the name has not failed.
    troubled = [each for each in answers if not isinstance(each.failure, SymbolNotFound | AmbiguousSymbol)]
    metadata = several_metadata(call, request, Answers(tuple(troubled)), ())
    return PartsReply(
        parts=tuple(
            _part(each, ids[each.selected.project.project_id])
            for each in answers
            if each.reply is not None or isinstance(each.failure, AmbiguousSymbol)
        ),
        metadata=replace(metadata, n_projects=len(answers)),
    )


async def _ids(call: Call, selected: Sequence[SelectedProject]) -> Mapping[str, frozenset[str]]:
    """Returns the ids by which each project can be left out: its own, and those of the repositories that it is a checkout of."""
    projects = [each.project for each in selected]
    tell = call.services.repository_ids
    known: Mapping[str, frozenset[str]] = {} if tell is None else await tell(projects)
    return {each.project_id: known.get(each.project_id, frozenset()) | {each.project_id} for each in projects}


def _part(answer: ProjectAnswer, ids: frozenset[str]) -> AnswerPart:
    project = answer.selected.project
    return AnswerPart(
        project_id=project.project_id,
        name=answer.selected.label,
        root=str(project.root),
        repositories=tuple(sorted(ids)),
        is_named=answer.selected.is_named,
        is_checked=answer.is_checked,
        reply=UNSET if answer.reply is None else Raw(one_line(encode(answer.reply))),
        error=None if answer.failure is None else error_body(answer.failure),
    )


def _check(symbol: ImportedSymbol) -> None:
    packages = (*symbol.own, *symbol.others)
    texts = (symbol.name, symbol.kind, symbol.owner, *packages)
    if symbol.family not in FAMILIES or len(packages) > MAX_PACKAGES or any(len(each) > MAX_IMPORTED_LENGTH for each in texts):
        raise InvalidInput(
            "the definition that the call is about is of no known language, or has too many packages. Leave it out.",
            field="imported",
        )
