"""Which of many repositories a question is put to: those of which their summaries of words say that they can have an answer."""

from collections.abc import Collection, Sequence

from codecompass.actors.messages import Query
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.library import Library
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.summarized import able, is_decidable


async def concerned(library: Library, repositories: Sequence[Repository], asked: Query, seconds: float) -> Collection[str] | None:
    """Returns the ids of the repositories that can have an answer and of those of which that is not known; None if none is known
    to have the name that is asked for: then something similar is looked for in all of them, as in an embedded store. Raises
    EngineUnavailable, InvalidInput for a glob that is too large or a regular expression that cannot be used."""
    request, imported = asked.request, asked.imported
    assert isinstance(request, SearchCode | LocateSymbol | FindReferences)
    if imported is None and not is_decidable(request):
        return None
    summaries = await library.summaries(repositories, seconds)
    having, known = able(request, imported, summaries)
    unknown = {each.repo_id for each in repositories} - known
    return having | unknown if having or imported is not None or isinstance(request, SearchCode) else None
