"""`find_related_symbols`: relations in their order, limited to the scope."""

import pytest

from codecompass.errors import SymbolNotFound
from codecompass.protocol.requests import FindRelatedSymbols
from codecompass.query import find_related_symbols
from codecompass.query.related import package_directory


@pytest.fixture(scope="session")
def related(shop, state):
    def asked(symbol_name, **arguments):
        return find_related_symbols(shop, FindRelatedSymbols(symbol_name=symbol_name, **arguments), state)

    return asked


def relations(reply):
    return [(symbol.relation, symbol.path, symbol.name) for symbol in reply.related]


def test_what_it_uses_comes_first_then_what_uses_it_then_its_tests_then_its_neighbours(related):
    reply = related("shop.limits.RateLimiter")

    assert relations(reply) == [
        ("uses", "shop/storage.py", "Storage"),
        ("uses", "shop/storage.py", "count"),
        ("uses", "shop/limits.py", "LimitExceeded"),
        ("test", "tests/test_limits.py", "test_rate_limiter_refuses_when_the_token_bucket_is_empty"),
        ("same_file", "shop/limits.py", "parse_http_header"),
    ]
    assert (reply.anchor.name, reply.anchor.line_start, reply.scope_used, reply.total_found) == ("RateLimiter", 8, "file", 5)
    assert ("used_by", "shop/limits.py", "allow") in relations(related("Storage.count"))


def test_wider_scopes_add_the_directory_then_the_package_each_symbol_once(related):
    module = relations(related("LimitExceeded", scope="module"))
    package = relations(related("validate_token", scope="package"))

    assert {path for relation, path, _ in module if relation == "same_module"} == {"shop/latest_version.py", "shop/storage.py"}
    assert ("uses", "src/auth/error.rs", "TokenError") in package
    assert ("same_module", "src/auth/handler.rs", "AuthHandler") in package
    assert len({(path, name) for _, path, name in package}) == len(package)
    order = ["uses", "used_by", "test", "same_file", "same_module", "same_package"]
    assert [order.index(relation) for relation, _, _ in package] == sorted(order.index(relation) for relation, _, _ in package)


def test_the_limit_cuts_the_list_and_the_total_stays(related):
    reply = related("shop.limits.RateLimiter", limit=2)

    assert (len(reply.related), reply.total_found, reply.metadata.result_completeness) == (2, 5, "truncated")


def test_errors_are_those_of_the_name(related):
    with pytest.raises(SymbolNotFound):
        related("nothing_of_the_kind_at_all")


def test_a_name_of_several_definitions_is_answered_for_each(related):
    reply = related("reset")

    assert len(reply.definitions) == 3
    assert {each.definition for each in reply.related} <= {0, 1, 2}
    assert (reply.anchor.path, reply.anchor.line_start) == (reply.definitions[0].path, reply.definitions[0].line_start)


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("src/auth/jwt.rs", "src/auth"),
        ("packages/ui/src/App.tsx", "packages/ui"),
        ("shop/limits.py", "shop"),
        ("main.go", ""),
        ("src/main.rs", "src"),
    ],
)
def test_the_package_is_the_first_directory_that_is_more_than_a_place_for_packages(path, package):
    assert package_directory(path) == package
