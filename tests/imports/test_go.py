"""Go packages: module paths, several modules, vendored modules."""

from tests.support.imports import repository, target

MODULES = {"go.mod": "module example.com/shop // main\n\ngo 1.22\n", "tools/gen/go.mod": 'module "example.com/shop/tools/gen"\n'}
FILES = "main.go cart/cart.go cart/v2/cart.go tools/gen/main.go tools/gen/ast/node.go docs/readme.md"


def test_a_package_is_the_directory_below_its_module():
    paths = repository(FILES, MODULES)

    assert target(paths, "main.go", "example.com/shop/cart") == "cart/"
    assert target(paths, "main.go", "example.com/shop/cart/v2") == "cart/v2/"
    assert target(paths, "main.go", "example.com/shop/tools/gen/ast") == "tools/gen/ast/"
    assert target(paths, "cart/cart.go", "example.com/shop") == "/"


def test_a_directory_without_go_files_is_not_a_package():
    paths = repository(FILES, MODULES)

    assert target(paths, "main.go", "example.com/shop/docs") == ""
    assert target(paths, "main.go", "example.com/shopping/cart") == ""
    assert target(paths, "main.go", "cart") == ""
    assert target(paths, "main.go", "fmt") == ""


def test_a_vendored_package_is_found_where_no_module_has_it():
    paths = repository("main.go vendor/golang.org/x/net/html/parse.go vendor/fmt/print.go", MODULES)

    assert target(paths, "main.go", "golang.org/x/net/html") == "vendor/golang.org/x/net/html/"
    assert target(paths, "main.go", "fmt") == ""


def test_of_two_modules_of_one_name_the_nearer_is_meant():
    paths = repository(
        "testdata/a/x/x.go testdata/b/x/x.go testdata/b/main.go",
        {"testdata/a/go.mod": "module m.io/m\n", "testdata/b/go.mod": "module m.io/m\n"},
    )

    assert target(paths, "testdata/b/main.go", "m.io/m/x") == "testdata/b/x/"


def test_a_relative_package_is_seen_from_the_directory_of_the_file():
    assert target(repository("a/main.go a/b/b.go"), "a/main.go", "./b") == "a/b/"
