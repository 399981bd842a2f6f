"""`codecompass callees`: the tool `get_call_graph` with the direction `callees`, for people."""

from codecompass.cli.graphs import graph_command

command = graph_command(
    "callees",
    "callees",
    text="List what a function calls, and what that calls.",
    effect="what it calls, two calls far",
)
