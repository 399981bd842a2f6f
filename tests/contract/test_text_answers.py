"""Answers as text: models get code and its location, exactly as in the files."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import codecompass
from codecompass.query.excerpts import WHOLE_LINES
from codecompass.settings import ServerSettings
from codecompass.store.registry import Registry
from codecompass.transport.tools.listing import describe
from tests.support.serving import SETTINGS, Serving, open_serving

openai = pytest.importorskip("rs_bpe.bpe", reason="has no wheel for this Python").openai

PACKAGE = Path(codecompass.__file__).parent

QUESTIONS = [
    "where is the writer lock taken",
    "progress of an index job",
    "def __init__",
    "how are workspaces evicted",
    "estimate the tokens of an answer",
    "a name of a symbol in any language's spelling",
]
NAMES = ["WorkspaceActor", "open_server", "lines_of", "QuerySettings", "run"]

NUMBERED = re.compile(r"(\d+):(.*)")
HEADING = re.compile(r"(\d+)(?:-(\d+))? (?!of )(.*)")
LOCATED = re.compile(r"(?P<path>[^\s:]+):(?P<line>\d+)(?:-\d+)?(?::(?P<code>.*)| .*)")
"""A file with one line or one definition, on the line of its path."""


@pytest.fixture
async def own_code(tmp_path: Path) -> AsyncIterator[Serving]:
    """Serves the codecompass package, answering in text."""
    settings = replace(SETTINGS, server=ServerSettings(prewarm=False, answers="text"))
    async with open_serving(tmp_path / "home", settings=settings) as serving:
        project = await serving.registry.run(Registry.register, PACKAGE)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        await serving.call("index_repo", wait_seconds=50)
        yield serving


async def text_of(serving: Serving, tool: str, **arguments: object) -> str:
    answer = await serving.answer(tool, **arguments)
    assert answer.error is None
    return answer.text


def source_lines(text: str) -> Iterator[tuple[str, int, str]]:
    """Yields path, number and text of each line of code, and the first line of each definition."""
    path = ""
    lines: list[str] = []
    for line in text.split("\n"):
        numbered, heading = NUMBERED.fullmatch(line), HEADING.fullmatch(line)
        if numbered is not None:
            yield path, int(numbered[1]), numbered[2]
        elif heading is not None:
            yield path, int(heading[1]), lines[int(heading[1]) - 1]
        elif (located := LOCATED.fullmatch(line)) is not None and (PACKAGE / located["path"]).is_file():
            own = (PACKAGE / located["path"]).read_text().split("\n")[int(located["line"]) - 1]
            yield located["path"], int(located["line"]), own if located["code"] is None else located["code"]
        elif (PACKAGE / line).is_file():
            path, lines = line, (PACKAGE / line).read_text().split("\n")


@pytest.mark.invariant(
    "Each line of code in a text answer is that line of the file, and no content of a repository can break one"
)
@pytest.mark.slow
async def test_every_line_of_code_is_that_line_of_the_file(own_code):
    shown = 0
    for tool, arguments in [
        *(("search_code", {"query": query}) for query in QUESTIONS),
        *(("search_code", {"query": query, "detail_level": "context", "limit": 3}) for query in QUESTIONS),
        *(("locate_symbol", {"name": name}) for name in NAMES),
        ("search_code", {"query": "def \\w+_of", "mode": "regex"}),
        ("get_code_context", {"query": "index job", "strategy": "depth"}),
    ]:
        for path, number, line in source_lines(await text_of(own_code, tool, **arguments)):
            actual = (PACKAGE / path).read_text().split("\n")[number - 1]
            assert line == actual or line.endswith("…"), (tool, arguments, path, number)
            shown += 1
    assert shown > 200


@pytest.mark.slow
async def test_an_answer_takes_few_more_characters_than_ripgrep_prints_for_the_same_lines(own_code):
    """The names of definitions around lines, and of others beside them, are what an answer has in addition."""
    characters = printed = 0
    for query in QUESTIONS:
        text = await text_of(own_code, "search_code", query=query)
        lines = {(path, number): line for path, number, line in source_lines(text)}
        printed += sum(len(f"{path}:{number}:{line}\n") for (path, number), line in lines.items())
        characters += len(text)
    assert characters <= 1.3 * printed, characters / printed


@pytest.mark.slow
async def test_nine_tenths_of_an_answer_are_paths_numbers_names_and_code(own_code):
    for query in QUESTIONS:
        text = await text_of(own_code, "search_code", query=query)
        useful = 0
        for line in text.split("\n"):
            heading = HEADING.fullmatch(line.removeprefix("in "))
            is_place = heading or LOCATED.fullmatch(line) or (PACKAGE / line).is_file()
            if NUMBERED.fullmatch(line) or is_place or line.startswith(("in ", "also ")):
                useful += len(line)
        assert useful >= 0.9 * len(text), query


@pytest.mark.slow
async def test_a_short_definition_is_whole_and_a_long_one_is_not(own_code):
    long = await text_of(own_code, "locate_symbol", name="get_code_context", kind="fn")
    short = await text_of(own_code, "locate_symbol", name="span", path="protocol/text/code.py")

    assert long.count("\n") < WHOLE_LINES
    assert "def get_code_context(snapshot: Snapshot" in long
    assert short.split("\n")[0] == "protocol/text/code.py"
    assert [line.partition(":")[2].strip() for line in short.split("\n")[2:]] == [
        "def span(first: int, last: int) -> str:",
        '"""Returns a line range: `12-30`, or `12`."""',
        'return str(first) if last <= first else f"{first}-{last}"',
    ]


@pytest.mark.slow
@pytest.mark.parametrize("vocabulary", [openai.cl100k_base, openai.o200k_base])
async def test_the_budget_of_a_context_is_kept_by_the_text(own_code, vocabulary):
    count = vocabulary().count
    for query in QUESTIONS:
        for budget in (300, 700, 1500, 6000):
            text = await text_of(own_code, "get_code_context", query=query, max_tokens=budget, strategy="depth")
            assert count(text) <= budget, (query, budget)


@pytest.mark.slow
async def test_nothing_of_the_envelope_is_in_the_text(own_code):
    text = await text_of(own_code, "search_code", query="index job")

    for word in ("score", "symbol_id", "language", "schema_status", "project_id", "generation", "fresh"):
        assert f'"{word}"' not in text
    assert str(PACKAGE) not in text


def test_tools_that_answer_in_text_have_no_output_schema():
    assert all(not tool.output_schema for tool in describe("all", "text"))
    assert all(tool.output_schema for tool in describe("all", "json"))
