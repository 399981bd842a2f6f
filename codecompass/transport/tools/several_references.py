"""The uses of the definitions of a name in several projects: in those that define it, then in those that import their packages.

    definitions of all projects -> too many: AmbiguousSymbol names them
    uses in the projects that define it -> uses in the others, once for each project that defines it

A common name is defined in most projects, and finding its uses in all of them takes a thousand times as long as finding its
definitions. So no project looks for uses before it is known that the answer can be about all the definitions.
"""

from collections.abc import Sequence
from typing import Final

import trio
from msgspec.structs import replace

from codecompass.errors import AmbiguousSymbol, IndexNotReady, SymbolNotFound, WorkspaceBusy
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.replies import FindReferencesReply, ImportedSymbol
from codecompass.protocol.requests import FindReferences
from codecompass.query.uses.chosen_symbol import MAX_SYMBOLS
from codecompass.transport.tools.call import ToolCall
from codecompass.transport.tools.merged_uses import Home, MergedUses, definitions_of
from codecompass.transport.tools.project_answers import (
    RETRY_MS,
    Answers,
    Asked,
    OtherAnswers,
    ProjectAnswer,
    SharedRequest,
    require_an_answer,
    several_metadata,
    silence,
)
from codecompass.transport.tools.several_projects import ask_all, ask_everybody, deadline_of

DEFINITIONS_SHARE: Final = 0.5
"""How much of the time all projects together may take to name their definitions: one that does not answer leaves time for the
uses in the others."""


async def references(call: ToolCall, request: FindReferences, asked: Asked) -> FindReferencesReply:
    """Returns the uses of the definitions of a name: product code in projects that import their package, then in their own
    project, then tests.

    The first named project's definitions are meant if it has any, otherwise those of all projects.

    Raises SymbolNotFound if no project defines it, AmbiguousSymbol if they define too many.
    """
    deadline = deadline_of(call, request)
    enough = replace(request, offset=0, limit=request.offset + request.limit)
    # The project that is named first is the one whose definition is meant, so the others are not waited for.
    first, rest = _named_first(asked)
    answers = await ask_everybody(call, enough, first, deadline, beside=asked.here if first.here else (), ask=ask_defining)
    if not any(each.reply for each in answers.each):
        later = await ask_everybody(call, enough, rest, deadline, beside=asked.here, ask=ask_defining)
        answers = _together(answers, later)
    merged = MergedUses(_homes(request, answers))
    # A project that could not be asked may define the name as well.
    silent = [each for each in answers.here if not isinstance(each.failure, SymbolNotFound | None)]
    told = {each.selected.project.project_id: each for each in (*(home for home, _ in merged.homes), *silent)}
    other = answers.other if answers.other.failure is not None else OtherAnswers()
    for number, (home, found) in enumerate(merged.homes):
        if found.imported is None:
            continue
        home_id = home.selected.project.project_id
        is_here = any(each is home for each in answers.here)
        everybody = Asked(tuple(each for each in asked.here if each.project.project_id != home_id), asked.elsewhere)
        without = () if is_here else (home_id,)
        outside = await ask_everybody(
            call, enough, everybody, deadline, beside=asked.here, without=without, imported=found.imported
        )
        merged.add(number, outside.each)
        told = {each.selected.project.project_id: each for each in outside.here} | told
        other = outside.other
    reply = merged.reply(request)
    shown = {*merged.labels, *(use.project for use in reply.references)}
    metadata = several_metadata(call, request, Answers(tuple(told.values()), other), shown)
    if request.offset + len(reply.references) < reply.total and metadata.result_completeness == "complete":
        metadata = replace(metadata, result_completeness="truncated")
    if all(found.imported is None for _, found in merged.homes):
        reason = (
            "the language of the definition has no packages that others import by name; its own project alone was looked through"
        )
        metadata = replace(metadata, warnings=(*metadata.warnings, reason))
    return replace(reply, metadata=metadata)


