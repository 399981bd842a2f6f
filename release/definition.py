"""What hosts and their directories are told of the server: the one place from which `release.outlets` writes their files."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

import codecompass
from codecompass.cli.hosts.supported_hosts import SERVER


class Prompt(Struct, frozen=True, kw_only=True):
    """A command that a person gives in a host. `$ARGUMENTS` in `text` stands for what they type after its name."""

    name: str
    description: str
    argument: str
    text: str


class Definition(Struct, frozen=True, kw_only=True):
    """The server as hosts show and start it.

    namespace: whose server it is, in the MCP registry; whoever publishes must prove that they own it
    summary: one line of at most 100 characters, which is what the MCP registry accepts
    arguments: what follows the program's name
    platforms: as an MCP bundle names them
    uses: when to use each tool that `arguments` lists, in the order in which an agent needs them
    prompts: commands
    """

    name: str
    title: str
    namespace: str
    version: str
    summary: str
    author: str
    licence: str
    keywords: tuple[str, ...]
    program: str
    arguments: tuple[str, ...]
    requires_python: str
    platforms: tuple[str, ...]
    uses: Mapping[str, str]
    prompts: tuple[Prompt, ...]


DEFINITION: Final = Definition(
    name=SERVER,
    title="CodeCompass",
    namespace="io.github.codecompass",
    version=codecompass.__version__,
    summary="Finds code: by name, words, exact text and structure, with uses and callers, in 67 languages.",
    author="The CodeCompass authors",
    licence="MIT",
    keywords=("code search", "mcp", "tree-sitter", "navigation"),
    program="codecompass",
    arguments=("serve-mcp", "--tools", "core", "--answers", "text"),
    requires_python=">=3.11",
    platforms=("darwin", "linux"),
    uses={
        "search_code": "Where does something happen, how does it work, where does this message come from? Words, literal text "
        "or a regular expression.",
        "locate_symbol": "Go to the definition of a name: a function, a class, a constant. Also for a line of a stack trace.",
        "get_file_outline": "What does a file define? Call it before you read a long file.",
        "find_references": "Who uses a definition? Call it before you change or remove one.",
        "get_code_context": "All the code about one question, within a number of tokens.",
        "diff_context": "What do the changes since a commit or on a branch touch, and who depends on it?",
        "index_status": "Is the index complete and current? Only if an answer says that it is not.",
    },
    prompts=(
        Prompt(
            name="where",
            description="Find where something is defined or happens",
            argument="a name, or what happens in words",
            text="Find where this is in the code: $ARGUMENTS\n\n"
            "If it is a name, call `locate_symbol` of codecompass; otherwise, or if that finds nothing, `search_code`. "
            "Answer with the path and line of each place that matters, the most likely first, and one sentence about each. "
            "Do not change anything.\n",
        ),
        Prompt(
            name="impact",
            description="Say what a change would affect",
            argument="a definition, or a branch or commit; without one, the changes since the last commit",
            text="Say what is affected by a change of: $ARGUMENTS\n\n"
            "If it names a definition, find it with `locate_symbol` of codecompass and its users with `find_references`. "
            "If it names a branch or a commit, or nothing, call `diff_context`. List the definitions that depend on it with "
            "path and line, tests apart from the rest, and say which of them are most likely to break. "
            "Do not change anything.\n",
        ),
    ),
)
