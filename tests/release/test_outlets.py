"""The files for hosts and directories: what the definition gives, and what the formats and the hosts themselves accept."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
import msgspec
import pytest
import yaml

import codecompass
from codecompass.transport.tools.listing import GROUPS
from release.bundle import pack_bundle
from release.checking import require_first_answer
from release.definition import DEFINITION
from release.outlets import HOSTS_PAGE, cursor_link, outlets, registry_name, vscode_link, wheel_name, with_section, write
from release.source import Commit, ReleaseError

ROOT = Path(__file__).parents[2]
FILES = outlets(DEFINITION)
COMMIT = Commit(id="0" * 40, seconds=1_767_323_045)
LAUNCH = {"command": "codecompass", "args": ["serve-mcp", "--tools", "core", "--answers", "text"]}


def _load(name: str) -> Any:
    return json.loads(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_what_the_definition_gives(name: str):
    assert (ROOT / name).read_text(encoding="utf-8") == FILES[name], "run python -m release.outlets"


def test_the_documentation_shows_what_the_definition_gives():
    page = (ROOT / HOSTS_PAGE).read_text(encoding="utf-8")

    assert page == with_section(page, DEFINITION), "run python -m release.outlets"


def test_another_version_reaches_every_file_that_names_one(tmp_path: Path):
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / HOSTS_PAGE, tmp_path / HOSTS_PAGE)

    write(tmp_path, msgspec.structs.replace(DEFINITION, version="7.8.9"))

    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [
        path for path in written if re.search(rf"(?<![\d.]){re.escape(codecompass.__version__)}(?![\d.])", path.read_text())
    ]
    assert sum("7.8.9" in path.read_text() for path in written) == 7


def test_the_skill_says_when_to_use_each_tool_that_the_server_then_lists():
    arguments = DEFINITION.arguments
    listed = GROUPS[arguments[arguments.index("--tools") + 1]]

    assert tuple(DEFINITION.uses) == listed
    skill = FILES["plugins/claude-code/skills/find-code/SKILL.md"]
    assert re.findall(r"^\| `(\w+)` \|", skill, re.MULTILINE) == list(listed)


@pytest.mark.parametrize(
    "name", [name for name in FILES if name.endswith(".md") and "README" not in name and "GEMINI" not in name]
)
def test_the_head_of_a_skill_or_command_is_yaml_with_a_description(name: str):
    _, head, body = FILES[name].split("---\n", 2)

    assert yaml.safe_load(head)["description"]
    assert body.strip()


def test_commands_name_only_tools_that_are_listed_and_pass_on_what_is_typed():
    for prompt in DEFINITION.prompts:
        command = tomllib.loads(FILES[f"plugins/gemini/commands/{prompt.name}.toml"])
        assert set(re.findall(r"`(\w+)`", prompt.text)) <= DEFINITION.uses.keys()
        assert prompt.text.count("$ARGUMENTS") == command["prompt"].count("{{args}}") == 1
        assert "$ARGUMENTS" in FILES[f"plugins/claude-code/commands/{prompt.name}.md"]


def test_plugin_extension_and_links_start_the_server_as_setup_does():
    assert _load("plugins/claude-code/.mcp.json") == {"mcpServers": {"codecompass": LAUNCH}}
    assert _load("plugins/gemini/gemini-extension.json")["mcpServers"] == {"codecompass": LAUNCH}
    assert json.loads(unquote(vscode_link(DEFINITION).removeprefix("vscode:mcp/install?"))) == {"name": "codecompass"} | LAUNCH
    query = parse_qs(urlsplit(cursor_link(DEFINITION)).query)
    assert query["name"] == ["codecompass"]
    assert json.loads(base64.b64decode(query["config"][0])) == LAUNCH


def test_the_marketplace_leads_to_the_plugin():
    (entry,) = _load(".claude-plugin/marketplace.json")["plugins"]

    plugin = json.loads((ROOT / entry["source"] / ".claude-plugin/plugin.json").read_text())
    assert (plugin["name"], plugin["version"]) == (entry["name"], codecompass.__version__)


def test_the_registry_entry_keeps_the_limits_of_the_registry():
    entry = _load("server.json")

    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert len(entry["description"]) <= 100
    assert entry["version"] == entry["packages"][0]["version"] == codecompass.__version__
    words = [word for each in entry["packages"][0]["packageArguments"] for word in (each.get("name"), each["value"]) if word]
    assert words == LAUNCH["args"]


def test_the_readme_of_the_package_proves_that_it_belongs_to_the_registry_entry():
    assert f"mcp-name: {registry_name(DEFINITION)} " in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("variable", "name"),
    [("MCP_SERVER_SCHEMA", "server.json"), ("MCPB_MANIFEST_SCHEMA", "plugins/bundle/manifest.json")],
)
def test_the_published_schemas_accept_the_files(variable: str, name: str):
    """The schemas are not ours to distribute; the variables name copies of them."""
    if variable not in os.environ:
        pytest.skip(f"{variable} does not name the schema")

    jsonschema.Draft7Validator(json.loads(Path(os.environ[variable]).read_text())).validate(_load(name))


def _wheel(directory: Path, name: str = wheel_name(DEFINITION)) -> Path:
    file = directory / name
    file.write_bytes(b"a wheel")
    return file


def test_a_bundle_of_the_same_commit_has_the_same_bytes_and_only_what_it_needs(tmp_path: Path):
    wheel = _wheel(tmp_path)
    (tmp_path / "again").mkdir()

    bundle = pack_bundle(ROOT, wheel, DEFINITION, COMMIT, tmp_path)

    assert bundle.name == f"codecompass-{codecompass.__version__}.mcpb"
    assert pack_bundle(ROOT, wheel, DEFINITION, COMMIT, tmp_path / "again").read_bytes() == bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        assert sorted(archive.namelist()) == ["LICENSE", wheel.name, "manifest.json", "pyproject.toml", "server.py"]
        project = tomllib.loads(archive.read("pyproject.toml").decode())
        assert project["tool"]["uv"]["sources"]["codecompass"]["path"] in archive.namelist()
        assert json.loads(archive.read("manifest.json"))["server"]["entry_point"] in archive.namelist()


def test_a_bundle_of_another_wheel_is_refused(tmp_path: Path):
    with pytest.raises(ReleaseError, match="not codecompass-9"):
        pack_bundle(ROOT, _wheel(tmp_path, "codecompass-9-py3-none-any.whl"), DEFINITION, COMMIT, tmp_path)


def test_the_bundle_starts_the_server_in_a_python_that_has_the_program(tmp_path: Path):
    command = [sys.executable, str(ROOT / "plugins/bundle/server.py"), *DEFINITION.arguments, "--workspace", str(tmp_path)]

    require_first_answer(command, codecompass.__version__, {"CODECOMPASS_HOME": str(tmp_path / "home")})


def test_a_python_without_the_program_installs_the_wheel_of_the_bundle_once(tmp_path: Path):
    """Here from a wheel that needs nothing, so that nothing is downloaded."""
    shutil.copy(ROOT / "plugins/bundle/server.py", tmp_path / "server.py")
    with zipfile.ZipFile(tmp_path / wheel_name(DEFINITION), "w") as archive:
        information = f"codecompass-{codecompass.__version__}.dist-info"
        archive.writestr("stand_in.py", "import sys\ndef main():\n    print(sys.argv[1:])\n")
        archive.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: codecompass\nVersion: {codecompass.__version__}\n"
        )
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/entry_points.txt", "[console_scripts]\ncodecompass = stand_in:main\n")
        archive.writestr(f"{information}/RECORD", "")
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    bare = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"

    for _ in range(2):
        command = [str(bare), "-I", str(tmp_path / "server.py"), "serve-mcp", "--workspace", "a b"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout) == (0, "['serve-mcp', '--workspace', 'a b']\n"), done.stderr
        (tmp_path / wheel_name(DEFINITION)).write_bytes(b"")  # not read again
