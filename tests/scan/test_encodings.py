"""In which encoding the bytes of a file are read."""

import random
import sys

import pytest

from codecompass.scan.encodings import Decoded, declared_encoding, decoded

COMMENTS = {
    "cp932": "設定ファイルを読み込む。ユーザー認証に失敗した場合は三回まで再試行する",
    "euc_jp": "設定ファイルを読み込む。ユーザー認証に失敗した場合は三回まで再試行する",
    "gb18030": "读取配置文件。用户认证失败时重试三次，然后清除缓存",
    "big5": "讀取設定檔。使用者驗證失敗時重試三次，然後清除快取",
    "cp949": "설정 파일을 읽는다. 사용자 인증에 실패하면 세 번 다시 시도한다",
    "koi8-r": "прочитать файл настроек и повторить три раза при ошибке входа",
    "cp1251": "прочитать файл настроек и повторить три раза при ошибке входа",
    "cp1252": "Größe prüfen: die “Übergabe” läuft über Schlüssel – Zähler zurücksetzen, café",
    "iso8859-1": "vérifier la taille, réessayer où c'est déjà fermé, año",
    "cp1250": "sprawdź rozmiar pliku i wyczyść pamięć podręczną, także źródła",
    "iso8859-2": "sprawdź rozmiar pliku i wyczyść pamięć podręczną, także źródła",
    "cp1253": "διαβάζει το αρχείο ρυθμίσεων και προσπάθησε ξανά τρεις φορές",
    "tis-620": "อ่านไฟล์การตั้งค่าและลองใหม่สามครั้งเมื่อเข้าสู่ระบบไม่สำเร็จ",
}


def source(comment: str) -> str:
    return f'import os\n\n\ndef load(path):\n    """{comment}"""\n    return os.path.getsize(path)\n'


@pytest.mark.parametrize("encoding", COMMENTS)
def test_the_encoding_of_a_source_file_is_told_from_its_bytes(encoding: str):
    text = source(COMMENTS[encoding])

    found = decoded(text.encode(encoding))

    assert found is not None
    assert found.text == text


@pytest.mark.parametrize("padding", [0, 200_000])
def test_one_line_beyond_ascii_anywhere_in_a_file_is_enough(padding: int):
    text = "x = 1\n" * (padding // 6) + f"# {COMMENTS['koi8-r']}\n" + "y = 2\n" * (padding // 6)

    assert decoded(text.encode("koi8-r")) == Decoded(text, "koi8-r")


@pytest.mark.parametrize("text", ["café\n", "name = 'José'\n", "# © 2004\n", "naïve\r\n", "café für"])
def test_a_single_letter_in_an_ascii_text_is_western(text: str):
    assert decoded(text.encode("latin-1")) == Decoded(text, "cp1252")


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("utf-32-be", b"\0\0\xfe\xff"),
    ],
)
def test_a_byte_order_mark_decides(codec: str, mark: bytes):
    assert decoded(mark + "Größe 用户\n".encode(codec)) == Decoded("Größe 用户\n", codec)


