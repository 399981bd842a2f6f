"""Hits that say the same are one hit with a count."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.near_copies import is_edition

COMPOSER = """\
def compose_footer(columns, width):
    margin = width // (len(columns) + 1)
    lines = [column.center(margin) for column in columns]
    total = sum(len(line) for line in lines)
    return lines, total
"""

PAGE = "# Footers\n\nHow a footer is composed of columns, {0}.\n\nA footer has a margin, {0}.\n"


@pytest.fixture
def ask(index_of, state):
    def answer(files, query, **arguments):
        return search_code(index_of(files), SearchCode(query=query, **arguments), state)

    return answer


def test_a_copy_of_a_function_is_counted_and_not_shown(ask):
    files = {
        "src/footer.py": COMPOSER,
        "lib/footer.py": COMPOSER + "\n\nVERSION = 3\n",
        "src/header.py": "def compose_header(columns):\n    return columns\n",
    }

    reply = ask(files, "how are the columns of a footer composed")

    footers = [hit for hit in reply.results if hit.path.endswith("footer.py")]
    assert [hit.copies for hit in footers] == [1]
    assert any(hit.path == "src/header.py" for hit in reply.results)


def test_functions_of_one_name_that_do_something_else_are_both_shown(ask):
    body = "    for column in columns:\n        column.draw(height)\n    flush(columns)\n    return None\n"
    other = "def compose_footer(columns, height):\n" + body

    reply = ask({"a/footer.py": COMPOSER, "b/footer.py": other}, "how are the columns of a footer composed")

    assert {hit.path for hit in reply.results} == {"a/footer.py", "b/footer.py"}
    assert not any(hit.copies for hit in reply.results)


def test_translations_of_a_document_are_one_hit(ask):
    files = {f"docs/{language}/footers.md": PAGE.format(language * 3) for language in ("en", "de", "fr", "pt-BR")}

    reply = ask(files, "how is a footer composed of columns")

    assert len({hit.path for hit in reply.results}) == 1
    assert reply.results[0].copies == 3


@pytest.mark.parametrize(
    ("path", "other", "expected"),
    [
        ("docs/en/a.md", "docs/zh-CN/a.md", True),
        ("locale/de/LC_MESSAGES/app.po", "locale/fr/LC_MESSAGES/app.po", True),
        ("i18n/en.yml", "i18n/pt-BR.yml", True),
        ("README.de.md", "README.fr.md", True),
        ("docs/v1/a.md", "docs/v2.3/a.md", True),
        ("versioned_docs/version-1.0/a.md", "versioned_docs/version-2.x/a.md", True),
        ("docs/en/a.md", "docs/en/b.md", False),
        ("docs/go/a.md", "docs/js/a.md", False),
        ("docs/en/a.md", "docs/en/a.md", False),
        ("src/de/a.py", "src/fr/a.py", False),
        ("docs/guide/a.md", "docs/reference/a.md", False),
    ],
)
def test_paths_that_differ_only_in_a_language_or_a_version_are_editions(path, other, expected):
    assert is_edition(path, other) is expected
