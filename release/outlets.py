"""The files by which hosts and their directories learn of the server, all written from `release.definition`.

`python -m release.outlets` writes them; a test checks that those in the repository are what it would write.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from codecompass.cli.hosts.rules import RULES
from release.definition import DEFINITION, Definition, Prompt

ROOT = Path(__file__).parents[1]
BEGIN = "<!-- written by python -m release.outlets -->"
END = "<!-- end -->"
HOSTS_PAGE = Path("docs/hosts.md")
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
BUNDLE_VERSION = "0.4"


def outlets(definition: Definition) -> dict[str, str]:
    """Returns the content of each file, by its path in the repository."""
    plugin, extension, bundle = "plugins/claude-code", "plugins/gemini", "plugins/bundle"
    files = {
        "server.json": _json(registry_entry(definition)),
        ".claude-plugin/marketplace.json": _json(marketplace(definition, f"./{plugin}")),
        f"{plugin}/.claude-plugin/plugin.json": _json(_plugin(definition)),
        f"{plugin}/.mcp.json": _json({"mcpServers": {definition.name: _launch(definition)}}),
        f"{plugin}/skills/find-code/SKILL.md": _skill(definition),
        f"{plugin}/README.md": _plugin_readme(definition),
        f"{extension}/gemini-extension.json": _json(_extension(definition)),
        f"{extension}/GEMINI.md": f"# {definition.title}\n\n" + "\n".join(RULES) + "\n",
        f"{bundle}/manifest.json": _json(bundle_manifest(definition)),
        f"{bundle}/pyproject.toml": _bundle_project(definition),
    }
    for prompt in definition.prompts:
        files[f"{plugin}/commands/{prompt.name}.md"] = _claude_command(prompt)
        files[f"{extension}/commands/{prompt.name}.toml"] = _gemini_command(prompt)
    return files


def registry_entry(definition: Definition) -> dict[str, object]:
    """Returns the entry in the MCP registry."""
    package = {
        "registryType": "pypi",
        "identifier": definition.program,
        "version": definition.version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [*_registry_arguments(definition.arguments)],
    }
    return {
        "$schema": SERVER_SCHEMA,
        "name": registry_name(definition),
        "title": definition.title,
        "description": definition.summary,
        "version": definition.version,
        "packages": [package],
    }


def registry_name(definition: Definition) -> str:
    """Returns the name in the MCP registry, which README.md must contain as proof that the package belongs to it."""
    return f"{definition.namespace}/{definition.name}"


def _registry_arguments(arguments: tuple[str, ...]) -> list[dict[str, str]]:
    """Returns words as positional arguments, and an option with the word after it as a named one."""
    words = iter(arguments)
    return [
        {"type": "named", "name": word, "value": next(words)} if word.startswith("--") else {"type": "positional", "value": word}
        for word in words
    ]


def marketplace(definition: Definition, source: str) -> dict[str, object]:
    """Returns the list of plugins, with ours in the directory `source`."""
    return {
        "name": definition.name,
        "owner": {"name": definition.author},
        "description": definition.summary,
        "plugins": [
            {"name": definition.name, "source": source, "description": definition.summary, "version": definition.version}
        ],
    }


def _plugin(definition: Definition) -> dict[str, object]:
    return {
        "name": definition.name,
        "version": definition.version,
        "description": definition.summary,
        "author": {"name": definition.author},
        "license": definition.licence,
        "keywords": list(definition.keywords),
    }


def _plugin_readme(definition: Definition) -> str:
    commands = "\n".join(f"- `/{definition.name}:{prompt.name}`: {prompt.description}." for prompt in definition.prompts)
    return f"""# {definition.title} for Claude Code

{definition.summary}

It starts the `{definition.program}` on the `PATH`, which must be installed before. There is also a skill that says when
to use which tool, and these commands:

{commands}
"""


def _extension(definition: Definition) -> dict[str, object]:
    return {
        "name": definition.name,
        "version": definition.version,
        "description": definition.summary,
        "mcpServers": {definition.name: _launch(definition)},
        "contextFileName": "GEMINI.md",
    }


def bundle_manifest(definition: Definition) -> dict[str, object]:
    """Returns the manifest of the MCP bundle, which `release.bundle` packs together with the wheel."""
    project = {
        "type": "directory",
        "title": "Project",
        "description": "The directory of the code to search. Claude Desktop has no project open by itself.",
        "required": True,
    }
    run = ["run", "--directory", "${__dirname}", "server.py", *definition.arguments, "--workspace", "${user_config.project}"]
    return {
        "manifest_version": BUNDLE_VERSION,
        "name": definition.name,
        "display_name": definition.title,
        "version": definition.version,
        "description": definition.summary,
        "author": {"name": definition.author},
        "server": {"type": "uv", "entry_point": "server.py", "mcp_config": {"command": "uv", "args": run}},
        "tools": [{"name": name, "description": use} for name, use in definition.uses.items()],
        "keywords": list(definition.keywords),
        "license": definition.licence,
        "compatibility": {"platforms": list(definition.platforms), "runtimes": {"python": definition.requires_python}},
        "user_config": {"project": project},
    }


def wheel_name(definition: Definition) -> str:
    """Returns the name of the wheel's file."""
    return f"{definition.program}-{definition.version}-py3-none-any.whl"


