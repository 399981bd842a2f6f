"""Includes: next to the file, by the end of the path, and system headers."""

import pytest

from tests.support.imports import repository, target

TREE = repository(
    """
    src/net/socket.c src/net/socket.h src/net/util.h src/io/util.h src/io/file.c include/shop/api.h include/version.h
    compat/string.h third_party/zlib/zlib.h src/net/table.inc
    """
)


@pytest.mark.parametrize(
    ("from_path", "spec", "kind", "expected"),
    [
        ("src/net/socket.c", "socket.h", "include", "src/net/socket.h"),
        ("src/net/socket.c", "util.h", "include", "src/net/util.h"),
        ("src/net/socket.c", "./table.inc", "include", "src/net/table.inc"),
        ("src/io/file.c", "../net/socket.h", "include", "src/net/socket.h"),
        ("src/io/file.c", "net/socket.h", "include", "src/net/socket.h"),
        ("src/io/file.c", "shop/api.h", "include", "include/shop/api.h"),
        ("src/io/file.c", "shop/api.h", "system", "include/shop/api.h"),
        ("src/io/file.c", "version.h", "system", "include/version.h"),
        ("src/io/file.c", "zlib.h", "include", "third_party/zlib/zlib.h"),
        ("src/io/file.c", "string.h", "system", ""),
        ("src/io/file.c", "zlib.h", "system", ""),
        ("src/io/file.c", "gtest/gtest.h", "include", ""),
        ("src/io/file.c", "../../../socket.h", "include", ""),
        ("src/io/file.c", "", "include", ""),
    ],
)
def test_an_include_leads_to_the_header_that_its_text_spells(from_path, spec, kind, expected):
    assert target(TREE, from_path, spec, kind=kind) == expected


def test_of_two_headers_of_one_name_the_nearer_is_meant():
    paths = repository("a/x/types.h a/y/deep/main.cc b/types.h")

    assert target(paths, "a/y/deep/main.cc", "types.h", kind="include") == "a/x/types.h"
