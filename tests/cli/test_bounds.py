"""Every argument and option of every command, and every setting, has a bound; and starting under unusual conditions."""

import os
import subprocess
import sys

import asyncclick
import msgspec
import pytest

from codecompass.cli.command import MAX_VALUES, check_lengths
from codecompass.cli.main import main
from codecompass.cli.tool_options import max_length
from codecompass.errors import InvalidInput
from codecompass.settings import MAX_ITEMS, MAX_TEXT_LENGTH, known_settings
from codecompass.settings_sources import Sources, load_settings
from tests.cli.test_app import all_commands

pytestmark = pytest.mark.invariant(of="tests/contract/test_bounds.py")

PARAMETERS = [
    (path, command, parameter)
    for path, command in all_commands()
    for parameter in command.params
    if not (isinstance(parameter, asyncclick.Option) and (parameter.is_flag or parameter.count))
]


WITHOUT_DIRECTORY = """
import os, sys
os.chdir(sys.argv[1])
os.rmdir(sys.argv[1])
from codecompass.cli.main import main
from codecompass.cli.tool_options import max_length
sys.exit(main(sys.argv[2:]))
"""


def words(path, command, parameter, value):
    """Returns a command line with this value for the parameter, and fillers for the other required ones."""
    required = [
        each for each in command.params if isinstance(each, asyncclick.Argument) and each.required and each is not parameter
    ]
    before = path.split()[1:]
    fillers = {each: each.type.choices[0] if isinstance(each.type, asyncclick.Choice) else "x" for each in required}
    others = list(fillers.values())
    if isinstance(parameter, asyncclick.Argument):
        return [
            *before,
            *(value if each is parameter else fillers[each] for each in command.params if each in (parameter, *required)),
        ]
    name = parameter.opts[0]
    # The program's own options come before a command.
    return [*before, name, value, *others] if before else [name, value, "status"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "command", "parameter"), PARAMETERS, ids=lambda value: getattr(value, "name", None) or str(value)
)
@pytest.mark.parametrize("unit", ["a/", "a.", "?", "\udcff"])
def test_a_value_above_its_bound_is_wrong_usage_that_says_so(path, command, parameter, unit, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CODECOMPASS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    value = (unit * (max_length(parameter) + 1))[: max_length(parameter) + 1]

    assert main(words(path, command, parameter, value)) == 2

    said = capsys.readouterr().err
    assert len(said) < 2_000
    if not isinstance(parameter.type, asyncclick.Choice | type(asyncclick.INT)):
        assert f"at most {max_length(parameter):,}" in said
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "command", "parameter"), PARAMETERS, ids=lambda value: getattr(value, "name", None) or str(value)
)
def test_a_value_at_its_bound_is_taken(path, command, parameter):
    context = asyncclick.Context(command)
    value = "a" * max_length(parameter)
    is_many = parameter.multiple if isinstance(parameter, asyncclick.Option) else parameter.nargs == -1

    check_lengths(context, {parameter.name: (value,) if is_many else value})

    if is_many and isinstance(parameter, asyncclick.Option):
        check_lengths(context, {parameter.name: ("a",) * MAX_VALUES})
        with pytest.raises(asyncclick.BadParameter):
            check_lengths(context, {parameter.name: ("a",) * (MAX_VALUES + 1)})


TEXT_SETTINGS = [
    (setting, bound)
    for setting in known_settings()
    for bound in [msgspec.json.schema(setting.type)]
    if bound.get("type") in ("string", "array")
]


@pytest.mark.parametrize(("setting", "schema"), TEXT_SETTINGS, ids=lambda value: getattr(value, "key", ""))
def test_every_setting_has_a_bound_and_is_refused_beyond_it(setting, schema, tmp_path):
    text = schema["items"] if schema["type"] == "array" else schema
    separator = os.pathsep if setting.is_path else ","
    # A list of known words cannot be too long without also containing an unknown word.
    longest = text.get("maxLength", MAX_TEXT_LENGTH)
    for long in ("a/" * longest, *([separator.join("a" * (MAX_ITEMS + 1))] if schema["type"] == "array" else [])):
        with pytest.raises(InvalidInput) as caught:
            load_settings(Sources(environment={setting.variable: long}))

        assert setting.variable in caught.value.message
        assert len(caught.value.message) < 500
    if schema["type"] == "array":
        assert schema["maxItems"] <= MAX_ITEMS
    section, _, key = setting.key.partition(".")
    (tmp_path / "c.toml").write_text(
        f"[{section}]\n{key} = ['{'a' * (longest + 1)}']\n".replace("['", "['" if schema["type"] == "array" else "'").replace(
            "']", "']" if schema["type"] == "array" else "'"
        )
    )
    with pytest.raises(InvalidInput, match=key):
        load_settings(Sources(environment={}, config_file=tmp_path / "c.toml"))


