"""Swift modules are directories of targets."""

from tests.support.imports import repository, target

FILES = (
    "Sources/Core/Model/Item.swift Sources/Core/Cart.swift Source/Net/Client.swift Tests/CoreTests/CartTests.swift App/Main.swift"
)


def test_a_module_is_its_directory_among_the_sources():
    paths = repository(FILES)

    assert target(paths, "Tests/CoreTests/CartTests.swift", "Core") == "Sources/Core/"
    assert target(paths, "Tests/CoreTests/CartTests.swift", "Core.Cart") == "Sources/Core/"
    assert target(paths, "Tests/CoreTests/CartTests.swift", "App") == "App/"
    assert target(paths, "Tests/CoreTests/CartTests.swift", "Foundation") == ""
    assert target(paths, "Tests/CoreTests/CartTests.swift", "Model") == ""


def test_a_target_may_declare_its_path():
    package = '.target(name: "Shop", path: "Source"), .testTarget(name: "ShopTests", dependencies: ["Shop"], path: "Tests/All")'
    paths = repository(FILES, {"Package.swift": package})

    assert target(paths, "App/Main.swift", "Shop") == "Source/"
