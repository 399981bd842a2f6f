"""`codecompass callers`: the tool `get_call_graph` with the direction `callers`, for people."""

from codecompass.cli.graphs import graph_command

command = graph_command(
    "callers",
    "callers",
    text="List who calls a function, and who calls them.",
    effect="who calls it, two calls far",
)
