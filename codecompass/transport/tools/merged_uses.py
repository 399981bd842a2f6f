"""Merges what several projects answer about the uses of a name: each definition with its uses in its own project, and in those
that import its package.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from codecompass.protocol.replies import FindReferencesReply, Reference, ReferenceCounts, ReferenceDefinition
from codecompass.protocol.requests import FindReferences
from codecompass.transport.tools.project_answers import ProjectAnswer

Home = tuple[ProjectAnswer, FindReferencesReply]


class MergedUses:
    """The uses of the definitions of one name in all projects, each definition with its position among those of all projects."""

    def __init__(self, homes: Sequence[Home]) -> None:
        self.homes: Final = homes
        """The projects that define the name."""
        self.labels: Final = frozenset(home.selected.label for home, _ in homes)
        self._replies: list[tuple[str, FindReferencesReply]] = []
        self._first: list[int] = []
        """The position of the first definition of each home."""
        self._definitions: list[ReferenceDefinition] = []
        self._n = sum(len(found.definitions) or 1 for _, found in homes)
        for home, found in homes:
            self._first.append(len(self._definitions))
            label = home.selected.label
            self._replies.append((label, self._placed(found, len(self._definitions))))
            own = found.definitions or (replace(found.definition, n_uses=_n_sure(found) if self._n > 1 else UNSET),)
            self._definitions += [replace(each, project=label) for each in own]

    def add(self, number: int, answers: Sequence[ProjectAnswer]) -> None:
        """Adds what other projects use of the definitions of the home at position `number`."""
        own = self.homes[number][1].definitions
        position = self._first[number]
        for each in answers:
            if not isinstance(each.reply, FindReferencesReply):
                continue
            found = each.reply
            if self._n > 1:
                # Of several definitions of one package an import does not tell which is meant.
                meant = None if own else position
                found = replace(found, references=tuple(replace(use, definition=meant) for use in found.references))
                if not own:
                    known = self._definitions[position]
                    n_uses = (known.n_uses or 0) + _n_sure(found)
                    self._definitions[position] = replace(known, n_uses=n_uses)
            self._replies.append((each.selected.label, found))

    def reply(self, request: FindReferences) -> FindReferencesReply:
        """Returns the page that the request asks for, with the metadata of the first home."""
        uses = [replace(use, project=label) for label, found in self._replies for use in found.references]
        uses.sort(key=lambda use: (self._in_order(use), use.is_test, use.project in self.labels))
        page = tuple(uses[request.offset : request.offset + request.limit])
        total = sum(found.total for _, found in self._replies)
        elsewhere = (replace(use, project=label) for label, found in self._replies for use in found.elsewhere)
        return FindReferencesReply(
            definition=self._definitions[0],
            definitions=tuple(self._definitions) if self._n > 1 else (),
            references=page,
            elsewhere=tuple(elsewhere) if request.offset + len(page) >= total else (),
            counts=_summed([found.counts for _, found in self._replies]),
            total=total,
            offset=request.offset,
            metadata=self.homes[0][1].metadata,
        )

    def _placed(self, found: FindReferencesReply, first: int) -> FindReferencesReply:
        """Returns a home's answer with its definitions counted from `first` on."""
        if self._n == 1:
            return found
        references = []
        for use in found.references:
            own = 0 if use.definition is UNSET else use.definition
            references.append(replace(use, definition=None if own is None else first + own))
        return replace(found, references=tuple(references))

    def _in_order(self, use: Reference) -> int:
        if use.definition is None:
            return self._n
        return 0 if use.definition is UNSET else use.definition


def definitions_of(found: FindReferencesReply) -> tuple[ReferenceDefinition, ...]:
    """Returns the definitions that an answer is about, at least one."""
    return found.definitions or (found.definition,)


def _n_sure(found: FindReferencesReply) -> int:
    return found.counts.exact + found.counts.likely


def _summed(counts: Sequence[ReferenceCounts]) -> ReferenceCounts:
    roles: dict[str, int] = {}
    for each in counts:
        for role, number in each.roles.items():
            roles[role] = roles.get(role, 0) + number
    return ReferenceCounts(
        exact=sum(each.exact for each in counts),
        likely=sum(each.likely for each in counts),
        possible=sum(each.possible for each in counts),
        elsewhere=sum(each.elsewhere for each in counts),
        tests=sum(each.tests for each in counts),
        roles=dict(sorted(roles.items())),
    )
