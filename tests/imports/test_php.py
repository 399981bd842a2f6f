"""PHP: PSR-4 prefixes, names derived from paths, literal includes."""

from tests.support.imports import repository, target

COMPOSER = {
    "composer.json": '{"autoload": {"psr-4": {"Shop\\\\": "src/", "Shop\\\\Tests\\\\": ["tests"]}, "psr-0": {"Old_": "legacy/"}}}'
}
FILES = """
    src/Cart.php src/Model/Item.php tests/CartTest.php inc/setup.php public/index.php public/menu.php
    vendor2/Acme/Log/Writer.php
"""


def test_the_longest_prefix_of_the_composer_file_says_where_a_class_is():
    paths = repository(FILES, COMPOSER)

    assert target(paths, "public/index.php", "Shop\\Model", "Item") == "src/Model/Item.php"
    assert target(paths, "public/index.php", "Shop\\Model\\Item") == "src/Model/Item.php"
    assert target(paths, "public/index.php", "\\Shop\\Tests\\CartTest") == "tests/CartTest.php"
    assert target(paths, "public/index.php", "Shop", "Model") == "src/Model/"


def test_without_a_prefix_the_path_must_spell_the_whole_name():
    paths = repository(FILES, COMPOSER)

    assert target(paths, "public/index.php", "Acme\\Log\\Writer") == "vendor2/Acme/Log/Writer.php"
    assert target(paths, "public/index.php", "Other\\Log\\Writer") == ""
    assert target(paths, "public/index.php", "Writer") == ""


def test_an_included_file_is_seen_from_its_includer_and_from_above():
    paths = repository(FILES, COMPOSER)

    assert target(paths, "public/index.php", "menu.php", kind="include") == "public/menu.php"
    assert target(paths, "public/index.php", "/../inc/setup.php", kind="include") == "inc/setup.php"
    assert target(paths, "public/index.php", "inc/setup.php", kind="include") == "inc/setup.php"
    assert target(paths, "public/index.php", "/inc/setup.php", kind="include") == ""