async def ask_defining(
    call: ToolCall,
    request: SharedRequest,
    selected: Sequence[SelectedProject],
    deadline: float,
    imported: ImportedSymbol | None = None,
) -> list[ProjectAnswer]:
    """Asks all projects for the definitions of a name, and those that have some for the uses, as `ask_all` does. If they are more
    than an answer can be about, the replies have the definitions and no uses."""
    if len(selected) <= 1:
        return await ask_all(call, request, selected, deadline, imported)
    soon = deadline - (1 - DEFINITIONS_SHARE) * max(0.0, deadline - trio.current_time())
    found = await ask_all(call, request, selected, soon, imported, is_definition_only=True)
    # The definition of a project that is named first is preferred to all others, however many they are.
    is_first_meant = selected[0].is_named and found[0].reply is not None
    if _are_too_many(found) and not is_first_meant:
        return found
    # A project that is late may define it as well, and has the rest of the time.
    asked = [
        each.selected for each in found if each.reply is not None or (each.failure is not None and each.failure.is_retryable)
    ]
    using = {each.selected.project.project_id: each for each in await ask_all(call, request, asked, deadline, imported)}
    return [using.get(each.selected.project.project_id, each) for each in found]


def _are_too_many(answers: Sequence[ProjectAnswer]) -> bool:
    """Whether the projects define the name more often than an answer can be about."""
    n_known = sum(len(definitions_of(each.reply)) for each in answers if isinstance(each.reply, FindReferencesReply))
    return n_known > MAX_SYMBOLS or any(isinstance(each.failure, AmbiguousSymbol) for each in answers)


def _named_first(asked: Asked) -> tuple[Asked, Asked]:
    """Returns the project that is named first, if any, whose definition is preferred, and the others."""
    if asked.is_elsewhere_first:
        return Asked((), asked.elsewhere[:1]), Asked(asked.here, asked.elsewhere[1:])
    n_first = 1 if asked.here and asked.here[0].is_named else 0
    return Asked(asked.here[:n_first]), Asked(asked.here[n_first:], asked.elsewhere)


def _together(first: Answers, later: Answers) -> Answers:
    one, two = first.other, later.other
    other = OtherAnswers(
        answers=(*one.answers, *two.answers),
        n_projects=one.n_projects + two.n_projects,
        is_fresh=one.is_fresh and two.is_fresh,
        is_complete=one.is_complete and two.is_complete,
        warnings=tuple(dict.fromkeys((*one.warnings, *two.warnings))),
        failure=one.failure or two.failure,
    )
    return Answers((*first.here, *later.here), other)


def _homes(request: FindReferences, answers: Answers) -> list[Home]:
    """Returns the answers of the projects that define the symbol: of the one that is named first alone, if it does."""
    defining = [(each, each.reply) for each in answers.each if isinstance(each.reply, FindReferencesReply)]
    refused = [each for each in answers.each if isinstance(each.failure, AmbiguousSymbol)]
    if defining and defining[0][0].selected.is_named and defining[0][0] is answers.each[0]:
        return defining[:1]
    if not defining and not refused:
        failed = tuple(each for each in answers.here if not isinstance(each.failure, SymbolNotFound))
        if len(failed) == len(answers.here):
            require_an_answer(Answers(failed))
        name = request.symbol_name[:100]
        silent = "; ".join(silence(answers))
        causes = [each.failure for each in failed if each.failure is not None]
        # An index that is not there yet is the usual state of some project of a machine.
        if any(cause.is_retryable and not isinstance(cause, IndexNotReady) for cause in causes):
            raise WorkspaceBusy(
                f"no project that could be asked defines {name}, and not all could. {silent[:1].upper()}{silent[1:]}",
                retry_after_ms=RETRY_MS,
            )
        where = f"project that could be asked ({silent})" if silent else "project"
        raise SymbolNotFound(
            f"no {where} defines {name}. Find it with search_code, or locate_symbol for similar names.", name=name
        )
    if not _are_too_many(answers.each):
        return defining
    known = [(each.selected.label, one) for each, reply in defining for one in definitions_of(reply)]
    candidates: list[object] = [
        {
            "path": f"{label}:{one.path}",
            "line": one.line_start,
            "kind": one.kind,
            "qualified_name": one.qualified_name,
        }
        for label, one in known
    ]
    for each in refused:
        found = each.failure.data.get("candidates") if each.failure is not None else None
        candidates += [
            {**one, "path": f"{each.selected.label}:{one['path']}"} for one in (found if isinstance(found, list) else ())
        ]
    raise AmbiguousSymbol(
        f"many definitions are named {request.symbol_name[:100]}. Name the project that is meant first in workspace, before "
        "the others (as in: api,*), and pass path or a qualified name where it has several.",
        candidate_count=len(candidates),
        candidates=candidates[:MAX_SYMBOLS],
    )
