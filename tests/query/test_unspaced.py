"""Text without blanks between words is found by any of its parts of two characters and more."""

import itertools
from collections.abc import Iterator

import pytest

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query.locate import locate_symbol
from codecompass.query.options import QueryOptions
from codecompass.query.outline import similar_paths
from codecompass.query.search import search_code
from codecompass.query.words.regex_terms import text_terms
from codecompass.store.snapshot import Snapshot
from tests.support.workspace import TestWorkspace

FILES = {
    "retry.py": '"""Retries."""\n\n\ndef retry(user):\n    # 用户认证失败时重试三次\n    return user\n',
    "cache.py": "def clear():\n    # 清除缓存以后重新读取用户的配置\n    return None\n",
    "login.kt": "// 사용자를 찾을 수 없습니다\nfun login() {}\n",
    "config.rb": "# 設定ファイルを読み込むときにエラーが発生した\ndef load; end\n",
    "thai.go": "package thai\n\n// ลองใหม่สามครั้งเมื่อเข้าสู่ระบบไม่สำเร็จ\nfunc Retry() {}\n",
    "names.py": "class 用户认证管理器:\n    def 取得用户名(self): pass\n\n\ndef 사용자_찾기(): pass\n\n\ndef เข้าสู่ระบบ(): pass\n",
    "mixed.py": "# 使用Python编写的timeout超时设置\nX = 1\n",
    "文档/安装说明.md": "# Setup\n\nRun it.\n",
    **{
        f"filler{number}.py": f"def filler{number}():\n    # 没有别的东西 {number}\n    return {number}\n" for number in range(20)
    },
}

LINES = {
    "retry.py": ("用户认证失败时重试三次", 5),
    "login.kt": ("사용자를", 1),
    "config.rb": ("設定ファイルを読み込むときにエラーが発生した", 1),
    "thai.go": ("ลองใหม่สามครั้งเมื่อเข้าสู่ระบบไม่สำเร็จ", 3),
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> TestWorkspace:
    import trio

    workspace = TestWorkspace(tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("home"))
    workspace.write(FILES)
    trio.run(workspace.sync)
    return workspace


@pytest.fixture
def snapshot(indexed: TestWorkspace) -> Iterator[Snapshot]:
    with indexed.index.snapshot() as snapshot:
        yield snapshot


@pytest.fixture
def state(indexed: TestWorkspace) -> AnswerState:
    return AnswerState(workspace=str(indexed.root), project_id=indexed.project_id, ref="main")


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in itertools.combinations(range(len(text) + 1), 2) if end - start >= 2]


@pytest.mark.parametrize("path", LINES)
def test_every_part_of_two_characters_and_more_is_found(path: str, snapshot: Snapshot, state: AnswerState):
    text, _ = LINES[path]
    for part in parts(text):
        others = {name for name, content in FILES.items() if part in content} - {path}

        reply = search_code(snapshot, SearchCode(query=part), state, QueryOptions(answers="text"))

        found = [hit.path for hit in reply.results]
        assert path in found, part
        assert {found[0]} <= {path, *others} or path == found[1], part
        assert reply.metadata.warnings == (), part


def test_the_line_with_the_part_is_shown(snapshot: Snapshot, state: AnswerState):
    for query in ("用户认证", "认证失败", "重试三次"):
        best = search_code(snapshot, SearchCode(query=query), state, QueryOptions(answers="text")).results[0]

        assert best.path == "retry.py"
        assert 5 in [line.line for line in best.excerpt.lines]


def test_a_literal_reads_only_texts_that_have_its_pairs(snapshot: Snapshot, state: AnswerState):
    for path, (text, line) in LINES.items():
        for part in parts(text):
            held = snapshot.text.chunks_holding(text_terms(part))
            reply = search_code(snapshot, SearchCode(query=part, mode="literal", limit=20), state)

            expected = {name for name, content in FILES.items() if part in content}
            assert {hit.path for hit in reply.results} == expected, part
            assert len(held) <= len(expected) + 2, part
            lines = {each.line for hit in reply.results if hit.path == path for each in hit.matched_lines}
            assert line in lines, part


def test_words_that_occur_nowhere_find_nothing(snapshot: Snapshot, state: AnswerState):
    for query in ("量子纠缠", "不存在", "고양이", "イルカ"):
        reply = search_code(snapshot, SearchCode(query=query), state)

        assert reply.results == ()
        assert "no word of the query occurs" in reply.notice


def test_a_sentence_in_chinese_finds_the_place_with_most_of_it(snapshot: Snapshot, state: AnswerState):
    reply = search_code(snapshot, SearchCode(query="用户认证失败以后怎么重试"), state)

    assert reply.results[0].path == "retry.py"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("认证管理", "用户认证管理器"),
        ("用户认证", "用户认证管理器"),
        ("用户名", "取得用户名"),
        ("사용자", "사용자_찾기"),
        ("찾기", "사용자_찾기"),
        ("สู่ระบบ", "เข้าสู่ระบบ"),
        ("用户认证管理器", "用户认证管理器"),
    ],
)
def test_names_are_located_by_a_part_of_them(query: str, name: str, snapshot: Snapshot, state: AnswerState):
    reply = locate_symbol(snapshot, LocateSymbol(name=query), state)

    assert reply.results[0].name == name
    assert reply.results[0].match == ("exact" if query == name else "parts")


def test_a_name_with_only_some_of_the_letters_is_no_match(snapshot: Snapshot, state: AnswerState):
    assert locate_symbol(snapshot, LocateSymbol(name="权限认证"), state).results == ()


def test_latin_words_inside_of_such_text_are_found(snapshot: Snapshot, state: AnswerState):
    for query in ("timeout", "python"):
        assert search_code(snapshot, SearchCode(query=query), state).results[0].path == "mixed.py"


def test_files_are_found_by_parts_of_their_names(snapshot: Snapshot, state: AnswerState):
    for query in ("安装", "装说明", "文档"):
        found = search_code(snapshot, SearchCode(query=query), state).results
        assert [hit.path for hit in found] == ["文档/安装说明.md"], query
    assert search_code(snapshot, SearchCode(query="安装", mode="files"), state).results[0].path == "文档/安装说明.md"
    assert similar_paths(snapshot, "安装.md") == ["文档/安装说明.md"]
