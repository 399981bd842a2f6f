"""Says in a sentence what became of a file in a search (`search --why-not PATH`)."""

from typing import assert_never

from codecompass import amounts
from codecompass.cli.terminal import printable
from codecompass.protocol.metadata import PathExplanation


def sentence(explained: PathExplanation) -> str:
    """Returns the verdict on the file and what it rests on, for people."""
    path = printable(explained.path)
    match explained.verdict:
        case "shown":
            said = f"{path} is hit {explained.rank} of {explained.total}"
        case "below_the_limit":
            said = f"{path} is place {explained.rank} of {explained.total}, below the last hit shown; see more with -n"
        case "not_among_the_candidates":
            found = amounts.count(explained.total, "place")
            said = f"{path} has words of the query, but too few to be among the {found} that were compared"
        case "no_match":
            said = f"{path} has nothing of the query"
        case "filtered_out":
            said = f"{path} is left out by --path, --language or --kind"
        case "skipped":
            said = f"{path} is not indexed: {explained.skip_reason}"
        case "not_indexed":
            said = f"{path} is not in the index, or is the end of several paths; ask: codecompass status --path {path}"
        case _:
            assert_never(explained.verdict)
    if explained.missing_words:
        said += f"; it lacks: {printable(', '.join(explained.missing_words))}"
    return said
