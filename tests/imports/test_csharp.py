"""C#: namespaces by project and directory, types by file."""

from tests.support.imports import repository, target

PROJECT = {"src/Core/Core.csproj": "<Project><PropertyGroup><RootNamespace>Shop.Engine</RootNamespace></PropertyGroup></Project>"}
FILES = """
    src/Core/Money.cs src/Core/Pricing/Rule.cs src/Shop.Web/Api/Routes.cs src/Shop.Web/Startup.cs
    lib/System/Text/Json.cs tests/Collections/ListTests.cs
"""


def test_a_namespace_is_a_directory_below_the_root_namespace_of_its_project():
    paths = repository(FILES, PROJECT)

    assert target(paths, "src/Shop.Web/Startup.cs", "Shop.Engine") == "src/Core/"
    assert target(paths, "src/Shop.Web/Startup.cs", "Shop.Engine.Pricing") == "src/Core/Pricing/"


def test_without_a_project_the_path_must_spell_the_namespace():
    paths = repository(FILES)

    assert target(paths, "src/Core/Money.cs", "Shop.Web.Api") == "src/Shop.Web/Api/"
    assert target(paths, "src/Core/Money.cs", "Shop.Web") == "src/Shop.Web/"
    assert target(paths, "src/Core/Money.cs", "Engine.Pricing") == ""
    assert target(paths, "src/Core/Money.cs", "Collections") == ""
    assert target(paths, "src/Core/Money.cs", "System.Collections.Generic") == ""


def test_a_type_imported_by_name_is_its_file_else_its_namespace():
    paths = repository(FILES, PROJECT)

    assert target(paths, "src/Shop.Web/Startup.cs", "Shop.Engine.Pricing", "Rule") == "src/Core/Pricing/Rule.cs"
    assert target(paths, "src/Shop.Web/Startup.cs", "Shop.Engine.Pricing", "Discount") == "src/Core/Pricing/"
    assert target(paths, "src/Shop.Web/Startup.cs", "Shop.Engine.Money", "*") == "src/Core/Money.cs"
    assert target(paths, "src/Shop.Web/Startup.cs", "Shop.Engine.Generated", "*") == ""
    assert target(paths, "src/Shop.Web/Startup.cs", "System.Text.Encoding") == ""
