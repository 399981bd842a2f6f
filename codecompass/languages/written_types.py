"""Traits of how a language writes types in the heads of definitions."""

from typing import Literal

from msgspec import Struct


class WrittenTypes(Struct, frozen=True, kw_only=True):
    """Where the types of variables, results, type parameters and supertypes are written."""

    variables: Literal["", "colon", "after_name", "before_name"] = ""
    """Where the type of a variable, field or parameter is: `x: T`, `x T`, `T x`; empty if types are not written."""
    results: Literal["", "arrow", "colon", "after_parameters", "before_name", "before_name_or_colon"] = ""
    """Where the type of a result is: `f() -> T`, `f(): T`, `f() T` with several in parentheses, `T f()`; empty if it is not
    written."""
    aliases: Literal["equals", "after_name", "before_name"] = "equals"
    """Where the type is that an alias stands for: after `=`, after the name (`type A T`), before it (`typedef T A`)."""
    has_infix_types: bool = False
    """Whether a type may have operators in it, such as `F ~> G`, so that not every `<` and `>` in it is a bracket (Scala)."""
    has_arrays_after_names: bool = False
    """Whether the brackets of an array are behind the name of a variable (`T x[3]`)."""
    has_square_brackets: bool = False
    """Whether type parameters are in square brackets, in this language or in one of its family."""
    bounds_are_shared: bool = False
    """Whether a bound is that of all type parameters before it that have none (`K, V Number`)."""
    supertypes: Literal["", "parentheses", "bounds", "keywords", "less_than", "colon"] = ""
    """How the head of a type names its supertypes:

    parentheses  `class A(B, C)`
    bounds       `trait A: B + C`, and `impl B for A`
    keywords     after `extends`, `implements` or `with`
    less_than    `class A < B`
    colon        `class A: B, C`
    """
    first_argument_types: frozenset[str] = frozenset()
    """Generic types that have members of their first argument, where they are supertypes (`Omit`)."""
    has_numbered_fields: bool = False
    """Whether the fields of a struct may have numbers instead of names (`struct Pair(A, B)`)."""