@pytest.mark.parametrize(
    "content",
    [
        "a." * 500_000 + "b = 1",
        "[" + "a." * 500_000 + "b]",
        "a = " + "[" * 500_000,
        "a = " + "{a = " * 100_000,
        '"' * 1_000_000,
        "[index]\nexclude = " + "[" * 2_000 + "]" * 2_000,
    ],
    ids=["a key of many parts", "a table of many parts", "lists in lists", "tables in tables", "quotes", "lists in a list"],
)
def test_a_configuration_made_to_be_slow_is_refused(content, tmp_path):
    """A project's file comes with a clone. The first case took minutes, the third ended in a RecursionError."""
    (tmp_path / ".codecompass").mkdir()
    (tmp_path / ".codecompass" / "config.toml").write_text(content)

    with pytest.raises(InvalidInput, match=r"config\.toml"):
        load_settings(Sources(environment={}, project_root=tmp_path))


@pytest.mark.parametrize("variable", ["CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR"])
def test_a_variable_that_is_no_path_is_said_at_the_start(program, variable):
    done = program("serve-mcp", stdin=b"", **{variable: "/a" * 50_000})

    assert done.code == 2
    assert variable in done.err


# conditions at the start


@pytest.mark.parametrize(
    "arguments", [["search", "x"], ["status"], ["index", "."], ["index", "x"], ["init", "."], ["search", "x", "--workspace", "."]]
)
def test_without_a_current_directory_a_command_says_what_to_do(cli, arguments):
    gone = cli.base / "gone"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DIRECTORY, str(gone), *arguments],
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 3
    assert "current directory does not exist any more" in done.stderr


def test_without_a_current_directory_a_server_starts(cli):
    gone = cli.base / "gone"
    gone.mkdir()
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DIRECTORY, str(gone), "serve-mcp"],
        env=cli.environment,
        input=ping,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0
    assert b'"id":1,"result"' in done.stdout


@pytest.mark.parametrize("arguments", [["index"], ["search", "x"], ["config", "show"], ["serve-mcp"]])
def test_a_data_directory_that_is_not_utf8_is_refused_with_its_reason(cli, program, arguments):
    cli.tree("shop")

    done = program(*arguments, stdin=b"", CODECOMPASS_HOME=os.fsdecode(os.fsencode(cli.base) + b"/\xff"))

    assert done.code == 2
    assert "is not UTF-8" in done.err
    assert "CODECOMPASS_HOME" in done.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("arguments", "code"), [(["search", "cart"], 0), (["search", "zzzqqq"], 3), (["search"], 2), (["nope"], 2)]
)
def test_a_stderr_that_takes_nothing_changes_neither_answer_nor_exit_code(cli, program, arguments, code):
    cli.tree("shop")
    cli("index")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            program.command(arguments), cwd=cli.cwd, env=cli.environment, stdout=subprocess.PIPE, stderr=full, check=False
        )

    assert done.returncode == code
    assert bool(done.stdout) is (code == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of address space is only known to hold there")
def test_a_limit_of_memory_that_is_too_small_for_an_index_is_said_and_ends_nothing(cli, program):
    """tantivy aborted the process: exit code 134."""
    root = cli.tree("shop")
    limited = ["bash", "-c", 'ulimit -v 500000; exec "$@"', "limited"]

    done = subprocess.run(
        [*limited, *program.command(["index"])], cwd=root, env=cli.environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "ulimit -v" in done.stderr
    assert cli("index").code == 0
    asked = subprocess.run(
        [*limited, *program.command(["search", "cart"])], cwd=root, env=cli.environment, capture_output=True, check=False
    )
    assert asked.returncode == 0
