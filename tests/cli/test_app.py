"""The command line's frame: help that is cheap and instructive, suggestions for wrong usage, exit codes."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncclick
import pytest

from codecompass.cli.help import Example, LazyGroup, TeachingCommand
from codecompass.cli.main import ENTRIES, build_app
from tests.support.processes import run_python

HEAVY = {"trio", "tantivy", "tree_sitter", "structlog", "sqlite3", "prompt_toolkit", "pygments"}

NAMES = [entry.name for entry in ENTRIES]


def all_commands() -> Iterator[tuple[str, LazyGroup | TeachingCommand]]:
    pending: list[tuple[str, asyncclick.Command]] = [("codecompass", build_app())]
    while pending:
        path, command = pending.pop()
        assert isinstance(command, LazyGroup | TeachingCommand)
        yield path, command
        if isinstance(command, LazyGroup):
            context = asyncclick.Context(command)
            for name in command.entries:
                found = command.get_command(context, name)
                assert found is not None
                pending.append((f"{path} {name}", found))


ALL_HELP = """
import json, sys
from codecompass.cli.main import main
for words in json.loads(sys.argv[1]):
    assert main([*words, "--help"]) == 0
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.invariant(of="test_the_list_of_tools_is_answered_before_anything_of_the_index_is_loaded")
def test_help_loads_neither_the_index_nor_an_event_loop(cli):
    """Users call help often while they type a command; it takes a tenth of a second."""
    commands = [path.split()[1:] for path, _ in all_commands()]
    done = run_python(ALL_HELP, json.dumps(commands), environment=cli.environment)

    assert done.returncode == 0, done
    loaded = set(done.stderr.split())
    assert "asyncclick" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in HEAVY}
    assert done.stdout.count("Usage: codecompass") == done.stdout.count("\nExamples\n") == len(commands)


ASKING = """
import re._compiler, sys
n_compiled = 0
compile = re._compiler.compile
def counted(*arguments):
    global n_compiled
    n_compiled += 1
    return compile(*arguments)
re._compiler.compile = counted
from codecompass.cli.main import main
code = main(sys.argv[1:])
print(n_compiled, *sys.modules, file=sys.stderr)
sys.exit(code)
"""
ROOMS = (
    *("actors.differences", "actors.worker_pool", "cli.jobs", "cli.commit_index", "cli.hosts", "cluster", "projects.router"),
    *("languages.imports.resolution", "languages.uses.occurrences", "query.call_graph", "query.context", "query.differences"),
    *(
        "query.messages",
        "query.outline",
        "query.references",
        "query.search",
        "query.uses",
        "scan.encodings",
        "semantic",
        "transport",
    ),
)
"""What no command runs that looks up a name in an index that is fresh."""

LIBRARIES = frozenset({"ctypes", "difflib", "platformdirs", "random", "re2", "secrets", "shutil", "tempfile", "tomllib"})
"""What such a command has no use for either; each takes milliseconds to import."""

MOST_PATTERNS = {"locate": 50, "status": 45}
"""What it takes, two thirds of them in the standard library, and a few more for other versions of it."""


@pytest.mark.parametrize("command", [("locate", "Cart"), ("status",)])
def test_a_command_imports_and_compiles_only_what_it_runs(cli, shop: Path, command: tuple[str, ...]):
    assert cli("index", cwd=shop).code == 0

    done = run_python(ASKING, "--workspace", str(shop), *command, environment=cli.environment)

    n_patterns, *loaded = done.stderr.splitlines()[-1].split()
    assert done.returncode == 0, done
    names = tuple(f"codecompass.{room}" for room in ROOMS)
    assert [name for name in loaded if name in names or name.startswith(tuple(f"{each}." for each in names))] == []
    assert not {name.partition(".")[0] for name in loaded} & (HEAVY - {"tantivy", "sqlite3"})
    assert set(loaded) & LIBRARIES == set()
    assert int(n_patterns) <= MOST_PATTERNS[command[0]]


def test_the_commands_are_those_that_were_promised():
    promised = (
        "init index sync search locate outline refs branches callers callees subtypes impact diff status doctor config projects "
        "uninstall "
        "completion setup serve-mcp ui cluster stop languages"
    )

    assert sorted(NAMES) == sorted(promised.split())


