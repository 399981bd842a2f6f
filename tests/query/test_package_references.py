"""Uses of a definition in another repository, found by package names: Python, Go, npm, Cargo."""

import pytest

from codecompass.query.names.exact_names import find_exactly
from codecompass.query.references import imported_symbol, uses_from_outside

PYTHON = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "src/shop/__init__.py": "from shop.cart import Cart, total\n",
    "src/shop/cart.py": "class Cart:\n    def add(self, item):\n        pass\n\n\ndef total(cart):\n    return 0\n",
}
PYTHON_USER = {
    "app.py": (
        "import shop\nfrom shop import total as sum_up\nfrom shop.cart import Cart\n\n\n"
        "def main(cart: Cart):\n    cart.add(1)\n    shop.total(cart)\n    return sum_up(cart)\n"
    ),
    "other.py": "def total(rows):\n    return len(rows)\n\n\ndef report(basket):\n    basket.add(2)\n    return total([])\n",
    "tests/test_app.py": "from shop import Cart\n\n\ndef test_cart():\n    assert Cart()\n",
}
GO = {
    "go.mod": "module example.com/shop\n\ngo 1.21\n",
    "cart/cart.go": "package cart\n\nfunc Total(n int) int {\n\treturn n\n}\n\nfunc hidden() {}\n",
}
GO_USER = {
    "go.mod": "module example.com/app\n\ngo 1.21\n",
    "main.go": 'package main\n\nimport (\n\t"example.com/shop/cart"\n)\n\nfunc main() {\n\tcart.Total(1)\n}\n',
    "aliased.go": 'package main\n\nimport c "example.com/shop/cart"\n\nfunc more() {\n\tc.Total(2)\n}\n',
    "below.go": 'package main\n\nimport "example.com/shop/cart/extra"\n\nfunc none() {\n\textra.Total(3)\n}\n',
}
NODE = {
    "package.json": '{"name": "@shop/cart", "main": "src/index.js"}',
    "src/index.js": "export function total(rows) {\n  return rows.length;\n}\n",
}
NODE_USER = {
    "package.json": '{"name": "app"}',
    "src/app.js": "import { total } from '@shop/cart';\n\nexport const n = total([]);\n",
    "src/all.js": "import * as cart from '@shop/cart';\n\nexport const n = cart.total([]);\n",
    "src/own.js": "import { total } from '@shop/cartography';\n\nexport const n = total([]);\n",
}
CARGO = {
    "Cargo.toml": '[workspace]\nmembers = ["cart", "shop"]\n',
    "cart/Cargo.toml": '[package]\nname = "shop-cart"\nversion = "0.1.0"\n',
    "cart/src/lib.rs": "pub fn total(n: u32) -> u32 {\n    n\n}\n",
    "shop/Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n',
    "shop/src/lib.rs": "pub use shop_cart::total;\n",
}
CARGO_USER = {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\n',
    "src/main.rs": "use shop_cart::total;\n\nfn main() {\n    total(1);\n}\n",
    "src/passed.rs": "use shop::total;\n\npub fn passed() {\n    total(2);\n}\n",
}


@pytest.fixture
def uses(index_of):
    def of(files, name, user):
        """Returns (confidence, role, path, line, is in a test) of each use in the files `user` of `name`, defined in `files`."""
        home = index_of(files)
        imported = imported_symbol(home, find_exactly(home, name)[0])
        if imported is None:
            return None
        found = uses_from_outside(index_of(user), imported)
        return [(use.confidence, use.role, use.file.path, use.line, use.is_test) for use in found.uses]

    return of


def test_a_function_of_python_is_used_by_its_name_an_alias_or_behind_its_package(uses):
    assert uses(PYTHON, "total", PYTHON_USER) == [
        ("exact", "import", "app.py", 2, False),
        ("exact", "call", "app.py", 8, False),
        ("exact", "call", "app.py", 9, False),
    ]


def test_a_class_of_python_is_imported_from_its_module_or_from_a_package_that_passes_it_on(uses):
    assert uses(PYTHON, "Cart", PYTHON_USER) == [
        ("exact", "import", "app.py", 3, False),
        ("exact", "type", "app.py", 6, False),
        ("exact", "import", "tests/test_app.py", 1, True),
        ("exact", "construct", "tests/test_app.py", 5, True),
    ]


def test_a_member_may_be_meant_in_files_that_import_the_package_alone(uses):
    assert uses(PYTHON, "Cart.add", PYTHON_USER) == [("possible", "call", "app.py", 7, False)]


def test_a_function_of_go_is_used_behind_the_name_of_its_very_package(uses):
    assert uses(GO, "Total", GO_USER) == [
        ("exact", "call", "aliased.go", 6, False),
        ("exact", "call", "main.go", 8, False),
    ]


def test_what_go_does_not_export_others_cannot_use(uses):
    assert uses(GO, "hidden", GO_USER) is None


def test_a_function_of_an_npm_package_is_used_by_its_name_or_behind_its_module(uses):
    assert uses(NODE, "total", NODE_USER) == [
        ("exact", "call", "src/all.js", 3, False),
        ("exact", "import", "src/app.js", 1, False),
        ("exact", "call", "src/app.js", 3, False),
    ]


def test_what_another_crate_of_the_repository_passes_on_is_likely(uses):
    assert uses(CARGO, "total", CARGO_USER) == [
        ("exact", "import", "src/main.rs", 1, False),
        ("exact", "call", "src/main.rs", 4, False),
        ("likely", "import", "src/passed.rs", 1, False),
        ("likely", "call", "src/passed.rs", 4, False),
    ]


@pytest.mark.parametrize("files", [{"src/a.c": "int total(int n) { return n; }\n"}, {"lib/a.rb": "def total(n)\n  n\nend\n"}])
def test_a_language_whose_packages_have_no_names_here_is_looked_through_at_home_only(uses, files):
    assert uses(files, "total", PYTHON_USER) is None
