"""`codecompass impact`: the tool `get_call_graph` with the direction `impact`, for people."""

from codecompass.cli.graphs import graph_command

command = graph_command(
    "impact",
    "impact",
    text="List what a change of a definition reaches: tests first, callers, subtypes, importing files.",
    effect="what has to be looked at when it changes",
)
