"""Haskell modules, found by the end of their path."""

from tests.support.imports import repository, target


def test_a_module_is_the_file_whose_path_ends_in_its_name():
    paths = repository("core/src/Data/Shop/Cart.hs core/src/Data/Shop.hs test/Spec.hs test/Data/Shop/CartSpec.lhs lib/Net.hsc")

    assert target(paths, "test/Spec.hs", "Data.Shop.Cart", "total") == "core/src/Data/Shop/Cart.hs"
    assert target(paths, "test/Spec.hs", "Data.Shop") == "core/src/Data/Shop.hs"
    assert target(paths, "test/Spec.hs", "Data.Shop.CartSpec") == "test/Data/Shop/CartSpec.lhs"
    assert target(paths, "test/Spec.hs", "Net") == "lib/Net.hsc"
    assert target(paths, "test/Spec.hs", "Data.Map") == ""


def test_a_single_name_is_not_the_last_name_of_another_module():
    """`import Djot` in `Text.Readers.Djot` means the package, not the module itself."""
    paths = repository("src/Text/Readers/Djot.hs src/Text/Readers/Markdown.hs")

    assert target(paths, "src/Text/Readers/Markdown.hs", "Djot") == ""


def test_a_directory_in_upper_case_below_sources_is_part_of_the_name():
    paths = repository("src/Text/Pandoc/Citeproc/Csl.hs src/Main.hs Cabal/Distribution/Simple.hs")

    assert target(paths, "src/Main.hs", "Citeproc.Csl") == ""
    assert target(paths, "src/Main.hs", "Distribution.Simple") == "Cabal/Distribution/Simple.hs"