def _bundle_project(definition: Definition) -> str:
    return f"""# What uv installs before it runs server.py: the wheel in this bundle, and its dependencies.
[project]
name = "{definition.name}-bundle"
version = "{definition.version}"
requires-python = "{definition.requires_python}"
dependencies = ["{definition.program}"]

[tool.uv]
package = false

[tool.uv.sources]
{definition.program} = {{ path = "{wheel_name(definition)}" }}
"""


def _skill(definition: Definition) -> str:
    uses = "\n".join(f"| `{tool}` | {use} |" for tool, use in definition.uses.items())
    rules = "\n".join(RULES)
    return f"""---
name: find-code
description: Finds code with the {definition.title} tools. Use it for any question about where something is in a repository,
  how it works, who uses it, or what a change affects, before grep and before reading whole files.
---

# Find code with {definition.title}

{rules}

| tool | when |
|---|---|
{uses}

Questions about code accept `ref`: a branch, a tag or a commit, which need not be checked out. The index follows the working
tree by itself; there is no need to ask for an update after an edit. If the tools are missing, `{definition.program}` is not
installed or not on the PATH.
"""


def _claude_command(prompt: Prompt) -> str:
    return f"---\ndescription: {prompt.description}\nargument-hint: {json.dumps(f'[{prompt.argument}]')}\n---\n\n{prompt.text}"


def _gemini_command(prompt: Prompt) -> str:
    text = prompt.text.replace("$ARGUMENTS", "{{args}}")
    return f'description = "{prompt.description}"\nprompt = """\n{text}"""\n'


def _launch(definition: Definition) -> dict[str, object]:
    return {"command": definition.program, "args": list(definition.arguments)}


def vscode_link(definition: Definition) -> str:
    """Returns the address that makes VS Code offer to install the server."""
    return "vscode:mcp/install?" + quote(_compact({"name": definition.name} | _launch(definition)), safe="")


def cursor_link(definition: Definition) -> str:
    """Returns the address that makes Cursor offer to install the server."""
    entry = base64.b64encode(_compact(_launch(definition)).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?name={definition.name}&config={quote(entry, safe='')}"


def hosts_section(definition: Definition) -> str:
    """Returns the part of docs/hosts.md about these files."""
    name, serve = definition.name, " ".join([definition.program, *definition.arguments])
    spaced = " and ".join(f"`/{name}:{prompt.name}`" for prompt in definition.prompts)
    plain = " and ".join(f"`/{prompt.name}`" for prompt in definition.prompts)
    rows = {
        "Claude Code": f"`claude plugin marketplace add ./`, then `claude plugin install {name}@{name}`: the server, a skill "
        f"that says when to use which tool, {spaced}",
        "Codex": f"`codex plugin marketplace add ./`, then `codex plugin add {name}@{name}`: the server and the skill, from the "
        "same files",
        "Gemini CLI": f"`gemini extensions install ./plugins/gemini`: the server, three lines of context, {plain}",
        "Claude Desktop": f"open `dist/{name}-{definition.version}.mcpb`, which `make release` writes; it asks for the project",
        "VS Code": f"open `{vscode_link(definition)}`",
        "Cursor": f"open `{cursor_link(definition)}`",
        "uv, without installing": f"`uvx --from dist/{wheel_name(definition)} {serve}`, or `uvx --from . {serve}`",
        "a container": "`deploy/Dockerfile.local`, whose first lines say how to build and run it: a server over HTTP for the "
        "repositories below one directory, without rights, on a read-only file system",
        "the MCP registry": "`server.json`, for whoever publishes; its namespace must be theirs (`release/definition.py`)",
    }
    table = "\n".join(f"| {host} | {what} |" for host, what in rows.items())
    return f"{BEGIN}\n| for | what to do |\n|---|---|\n{table}\n{END}"


def with_section(page: str, definition: Definition) -> str:
    """Returns a page with the part between the two markers renewed."""
    before, rest = page.split(BEGIN, 1)
    return before + hosts_section(definition) + rest.split(END, 1)[1]


def write(root: Path, definition: Definition) -> None:
    """Writes all files below a directory."""
    for name, text in outlets(definition).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    page = root / HOSTS_PAGE
    page.write_text(with_section(page.read_text(encoding="utf-8"), definition), encoding="utf-8")


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _compact(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    write(ROOT, DEFINITION)