@pytest.mark.parametrize(
    ("head", "codec", "name"),
    [
        ("# -*- coding: latin-1 -*-\n", "latin-1", "iso8859-1"),
        ("#!/usr/bin/python\n# -*- coding: koi8-r -*-\n", "koi8-r", "koi8-r"),
        ("# vim: set fileencoding=iso-8859-15 :\n", "iso8859-15", "iso8859-15"),
        ("/* -*- mode: c; coding: iso-latin-1-unix -*- */\n", "latin-1", "iso8859-1"),
        ("# encoding: euc-jp\n", "euc_jp", "euc_jp"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?>\n', "latin-1", "iso8859-1"),
        ('<html><head>\n<meta http-equiv="Content-Type" content="text/html; charset=windows-1253">\n', "cp1253", "cp1253"),
        ("<meta charset='shift_jis'>\n", "shift_jis", "shift_jis"),
        ('@charset "iso-8859-2";\n', "iso8859-2", "iso8859-2"),
        ('msgstr ""\n"Content-Type: text/plain; charset=EUC-KR\\n"\n', "euc_kr", "euc_kr"),
    ],
)
def test_what_a_file_declares_is_its_encoding(head: str, codec: str, name: str):
    letters = {
        "koi8-r": "ошибка",
        "euc_jp": "設定",
        "cp1253": "αρχείο",
        "shift_jis": "設定",
        "iso8859-2": "źródło",
        "euc_kr": "설정",
    }
    text = head + f"x = '{letters.get(codec, 'Zähler déjà')}'\n"

    assert decoded(text.encode(codec)) == Decoded(text, name)


def test_a_coding_line_counts_also_where_the_bytes_would_be_utf8():
    """Python, Ruby and editors read the file so."""
    text = "# -*- coding: latin-1 -*-\n# Ã©\n"

    assert text.encode("latin-1").decode().endswith("é\n")
    assert decoded(text.encode("latin-1")) == Decoded(text, "iso8859-1")


@pytest.mark.parametrize(
    "name", ["utf-8", "ascii", "rot13", "zlib", "utf-16", "unicode_escape", "no-such", "x" * 500, "..", "os"]
)
def test_a_declaration_that_names_no_encoding_of_text_is_ignored(name: str):
    text = f"# -*- coding: {name} -*-\n# für\n"

    assert decoded(text.encode()) == Decoded(text, "utf-8")
    assert decoded(text.encode("latin-1")) == Decoded(text, "cp1252")


def test_a_declaration_that_the_bytes_contradict_is_ignored():
    text = "# -*- coding: euc-kr -*-\n# für alle\n"

    assert decoded(text.encode("latin-1")) == Decoded(text, "cp1252")


def test_characters_of_the_usual_superset_are_read():
    text = "# -*- coding: shift_jis -*-\n# ①髙\n"

    assert decoded(text.encode("cp932")) == Decoded(text, "cp932")


def test_only_the_first_two_lines_hold_a_coding_line():
    assert declared_encoding(b"a\nb\n# coding: latin-1\n").name == ""
    assert declared_encoding(b"decoding=cp1252\n").name == ""
    assert declared_encoding(b"#\n# coding: latin-1\n").name == "latin-1"


def test_japanese_between_escape_sequences_is_read():
    text = "# 設定ファイル\nx = 1\n"

    assert decoded(text.encode("iso2022_jp")) == Decoded(text, "iso2022_jp_2")


def test_the_colours_of_a_terminal_are_no_japanese():
    assert decoded(b"\x1b[31mred\x1b[0m\n") == Decoded("\x1b[31mred\x1b[0m\n", "utf-8")


def test_an_editorconfig_counts_where_neither_the_file_nor_utf8_does():
    text = "# żółć\n"

    assert decoded(text.encode("cp1250"), lambda: "windows-1250") == Decoded(text, "cp1250")
    assert decoded("# für\n".encode(), lambda: "latin1") == Decoded("# für\n", "utf-8")
    assert decoded("# für\n".encode("latin-1"), lambda: "utf-8") == Decoded("# für\n", "cp1252")
    assert decoded("# für\n".encode("latin-1"), lambda: "latin1") == Decoded("# für\n", "iso8859-1")


def test_no_one_asks_for_an_editorconfig_or_a_detector_because_of_utf8():
    def charset() -> str:
        raise AssertionError

    for text in ("plain\n", "Größe 用户\n"):
        assert decoded(text.encode(), charset) == Decoded(text)


@pytest.mark.parametrize(
    "data", [b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82", b"\xff\xd8\xff\xe0\x10JFIF", b"\x1f\x8b\x08\x08\xd3"]
)
def test_a_few_odd_bytes_are_no_text(data: bytes):
    assert decoded(data) is None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_bytes", [200, 2_000, 20_000])
@pytest.mark.parametrize("alphabet", ["without NUL", "without control characters", "beyond ASCII"])
def test_random_bytes_are_no_text_in_any_encoding(alphabet: str, n_bytes: int, seed: int):
    letters = {
        "without NUL": bytes(range(1, 256)),
        "without control characters": bytes([10, *range(32, 127), *range(128, 256)]),
        "beyond ASCII": bytes(range(128, 256)),
    }[alphabet]

    assert decoded(bytes(random.Random(seed).choices(letters, k=n_bytes))) is None


def test_a_declaration_makes_no_text_of_bytes_with_control_characters():
    data = b"# coding: latin-1\n" + bytes(random.Random(1).choices(bytes(range(1, 256)), k=500))

    assert decoded(data) is None
    assert decoded(data[18:], lambda: "latin1") is None


def test_a_short_text_of_western_europe_needs_no_detector(monkeypatch):
    """The tables of the detector take 25 MB in each worker."""
    monkeypatch.setitem(sys.modules, "chardet", None)

    found = decoded("Copyright (c) 2009 Øyvind Sæther".encode("cp1252"))

    assert found == Decoded("Copyright (c) 2009 Øyvind Sæther", "cp1252")