@pytest.mark.parametrize(("path", "command"), list(all_commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_says_what_it_does_and_shows_how(path, command):
    assert command.help, path
    assert command.examples, path
    for parameter in command.params:
        if isinstance(parameter, asyncclick.Option):
            assert parameter.help, f"{path} {parameter.opts}"


@pytest.mark.parametrize(
    "example",
    [example for _, command in all_commands() for example in command.examples if "codecompass " in example.line],
    ids=lambda example: example.line,
)
def test_every_example_is_a_valid_command_line(example: Example):
    """Parsed, not run: if an option is renamed, it must be renamed in the examples too."""
    line = example.line.partition("codecompass ")[2]
    for end in (" | ", " && ", " > ", " &'", ')"'):
        line = line.partition(end)[0]

    parse(shlex.split(line))


def parse(arguments: list[str]) -> None:
    async def resolve() -> None:
        command: asyncclick.Command = build_app()
        context = await command.make_context("codecompass", arguments)
        while isinstance(command, asyncclick.Group):
            rest = [*context._protected_args, *context.args]
            name, found, rest = await command.resolve_command(context, rest)
            assert found is not None
            command = found
            context = await command.make_context(name, rest, parent=context)

    with pytest.raises(StopIteration):
        resolve().send(None)


def test_without_arguments_the_help_is_shown_as_wrong_usage(cli):
    done = cli()

    assert done.code == 2
    assert "Usage: codecompass" in done.err


def test_a_misspelt_command_is_recognised(cli):
    done = cli("serach", "x")

    assert (done.code, done.out) == (2, "")
    assert "Did you mean 'search'?" in done.err
    assert "Try: codecompass --help" in done.err


def test_a_word_that_is_like_no_command_is_not_taken_for_one(cli):
    assert "Did you mean" not in cli("frobnicate").err


def test_a_misspelt_option_is_recognised(cli):
    done = cli("search", "x", "--limt", "3")

    assert done.code == 2
    assert "--limit" in done.err
    assert "Try: codecompass search --help" in done.err


def test_wrong_usage_is_json_where_json_was_asked_for(cli):
    done = cli("search", "--json")

    assert done.code == 2
    assert done.json["error"]["code"] == "invalid_input"
    assert done.err == ""


def test_the_version_is_told(cli):
    done = cli("--version")

    assert done.code == 0
    assert done.out.startswith("codecompass ")


@pytest.mark.parametrize("arguments", [("--json", "status"), ("status", "--json")])
def test_general_options_stand_before_and_after_the_command(cli, shop, arguments):
    assert cli(*arguments).json["repo_root"] == str(shop)


def test_the_project_can_be_named_before_the_command_too(cli, shop):
    elsewhere = cli.tree("elsewhere", {"a.py": "x = 1\n"})

    assert cli("--workspace", shop, "status", "--json").json["repo_root"] == str(shop)
    assert cli("--workspace", shop, "status", "--json", "--workspace", elsewhere).json["repo_root"] == str(elsewhere)


@pytest.mark.parametrize("arguments", [["outline", "shop/cart.py"], ["search", "cart", "--json"], ["--help"]])
def test_a_reader_that_has_enough_ends_the_output_quietly(cli, program, shop, arguments, indexed):
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        program.command(arguments), cwd=shop, env=cli.environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)

    assert done.returncode == 141
    assert done.stderr == ""


def test_closed_streams_are_no_reason_to_fail(cli, program, shop):
    """A daemon may start us without any; what we write must not end up in a database that got descriptor 1 or 2."""
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(program.command(['index']))} <&- >&- 2>&-"], cwd=shop, env=cli.environment, check=False
    )

    assert done.returncode == 0
    assert cli("status").code == 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("buffering", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "arguments",
    [["status"], ["status", "--json"], ["search", "cart"], ["locate", "nowhere_at_all", "--json"], ["--help"], ["--version"]],
)
def test_an_output_that_cannot_be_written_is_a_failure(cli, program, shop, arguments, buffering, indexed):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            program.command(arguments),
            cwd=shop,
            env={**cli.environment, "PYTHONUNBUFFERED": buffering},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert "error: No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_an_error_has_no_traceback_unless_asked_for(cli, shop):
    usual = cli("search", "x", "--project-id", "nowhere")
    verbose = cli("search", "x", "--project-id", "nowhere", "-vv")

    assert usual.code == verbose.code == 3
    assert usual.err.startswith("error: no project is called 'nowhere'")
    assert "Traceback" not in usual.err
    assert "Traceback" in verbose.err


def test_plain_text_goes_to_pipes_and_json_is_exact(cli, indexed):
    assert "\x1b" not in cli("search", "cart").out
    done = cli("search", "cart", "--json")
    assert done.raw.endswith(b"}\n")
    # One line per result, plus the lines before and after them.
    assert done.raw.count(b"\n") == len(done.json["results"]) + 2
