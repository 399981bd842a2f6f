"""Definitions of documents, configuration, styles, infrastructure: behind code, found by kind, bound to what refers to them."""

import pytest

from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query import find_references, locate_symbol, search_code

FILES = {
    "app/jobs.py": "def deploy(target):\n    return target\n\n\nclass RetryPolicy:\n    retries = 3\n",
    ".github/workflows/ci.yml": "on: push\njobs:\n  lint:\n    runs-on: x\n  deploy:\n    needs: [lint]\n    runs-on: x\n",
    "docs/guide.md": (
        "# Guide\n\n## Retries and backoff\n\nRequests are tried again.\n\n## Installation from source\n\nClone it, then build.\n"
    ),
    "config/server.toml": '[server.http]\nport = 8080\n\n[deploy]\nregion = "north"\n',
    "web/site.css": ".btn-primary { color: red }\n.other { color: blue }\n",
    "web/page.html": '<p class="lead">x</p>\n<button class="btn btn-primary">Pay</button>\n',
    "infra/net/main.tf": 'resource "aws_vpc" "main" {\n  cidr = var.cidr\n}\n\noutput "id" { value = aws_vpc.main.id }\n',
    "infra/net/variables.tf": 'variable "cidr" {}\n',
    "infra/db/variables.tf": 'variable "cidr" {}\n',
}


@pytest.fixture(scope="module")
def snapshot(index_of):
    return index_of(FILES)


@pytest.fixture(scope="module")
def locate(snapshot, state):
    def located(name, **arguments):
        reply = locate_symbol(snapshot, LocateSymbol(name=name, **arguments), state)
        return [(result.path, result.line_start, result.kind) for result in reply.results]

    return located


@pytest.fixture(scope="module")
def uses(snapshot, state):
    def found(name):
        reply = find_references(snapshot, FindReferences(symbol_name=name), state)
        return [(each.path, each.line_start, each.confidence) for each in reply.references]

    return found


def test_a_name_means_code_and_with_a_kind_what_has_it(locate):
    assert locate("deploy") == [("app/jobs.py", 1, "fn")]
    assert locate("deploy", kind="job") == [(".github/workflows/ci.yml", 5, "target")]
    assert locate("deploy", kind="key") == [("config/server.toml", 4, "key")]


def test_words_of_a_name_mean_code_before_a_key_of_exactly_that_name(locate):
    assert locate("retries")[0] == ("app/jobs.py", 6, "field")
    assert locate("retry_policy")[0] == ("app/jobs.py", 5, "class")


@pytest.mark.parametrize("name", ["Retries and backoff", "backoff"])
def test_a_heading_is_found_by_its_words_where_no_code_has_them(locate, name):
    assert locate(name) == [("docs/guide.md", 3, "section")]


def test_a_key_is_found_by_its_dotted_name(locate):
    assert locate("server.http.port") == [("config/server.toml", 2, "key")]


def test_a_class_in_a_page_is_a_likely_use_of_its_rule(uses):
    assert uses(".btn-primary") == [("web/page.html", 2, "likely")]


def test_a_resource_is_used_by_its_address_and_a_variable_of_its_own_directory(uses):
    assert uses("aws_vpc.main") == [("infra/net/main.tf", 5, "exact")]
    assert uses("infra/net/variables.tf:1") == [("infra/net/main.tf", 2, "exact")]


def test_a_job_is_used_by_those_that_need_it(uses):
    assert uses("lint") == [(".github/workflows/ci.yml", 6, "exact")]


def test_a_question_for_a_guide_shows_the_section_and_one_in_words_the_code(snapshot, state):
    guide = search_code(snapshot, SearchCode(query="documentation of installation from source"), state).results[0]
    code = search_code(snapshot, SearchCode(query="policy for retries"), state).results[0]

    assert (guide.path, guide.kind, guide.name) == ("docs/guide.md", "section", "Installation from source")
    assert code.path == "app/jobs.py"
