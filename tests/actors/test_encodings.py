"""Files in other encodings, and with lines that are too long, from the disk to the answer."""

import pytest
from msgspec.structs import replace

from codecompass.actors.differences import _read as read_side
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import IndexStatus
from codecompass.query.differences.file_versions import tree_difference
from codecompass.query.status import index_status
from codecompass.scan.git_changes import find_changes
from codecompass.scan.git_revisions import named_side, repository_of
from tests.support.processes import run_python
from tests.support.workspace import LIMITS, TestWorkspace

ENCODINGS = {
    "latin-1": ("iso8859-1", "Schlüssel für die Übergabe"),
    "cp1252": ("cp1252", "the “quoted” café – naïve"),
    "gbk": ("gbk", "用户认证失败时重试三次"),
    "shift_jis": ("shift_jis", "ユーザー認証に失敗した場合は再試行する"),
    "euc_jp": ("euc_jp", "ユーザー認証に失敗した場合は再試行する"),
    "euc_kr": ("euc_kr", "사용자 인증에 실패하면 다시 시도한다"),
    "big5": ("big5", "使用者驗證失敗時重試三次"),
    "koi8-r": ("koi8-r", "повторить три раза при ошибке входа"),
}


def source(comment: str, *, coding: str = "") -> str:
    first = f"# -*- coding: {coding} -*-\n" if coding else ""
    return f'{first}def before(): pass\n\ndef retry(user):\n    """{comment}"""\n    return user\n'


def status(workspace: TestWorkspace, path: str | None = None):
    with workspace.index.snapshot() as snapshot:
        state = AnswerState(project_id=workspace.project_id, workspace=str(workspace.root), ref="main")
        return index_status(snapshot, IndexStatus(path=path), state, current_schema_version=1, required_schema_version=1)


@pytest.mark.parametrize("is_declared", [True, False])
async def test_files_of_every_encoding_are_indexed_with_their_symbols(workspace, is_declared):
    for encoding, (_, comment) in ENCODINGS.items():
        text = source(comment, coding=encoding if is_declared else "")
        workspace.write({f"{encoding}.py": text.encode(encoding)})

    await workspace.sync()

    assert status(workspace).skipped == {}
    for encoding, (name, comment) in ENCODINGS.items():
        path = f"{encoding}.py"
        assert workspace.text_of(path) == source(comment, coding=encoding if is_declared else "")
        assert (path, "retry") in workspace.names()
        if is_declared:
            assert status(workspace, path).file.encoding == name
    assert sum(status(workspace).encodings.values()) == len(ENCODINGS)


async def test_the_signature_and_lines_of_symbols_are_those_of_the_text(workspace):
    workspace.write({"größe.py": 'def größe(wert="ü"): return wert\n\ndef zähler(): pass\n'.encode("latin-1")})

    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        (file_id, _), *_ = snapshot.facts.paths()
        found = [(row.name, row.line_start, row.signature) for row in snapshot.facts.symbols_in_file(file_id)]
    assert found == [("größe", 1, 'def größe(wert="ü")'), ("zähler", 3, "def zähler()")]


async def test_the_charset_of_an_editorconfig_is_read(workspace):
    text = "# żółć\nx = 1\n"
    workspace.write({".editorconfig": "root = true\n[*.py]\ncharset = windows-1250\n", "a/b.py": text.encode("cp1250")})

    await workspace.sync()

    assert workspace.text_of("a/b.py") == text
    assert status(workspace, "a/b.py").file.encoding == "cp1250"


async def test_a_file_that_is_saved_in_another_encoding_is_read_again(workspace):
    text = source("Schlüssel für die Übergabe")
    workspace.write({"a.py": text.encode("latin-1")})
    await workspace.sync()
    workspace.write({"a.py": text})

    report = await workspace.sync()

    assert report.files_changed == 1
    assert workspace.text_of("a.py") == text
    assert status(workspace).encodings == {}


async def test_a_line_that_is_too_long_is_left_out_and_the_others_keep_their_numbers(workspace):
    text = "def above(): pass\nDATA = '{0}'\n# {0}\n\ndef below(): pass\n"
    workspace.write({"a.py": text.format("x" * 30_000), "b.py": "def b(): pass\n"})

    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        row = snapshot.facts.file("a.py")
        found = [(symbol.name, symbol.line_start) for symbol in snapshot.facts.symbols_in_file(row.id)]
    assert found == [("above", 1), ("below", 5)]
    assert workspace.text_of("a.py") == "def above(): pass\n\n\n\ndef below(): pass\n"
    assert status(workspace).long_lines == status(workspace, "a.py").file.long_lines == 2
    assert (status(workspace, "a.py").file.long_lines, status(workspace, "b.py").file.long_lines) == (2, 0)


async def test_a_raised_limit_brings_back_the_lines_that_were_left_out(workspace):
    text = "def above(): pass\nDATA = '{}'\n".format("x" * 30_000)
    workspace.write({"a.py": text})
    await workspace.sync()

    await workspace.sync(limits=replace(LIMITS, max_line_characters=1_000_000))

    assert workspace.text_of("a.py") == text
    assert status(workspace).long_lines == 0


async def test_a_commit_is_compared_in_the_same_encodings(repository):
    text = source("Schlüssel für die Übergabe")
    repository.write({"a.py": text.encode("latin-1")})
    repository.commit()
    repository.write({"a.py": text.replace("return user", "return None").encode("latin-1")})
    repository.commit()
    git = repository_of(str(repository.root), field="base")
    base, head = (named_side(git, name, field="base") for name in ("HEAD~1", "HEAD"))
    changes = find_changes(git, str(repository.root), base, head, LIMITS.rules, with_contents=True)

    async with open_worker_pool(1) as pool:
        read = [await read_side(changes, LIMITS, pool, is_old=is_old) for is_old in (True, False)]

    (file,) = tree_difference(changes, *read).files
    assert file.old.lines == tuple(text.splitlines())
    assert [symbol.name for symbol in file.new.symbols] == ["before", "retry"]


def test_the_detector_is_loaded_only_where_neither_utf8_nor_western_letters_tell():
    code = (
        "import sys; from codecompass.scan.classify import classify; "
        "classify('Größe'.encode()); classify(b'# coding: latin-1\\n\\xe9'); assert 'chardet' not in sys.modules; "
        "classify(b'caf\\xe9'); assert 'chardet' not in sys.modules; "
        "classify('Привет, мир: это текст'.encode('koi8-r')); assert 'chardet' in sys.modules"
    )

    assert run_python(code).returncode == 0
