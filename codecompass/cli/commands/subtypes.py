"""`codecompass subtypes`: the tool `get_symbol_hierarchy` with the relation `subtypes`, for people."""

from codecompass.cli.graphs import types_command

command = types_command()
