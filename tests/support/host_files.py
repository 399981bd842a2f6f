"""Hosts' configuration files as users write them: comments, unusual layout, other entries."""

import json
import tomllib

from hypothesis import strategies as st

BLANKS = st.sampled_from(["", " ", "\n", "\n    ", "\t", " // c } ,\n", "/* { , */", "\r\n  "])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
NAMES = st.text(st.characters(codec="utf-8"), max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)

COMMANDS = st.sampled_from(["codecompass", "/gone/codecompass", "/bin/sh", "/gone/uvx", "${HOME}/codecompass", "./codecompass"])
ARGUMENTS = st.lists(
    st.sampled_from(["serve-mcp", "--tools", "ten", "--workspace", "/a b", "--log-file=x", "-P", "-m", "codecompass"]), max_size=4
)


def entries(command: str = "command", arguments: str = "args") -> st.SearchStrategy[object]:
    """A user's entries: with fields that setup knows or does not know, and entries that start no command."""
    local = st.fixed_dictionaries(
        {command: COMMANDS},
        optional={
            arguments or "cwd": ARGUMENTS if arguments else st.just("/"),
            "env": st.dictionaries(st.sampled_from("AB"), st.text(max_size=4), max_size=2),
            "timeout": st.integers(1, 10**6),
            "trust": st.booleans(),
            "new in the next version": VALUES,
        },
    )
    return local | st.just({"url": "http://127.0.0.1:9100/mcp", "headers": {"Authorization": "secret"}}) | SCALARS


@st.composite
def written_json(draw: st.DrawFn, value: object) -> str:
    """`value` as a user might have written it, with comments and trailing commas."""

    def blank() -> str:
        return draw(BLANKS)

    if isinstance(value, dict):
        members = [
            f"{blank()}{json.dumps(name)}{blank()}:{blank()}{draw(written_json(item))}{blank()}" for name, item in value.items()
        ]
        if members and draw(st.integers(0, 9)) == 0:
            members.append(draw(st.sampled_from(members)))  # a duplicate name
        tail = "," + blank() if members and draw(st.booleans()) else ""
        return "{" + (",".join(members) + tail if members else blank()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(f"{blank()}{draw(written_json(item))}{blank()}" for item in value) + "]"
    return json.dumps(value)


@st.composite
def json_files(draw: st.DrawFn, section: tuple[str, ...], command: str = "command", arguments: str = "args") -> str:
    """A configuration file of a host that keeps its servers in `section`."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", "{}", "\ufeff", "// nothing yet", "{}\n", "{\n}\n", "\r\n"]))
    value = dict(draw(st.dictionaries(NAMES, VALUES, max_size=3)))
    if draw(st.booleans()):
        servers = dict(draw(st.dictionaries(NAMES, st.just({"command": "x", "args": ["y"]}), max_size=2)))
        if draw(st.booleans()):
            servers["codecompass"] = draw(entries(command, arguments))
        inner: object = servers
        for name in reversed(section):
            inner = {name: inner}
        assert isinstance(inner, dict)
        value |= inner
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 2, 4, "\t"]))
        text = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans())) + draw(st.sampled_from(["", "\n", "\n\n"]))
        text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    else:
        text = draw(BLANKS) + draw(written_json(value)) + draw(BLANKS)
    return ("\ufeff" if draw(st.integers(0, 5)) == 0 else "") + text


TOML_CHUNKS = (
    "# mine\n",
    'model = "o"  # the small one\n',
    "'quoted key' = 1\n",
    "a.b.c = 1\n",
    "inline = { x = 1, y = [1, 2] }\n",
    "when = 1979-05-27T07:32:00Z\n",
    'long = """\n[not.a.table]\n"""\n',
    "numbers = [\n  1,\n  2, # two\n]\n",
    "strange = [nan, -inf, 0x1F, 1_000]\n",
    "\n",
    "\t\n",
)
TOML_TABLES = (
    '[profiles.fast]\nmodel = "f"\n',
    "[[skills]]\nname = 'a'\n\n[[skills]]\nname = 'b'\n",
    "[ \"tui\" . 'x' ]\n  y = 1\n",
    "[mcp_servers]\n",
    '[mcp_servers.docs]  # theirs\ncommand = "docs"\nenv = { A = "1" }\n',
    '[mcp_servers.docs.env]\nA = "1"\n',
    '[mcp_servers."with space"]\ncommand = "x"\n',
    '[mcp_servers.codecompass]\ncommand = "/gone/codecompass" # where\nargs = [\n  "serve-mcp", # yes\n'
    "]\nstartup_timeout_sec = 30\n",
    '[mcp_servers."codecompass"]\nurl = "http://127.0.0.1:9100/mcp"\n',
    '[mcp_servers.codecompass]\ncommand = "codecompass"\n\n[mcp_servers.codecompass.env]\nA = "1"\n',
    '[mcp_servers]\ncodecompass = { command = "/gone/x", when = 1979-05-27 }\n',
    '[mcp_servers]\ncodecompass.command = "/bin/sh"\n',
)
TOML_ROOTS = (
    'mcp_servers.docs.command = "x"\n',
    'mcp_servers = { docs = { command = "x" } }\n',
    'mcp_servers.codecompass.command = "/gone/codecompass"\n',
    "mcp_servers = {}\n",
)


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    """A valid configuration file of Codex."""
    chunks = draw(st.lists(st.sampled_from((*TOML_CHUNKS, *TOML_ROOTS)), max_size=4, unique=True))
    tables = draw(st.lists(st.sampled_from(TOML_TABLES), max_size=4, unique=True))
    text = "".join(chunks) + draw(st.sampled_from(["", "\n"])).join(tables)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        text = "".join(each for each in chunks if each in TOML_CHUNKS)
    return ("\ufeff" if draw(st.integers(0, 9)) == 0 else "") + text


YAML_CHUNKS = (
    "# mine\n",
    "GOOSE_MODEL: o # the small one\n",
    'GOOSE_SEARCH_PATHS:\n- /usr/local/bin\n- "~/tools"\n',
    "slash_commands:\n  - command: x\n    recipe_path: /y\n",
    "text: |\n  extensions:\n    no\n",
    '"quoted": {a: [1, 2]}\n',
    "\n",
)
YAML_SECTIONS = (
    "extensions:\n",
    "extensions: {}\n",
    "extensions: # none yet\n",
    "extensions:\n  developer:\n    enabled: true\n    type: builtin\n\n  # the other\n  memory: {enabled: false}\n",
    "extensions:\n    codecompass:\n        cmd: /gone/codecompass\n        args:\n        - serve-mcp\n"
    "        timeout: 30 # slow\n    b:\n        c: 1\n",
    "extensions:\n  codecompass:\n    type: stdio\n    cmd: codecompass\n    args: [serve-mcp]\n    envs:\n      A: '1'\n",
    "'extensions':\n  \"codecompass\":\n    uri: http://127.0.0.1:9100/mcp\n",
    "extensions: [a]\n",
    "extensions:\n- a\n",
)


@st.composite
def yaml_files(draw: st.DrawFn) -> str:
    """A configuration file of Goose."""
    chunks = draw(st.lists(st.sampled_from(YAML_CHUNKS), max_size=4, unique=True))
    chunks += draw(st.lists(st.sampled_from(YAML_SECTIONS), max_size=1))
    text = draw(st.sampled_from(["", "---\n"])) + "".join(draw(st.permutations(chunks)))
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text
