"""The decisions of seed 004: which source selects the project if none is named, and what is reported.

| decision | test |
|---|---|
| roots > environment > cwd, first match wins, disagreement is reported | test_roots_then_codecompass_project_then_... |
| ?project_path= between roots and environment, 400 | tests/transport/test_router.py, tests/transport/http |
| no source is an error with its message | test_nothing_to_go_by_is_said_in_the_words_of_the_contract |
| detection follows the roots | test_roots_that_change_are_asked_for_again |
| first root wins, percent-decoded; missing ones and those of other hosts are skipped | test_the_first_root_that_exists_decides |
| hint once, if environment or cwd decided | test_the_hint_comes_once_and_only_without_roots |
| detected and not indexed | test_a_detected_project_that_is_not_indexed_is_named_with_the_remedy |
| --project-from-cwd | test_the_current_directory_counts_by_its_marker_or_by_the_flag |
| a broken source is an error | test_a_variable_that_names_nothing_is_an_error |

In the modern era roots are requested only if nothing else resolves: those tests run in both eras.
"""

import warnings
from urllib.parse import quote

import pytest

from tests.workspaces.machine import PATIENT, word

pytestmark = pytest.mark.interaction

MODES = ["legacy", "2026-07-28"]
TIP = "Tip: Use Claude Code for automatic project detection"


@pytest.fixture
def projects(machine):
    """A registered project for each source."""
    found = {name: machine.project(f"by-{name}") for name in ("roots", "codecompass", "claude", "cwd", "default")}
    for name, root in found.items():
        machine.register(root, is_default=name == "default")
    return found


async def test_roots_then_codecompass_project_then_claude_project_dir_then_cwd_then_default(machine, projects):
    variables = {"CODECOMPASS_PROJECT": str(projects["codecompass"]), "CLAUDE_PROJECT_DIR": str(projects["claude"])}
    cases = [
        ("roots", {"roots": [projects["roots"].as_uri()], "cwd": projects["cwd"], **variables}, 3),
        ("codecompass", {"cwd": projects["cwd"], **variables}, 2),
        ("claude", {"cwd": projects["cwd"], "CLAUDE_PROJECT_DIR": variables["CLAUDE_PROJECT_DIR"]}, 1),
        ("cwd", {"cwd": projects["cwd"] / "src"}, 0),
        ("default", {}, 0),
    ]
    for winner, surroundings, n_disagreeing in cases:
        async with machine.serve("--no-prewarm", **surroundings) as desk:
            answer = await desk.ready(word(projects[winner]))

            assert answer.names == {word(projects[winner])}
            assert answer.metadata["workspace"] == str(projects[winner])
            told = answer.metadata.get("warnings", [])
            assert len(told) == n_disagreeing, told
            assert all(str(projects[winner]) in warning for warning in told)


async def test_nothing_to_go_by_is_said_in_the_words_of_the_contract(machine):
    async with machine.serve(roots=[]) as desk:
        refused = await desk.call("search_code", query="x")

    assert refused.code == "project_not_found"
    assert refused.message.startswith("No project detected. Set CODECOMPASS_PROJECT or use --project-from-cwd. Or pass workspace")


async def test_roots_that_change_are_asked_for_again(machine, projects):
    roots = [projects["roots"].as_uri()]
    async with machine.serve(roots=roots) as desk:
        before = await desk.ready(word(projects["roots"]))
        roots[:] = [projects["cwd"].as_uri()]
        unasked = await desk.find(word(projects["roots"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated in the modern era; editors send it in the handshake era
            await desk.client.send_roots_list_changed()
        after = await desk.until(lambda answer: answer.metadata["workspace"] == str(projects["cwd"]), "index_status")

    assert before.metadata["workspace"] == unasked.metadata["workspace"] == str(projects["roots"])
    assert after.metadata["workspace"] == str(projects["cwd"])


@pytest.mark.parametrize("mode", MODES)
async def test_the_first_root_that_exists_decides(machine, mode):
    odd = machine.project("with space, #, % and ü")
    other = machine.project("other")
    machine.register(odd, is_default=False)
    machine.register(other, is_default=False)
    uris = [
        (machine.dev / "missing").as_uri(),
        f"file://elsewhere{other}",
        (other / "pyproject.toml").as_uri(),
        f"file://localhost{quote(str(odd / 'src'))}",
        other.as_uri(),
    ]
    async with machine.serve(roots=uris, mode=mode) as desk:
        answer = await desk.until(lambda answer: not answer.code, "index_status")

    assert answer.metadata["workspace"] == str(odd)


async def test_the_hint_comes_once_and_only_without_roots(machine, projects):
    async with machine.serve(cwd=projects["cwd"]) as desk:
        hints = [(await desk.find("x")).metadata.get("hint") for _ in range(3)]
    async with machine.serve(cwd=projects["cwd"], roots=[projects["cwd"].as_uri()]) as desk:
        unhinted = (await desk.find("x")).metadata

    assert hints == [TIP, None, None]
    assert "hint" not in unhinted


@pytest.mark.parametrize("mode", MODES)
async def test_the_first_question_registers_and_indexes_the_project_that_a_root_names(machine, mode):
    root = machine.project("fresh")
    machine.register(machine.project("other"), is_default=False)
    async with machine.serve(roots=[(root / "src").as_uri()], mode=mode, **PATIENT) as desk:
        found = await desk.call("search_code", query=word(root))

    assert found.paths == {"src/main.py"}
    assert found.metadata["result_completeness"] == "complete"
    assert not machine.projects()[root].is_auto_discovered


@pytest.mark.parametrize("name", ["CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR"])
async def test_the_first_question_registers_and_indexes_the_project_that_a_variable_names(machine, name):
    root = machine.project("fresh")
    place = root if name == "CODECOMPASS_PROJECT" else root / "src"
    async with machine.serve(**{name: str(place)}) as desk:
        found = await desk.find(word(root))

    assert found.names == {word(root)}
    assert list(machine.projects()) == [root]


async def test_a_detected_home_directory_is_refused_with_what_to_do(machine):
    async with machine.serve(roots=[machine.user.as_uri()]) as desk:
        refused = await desk.call("search_code", query="x")

    start = f"Project detected at {machine.user} but not indexed. Run codecompass index {machine.user} first."
    assert refused.message.startswith(start)
    assert "workspace" in refused.message[len(start) :]
    assert refused.code == "workspace_not_registered"


async def test_the_current_directory_counts_by_its_marker_or_by_the_flag(machine):
    marked, plain = machine.project("marked"), machine.project("plain", marker=False)
    async with machine.serve(cwd=marked / "src") as desk:
        assert (await desk.find(word(marked))).names == {word(marked)}
    async with machine.serve(cwd=plain) as desk:
        assert (await desk.find("x")).code == "project_not_found"
    async with machine.serve("--project-from-cwd", cwd=plain) as desk:
        assert (await desk.call("index_repo", wait_seconds=50)).code == ""
        assert (await desk.find(word(plain))).names == {word(plain)}
    async with machine.serve("--project-from-cwd", cwd=machine.user) as desk:
        assert (await desk.find("x")).code == "project_not_found"


async def test_a_variable_that_names_nothing_is_an_error(machine, projects):
    async with machine.serve(cwd=projects["cwd"], CODECOMPASS_PROJECT=str(machine.dev / "gone")) as desk:
        refused = await desk.find("x")

    assert refused.code == "project_not_found"
    assert "CODECOMPASS_PROJECT" in refused.message
