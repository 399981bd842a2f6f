"""Java, Kotlin, Scala: classes by their full name, packages by their directory."""

import pytest

from tests.support.imports import repository, target

SOURCES = repository(
    """
    core/src/main/java/org/shop/cart/Cart.java core/src/main/java/org/shop/cart/Item.java
    core/src/test/java/org/shop/cart/CartTest.java util/src/main/java/util/Strings.java misc/util/Numbers.java
    web/src/main/kotlin/org/shop/web/Routes.kt web/src/main/kotlin/org/shop/web/dsl/Builders.kt
    laws/src/main/scala/org/shop/syntax/all.scala laws/src/main/scala/org/shop/syntax/Functor.scala
    """
)
TEST = "core/src/test/java/org/shop/cart/CartTest.java"
ROUTES = "web/src/main/kotlin/org/shop/web/Routes.kt"
FUNCTOR = "laws/src/main/scala/org/shop/syntax/Functor.scala"


@pytest.mark.parametrize(
    ("from_path", "spec", "name", "expected"),
    [
        (TEST, "org.shop.cart", "Cart", "core/src/main/java/org/shop/cart/Cart.java"),
        (TEST, "org.shop.cart.Cart", "Entry", "core/src/main/java/org/shop/cart/Cart.java"),
        (TEST, "org.shop.cart.Cart", "*", "core/src/main/java/org/shop/cart/Cart.java"),
        (TEST, "org.shop.cart.Cart.Entry", "of", "core/src/main/java/org/shop/cart/Cart.java"),
        (TEST, "org.shop.cart.Cart", "total", "core/src/main/java/org/shop/cart/Cart.java"),
        (TEST, "org.shop.web", "*", "web/src/main/kotlin/org/shop/web/"),
        (TEST, "org.shop.web", "Unknown", "web/src/main/kotlin/org/shop/web/"),
        (TEST, "util", "Strings", "util/src/main/java/util/Strings.java"),
        (TEST, "util", "Numbers", "util/src/main/java/util/"),
        (ROUTES, "org.shop.web.dsl", "routing", "web/src/main/kotlin/org/shop/web/dsl/"),
        (ROUTES, "org.shop.cart", "Cart", "core/src/main/java/org/shop/cart/Cart.java"),
        (FUNCTOR, "org.shop.syntax.all", "*", "laws/src/main/scala/org/shop/syntax/all.scala"),
        (FUNCTOR, "org.shop.syntax.all", "toOps", "laws/src/main/scala/org/shop/syntax/all.scala"),
        (FUNCTOR, "org.shop.syntax", "_", "laws/src/main/scala/org/shop/syntax/"),
        (FUNCTOR, "org.shop.syntax.functor", "*", "laws/src/main/scala/org/shop/syntax/"),
        (TEST, "org.shop.cart.missing", "*", ""),
    ],
)
def test_a_name_leads_to_its_outermost_class_else_to_its_package(from_path, spec, name, expected):
    assert target(SOURCES, from_path, spec, name) == expected


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("java.util", "List"),
        ("shop.cart", "Missing"),
        ("java", "*"),
        ("org.other.cart", "Cart"),
        ("", "Cart"),
    ],
)
def test_only_the_whole_name_below_a_source_root_is_proof(spec, name):
    assert target(SOURCES, TEST, spec, name) == ""


def test_of_a_package_in_several_modules_the_nearest_directory_is_meant():
    paths = repository("a/src/org/shop/x/One.kt a/src/Main.kt b/src/org/shop/x/Two.kt b/src/Main.kt")

    assert target(paths, "a/src/Main.kt", "org.shop.x", "*") == "a/src/org/shop/x/"
    assert target(paths, "b/src/Main.kt", "org.shop.x", "*") == "b/src/org/shop/x/"


def test_kotlin_sources_tell_which_part_of_their_package_the_path_omits():
    sources = {
        "core/src/Job.kt": '/* a licence */\n@file:JvmName("Jobs")\npackage org.shop.jobs\n\nclass Job\n',
        "core/test/JobTest.kt": "package org.shop.jobs\n",
        "core/src/stray/Misplaced.kt": "package org.shop.jobs\n",
        "samples/src/Main.kt": "package org.shop.sample\n",
    }
    paths = repository("core/src/channels/Channel.kt core/src/stray/channels/Other.kt samples/src/db/Users.kt", sources)

    assert target(paths, "samples/src/Main.kt", "org.shop.jobs", "Job") == "core/src/Job.kt"
    assert target(paths, "samples/src/Main.kt", "org.shop.jobs", "launch") == "core/src/"
    assert target(paths, "core/src/stray/Misplaced.kt", "org.shop.jobs.channels", "Channel") == "core/src/channels/Channel.kt"
    assert target(paths, "core/src/stray/Misplaced.kt", "org.shop.jobs.channels", "*") == "core/src/channels/"
    assert target(paths, "samples/src/Main.kt", "org.shop.sample.db", "Users") == "samples/src/db/Users.kt"
    assert target(paths, "core/src/Job.kt", "org.shop.sample.db", "Users") == ""
