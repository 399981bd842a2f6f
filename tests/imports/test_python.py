"""Python's search rules, applied from a file of the repository."""

import pytest

from tests.support.imports import repository, target

PACKAGE = repository(
    """
    setup.py
    src/shop/__init__.py src/shop/cart.py src/shop/logging.py src/shop/redis.py src/shop/types.pyi
    src/shop/api/__init__.py src/shop/api/views.py src/shop/api/redis.py
    tests/conftest.py tests/helpers.py tests/unit/test_cart.py
    scripts/release.py scripts/changelog.py scripts/types.py
    """
)


@pytest.mark.parametrize(
    ("from_path", "spec", "name", "expected"),
    [
        ("src/shop/api/views.py", ".", "redis", "src/shop/api/redis.py"),
        ("src/shop/api/views.py", ".", "router", "src/shop/api/__init__.py"),
        ("src/shop/api/views.py", "..", "cart", "src/shop/cart.py"),
        ("src/shop/api/views.py", "..cart", "Cart", "src/shop/cart.py"),
        ("src/shop/api/views.py", "..types", "Money", "src/shop/types.pyi"),
        ("src/shop/api/__init__.py", ".views", "*", "src/shop/api/views.py"),
        ("src/shop/cart.py", ".api", "", "src/shop/api/__init__.py"),
        ("src/shop/cart.py", "....", "cart", ""),
        ("tests/unit/test_cart.py", "shop.cart", "Cart", "src/shop/cart.py"),
        ("tests/unit/test_cart.py", "shop", "cart", "src/shop/cart.py"),
        ("tests/unit/test_cart.py", "shop", "VERSION", "src/shop/__init__.py"),
        ("tests/unit/test_cart.py", "shop.api.views", "", "src/shop/api/views.py"),
        ("tests/unit/test_cart.py", "helpers", "", "tests/helpers.py"),
        ("tests/unit/test_cart.py", "tests", "helpers", "tests/helpers.py"),
        ("scripts/release.py", "changelog", "", "scripts/changelog.py"),
        ("scripts/release.py", "types", "", "scripts/types.py"),
    ],
)
def test_an_import_leads_to_the_module_that_the_interpreter_would_find(from_path, spec, name, expected):
    assert target(PACKAGE, from_path, spec, name) == expected


@pytest.mark.parametrize(
    ("from_path", "spec"),
    [
        ("src/shop/cart.py", "logging"),
        ("src/shop/api/views.py", "logging"),
        ("src/shop/cart.py", "redis"),
        ("src/shop/api/redis.py", "redis"),
        ("tests/unit/test_cart.py", "cart"),
        ("tests/unit/test_cart.py", "types"),
        ("scripts/changelog.py", "release.notes"),
        ("src/shop/cart.py", "numpy"),
    ],
)
def test_a_bare_name_never_leads_into_a_package(from_path, spec):
    """In a package with a module `redis`, `import redis` means the installed one."""
    assert target(PACKAGE, from_path, spec) == ""


def test_a_directory_without_init_file_is_a_namespace_package():
    paths = repository("src/company/billing/invoice.py src/company/users.py tools/run.py docker/build.py")

    assert target(paths, "tools/run.py", "company.billing") == "src/company/billing/"
    assert target(paths, "tools/run.py", "company", "billing") == "src/company/billing/"
    assert target(paths, "tools/run.py", "company.billing", "invoice") == "src/company/billing/invoice.py"
    assert target(paths, "src/company/users.py", ".billing") == "src/company/billing/"
    assert target(paths, "tools/run.py", "docker") == ""


def test_the_nearest_of_several_packages_of_one_name_is_meant():
    paths = repository("app/__init__.py app/models.py services/a/app/models.py services/a/main.py services/b/main.py")

    assert target(paths, "services/a/main.py", "app.models") == "services/a/app/models.py"
    assert target(paths, "services/b/main.py", "app.models") == "app/models.py"


def test_configuration_names_the_directory_of_packages():
    paths = repository("code/engine/core.py tests/test_core.py", {"setup.cfg": "[options]\npackage_dir =\n    = code\n"})

    assert target(paths, "tests/test_core.py", "engine.core") == "code/engine/core.py"


def test_another_project_of_the_repository_is_found_by_its_packages_but_not_by_bare_modules():
    projects = {"libs/money/pyproject.toml": "[project]\nname = 'money'\n", "app/pyproject.toml": "[project]\nname = 'app'\n"}
    paths = repository("libs/money/src/money/__init__.py libs/money/src/money/tax.py libs/money/noxfile.py app/main.py", projects)

    assert target(paths, "app/main.py", "money", "tax") == "libs/money/src/money/tax.py"
    assert target(paths, "app/main.py", "money.tax") == "libs/money/src/money/tax.py"
    assert target(paths, "app/main.py", "noxfile") == ""


def test_a_source_file_wins_over_its_stub():
    paths = repository("pkg/__init__.py pkg/fast.py pkg/fast.pyi pkg/slow.pyi pkg/use.py")

    assert target(paths, "pkg/use.py", ".fast") == "pkg/fast.py"
    assert target(paths, "pkg/use.py", ".slow") == "pkg/slow.pyi"
