"""`find_related_symbols`: relations in their order, as far as the scope goes."""

import pytest

from codecompass.errors import AmbiguousSymbol, SymbolNotFound
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


def test_the_file_scope_gives_neighbours_then_what_the_file_imports_by_name(related):
    reply = related("shop.limits.RateLimiter")

    assert relations(reply) == [
        ("same_file", "shop/limits.py", "__init__"),
        ("same_file", "shop/limits.py", "storage"),
        ("same_file", "shop/limits.py", "per_minute"),
        ("same_file", "shop/limits.py", "allow"),
        ("same_file", "shop/limits.py", "Window"),
        ("same_file", "shop/limits.py", "reset"),
        ("same_file", "shop/limits.py", "LimitExceeded"),
        ("same_file", "shop/limits.py", "parse_http_header"),
        ("imported", "shop/storage.py", "Storage"),
        ("imported", "shop/storage.py", "open_storage"),
    ]
    assert (reply.anchor.name, reply.anchor.line_start, reply.scope_used, reply.total_found) == ("RateLimiter", 8, "file", 10)


def test_wider_scopes_add_the_directory_then_the_package_each_symbol_once(related):
    module = relations(related("LimitExceeded", scope="module"))
    package = relations(related("validate_token", scope="package"))

    assert {path for relation, path, _ in module if relation == "same_module"} == {"shop/latest_version.py", "shop/storage.py"}
    assert ("same_module", "src/auth/error.rs", "TokenError") in package
    assert len({(path, name) for _, path, name in package}) == len(package)
    order = ["same_file", "same_module", "same_package", "imported"]
    assert [order.index(relation) for relation, _, _ in package] == sorted(order.index(relation) for relation, _, _ in package)


def test_an_import_of_a_typescript_function_resolves_to_its_definition(related):
    assert ("imported", "web/header.ts", "parseHeader") in relations(related("HTTPServer"))


def test_the_limit_cuts_the_list_and_the_total_stays(related):
    reply = related("shop.limits.RateLimiter", limit=2)

    assert (len(reply.related), reply.total_found, reply.metadata.result_completeness) == (2, 10, "truncated")


def test_errors_are_those_of_the_name(related):
    with pytest.raises(SymbolNotFound):
        related("nothing_of_the_kind_at_all")
    with pytest.raises(AmbiguousSymbol):
        related("reset")


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
