"""The form in which each language describes its uses: comments and strings, names, the forms of declarations, supertypes, casts.

Uses of names are found in the text and not in the syntax tree: walking every node of every file from Python would double
the cost of an index, and text that no grammar can parse (macros, half a statement) has names too.

Every pattern takes linear time on any text: quantifiers are possessive or bounded wherever the text that they consume could begin
another match. Most patterns begin with a literal, for which `re` is ten times faster than trying a match at every position.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

from codecompass.languages import described

ParameterStyle = Literal["name_first", "type_first", "type_last"]
"""`x: T` (also `x`), `T x`, `x T`."""

WordRole = Literal["command", "argument", "variable", "assignment"]
"""What a word of a script is where it stands."""


class ScriptWords(Struct, frozen=True):
    """The names in a script of a shell."""

    text: str
    """The script with everything else blank, but for the `$` of variables and the `=` of assignments."""
    roles: Mapping[int, WordRole]
    """By the index at which a name begins."""


class Declaration(Struct, frozen=True):
    """One form of variable declaration."""

    pattern: re.Pattern[str]
    """Either has the group `names`, and `type` and `value` if the form has them, or the group `parameters`, or `field` and
    `value` for a variable of the instance that is declared nowhere else. The text that is searched has a line break before its
    first line."""
    is_loop: bool = False
    """Whether the variables are the elements of the value."""
    mark: str = ""
    """If not empty, only lines that contain it are searched, one at a time."""


class Cast(Struct, frozen=True):
    """A form of an expression that states its own type."""

    mark: str
    """A text without which it cannot match."""
    pattern: re.Pattern[str]
    """Matches at the beginning of the expression; the type is the group `type`, or `other`."""


class SupertypeForms(Struct, frozen=True, kw_only=True):
    """Where types name their supertypes. The patterns have the group `bases`."""

    head: re.Pattern[str] | None = None
    """Matches from the name of a type to the supertypes in its head."""
    in_head: Callable[[str, int, int], list[int]] | None = None
    """Instead of `head`: returns the indexes at which the supertypes begin in a text from an index after the name of a type up to
    another."""
    implementation: re.Pattern[str] | None = None
    """Matches the head of an implementation of one type for another, from the beginning of its line."""
    statement: re.Pattern[str] | None = None
    """Matches statements in the body of a type, or above it, that name its supertypes."""
    embedded: re.Pattern[str] | None = None
    """Matches an interface in the body of another that embeds it."""
    has_embedded_fields: bool = False
    """Whether a field without a name of its own, which is called like its type, makes that a supertype."""


class TypeConditions(Struct, frozen=True, kw_only=True):
    """How a condition states the type of a value."""

    mark: str
    """A text without which the pattern cannot match."""
    pattern: re.Pattern[str]
    """Has the group `type`, and `value` unless the value stands before the match."""
    has_indented_blocks: bool = False
    """Whether the indent of a block tells where it ends, and not braces."""


class TypeCases(Struct, frozen=True, kw_only=True):
    """How a statement chooses by the type of a value."""

    mark: str
    """A text without which `head` cannot match."""
    head: re.Pattern[str]
    """Matches up to the brace after which the cases are; has the group `value`."""
    case: re.Pattern[str]
    """Matches the head of a case; the group `type` is None for one that states none."""


class ImplicitParameter(Struct, frozen=True):
    """The parameter of a block that names none."""

    name: str
    pattern: re.Pattern[str]
    """Finds the name in a text."""


class NamingStrings(Struct, frozen=True, kw_only=True):
    """How the contents of strings name modules or types."""

    mark: str
    """A text without which a file has no such string."""
    are_in: Callable[[str, str], bool]
    """Whether they are in a value (second) that the written names (first) are assigned."""
    ending: Callable[[str, str, int, int], str]
    """Returns the expression for a call or string with such a string, '' for another.

    Takes the text without and with the contents of strings, the index before the parentheses of the call, and that of its last
    character; for a string both are the latter."""
    module: re.Pattern[str] | None = None
    """At the beginning of an expression: a call that returns the module that the group `module` names."""


class LexicalRules(Struct, frozen=True, kw_only=True):
    """The lexical rules of one language."""

    family: str
    """Languages of one family see each other's definitions. Only compared with the family of another file."""

    # Comments, strings and names.
    comments_and_strings: re.Pattern[str]
    """A match with the group `code` (a template, an f-string) is searched for `interpolation`. The groups `rest` and `body`, in
    this order, are what follows the mark of a here document on its line, and the lines of the document."""
    literal_marks: str = ""
    """The first characters of literals that are values like strings, and that may hold code: `/` of `/a+/`."""
    interpolation: re.Pattern[str] | None = None
    """Code in a string: group 1, or if that did not match, the name after the match (`$name`)."""
    words: Callable[[str], ScriptWords] | None = None
    """Finds the names instead of `comments_and_strings` and `name`, in a shell, whose strings nest."""
    is_skipped: Callable[[str], bool] | None = None
    """Whether uses are not read in a text, because a program has made it."""
    name: re.Pattern[str]
    """An identifier or keyword."""
    keywords: frozenset[str]
    name_marks: str = "_$"
    """Characters of names beside letters and digits."""
    member_marks: str = ".>:"
    """The last characters of what may stand between a receiver and its member: `.`, `->`, `::`."""
    soft: frozenset[str] = frozenset()
    """Keywords that are also names of variables, and that are followed by a dot or a subscript only then."""
    own: frozenset[str] = frozenset({"self"})
    """Words for the instance or its class, inside the class."""
    above: frozenset[str] = frozenset({"super"})
    """Words for the supertype, inside the class."""
    built_in: frozenset[str] = frozenset()
    """Types, objects and modules that need no import: nothing used after them is the repository's own.

    Only names that stand before a member (`JSON.parse`, `int.TryParse`, `String::new`) are listed, not functions such as `print`.
    A definition that a file can see hides the built-in one, so a list need not be careful about names that people also use."""
    namespace_roots: frozenset[str] = frozenset()
    """Names of namespaces from outside, in which a repository can define something too."""
    package_line: re.Pattern[str] | None = None
    """A line that names a package, and no definition: the group `what` is `package`, or `import` with a definition at its end."""
    has_implicit_members: bool = False
    """Whether a bare name may be a member of the enclosing class."""
    defines_at_line_start: bool = False
    """Whether a name at the start of a line is being defined there (an equation of Haskell, a clause of Erlang)."""
    defining: tuple[str, ...] = ()
    """What may stand directly before a name that is being defined, also in further clauses of it: `defp `."""
    sets_members: bool = False
    """Whether `x.name = ..` may define a member, and is a use of one that is defined elsewhere."""

    # Calls and their arguments.
    call_marks: str = ""
    """The characters after which a name is called, though no parenthesis follows it: the `(` of Lisp, the `[` of Tcl."""
    special_call: re.Pattern[str] | None = None
    """What follows the name in a call and is no parenthesis: type arguments in square brackets, the brackets of a macro."""
    has_messages: bool = False
    """Whether `[receiver name]` and `[receiver name:x and:y]` are calls of methods."""
    has_overloads: bool = False
    """Whether the arguments of a call choose between functions of one name."""
    block_argument: Literal["yes", "no", "perhaps"] = "no"
    """Whether a block after the parentheses of a call is one of its arguments."""
    has_markup: bool = False
    """Whether `<Name` may be the tag of a component (JSX)."""
    keyword_argument: re.Pattern[str] | None = None
    """What follows the name of an argument, which does not refer to a definition in scope."""
    keys_of_type: Literal["", "braces", "parentheses"] = ""
    """After which bracket with a type before it such a name may be a field of that type: `T{name: x}`, `T(name=x)`."""

    # Declarations of variables.
    declarations: tuple[Declaration, ...] = ()
    parameters: ParameterStyle = "name_first"
    binds_members: bool = False
    """Whether `{ a, b: c } = value` declares variables for members of the value."""
    bound_by_pattern: Callable[[str, str, str], tuple[str, str, str]] | None = None
    """Returns (names, type, value) of a declaration whose names are a pattern that takes a value apart."""
    several_results: Callable[[str, str, int], list[str] | None] | None = None
    """Returns the expressions for a number of names that are assigned one value, which is given with its expression; None if they
    are the items of a tuple, as in other languages."""
    pairs: str = ""
    """What follows a mapping in a loop over its keys and values; of two variables over anything else the types are unknown."""
    loops_over_keys: bool = False
    """Whether the only variable of a loop is a key or a number."""
    implicit_parameter: ImplicitParameter | None = None

    # Expressions.
    casts: tuple[Cast, ...] = ()
    asserts_types: bool = False
    """Whether `value.(T)` is the value as a T."""
    value: Callable[[str], str] | None = None
    """Returns the expression for a value in a form of this language alone, '' for others."""
    has_struct_literals: bool = False
    """Whether `T{..}` is a value of the type T."""
    has_lists: bool = False
    """Whether a square bracket begins a list where no expression ends before it."""
    has_numbered_fields: bool = False
    """Whether the items of a tuple are members with a number: `pair.0`."""
    has_method_colon: bool = False
    """Whether a single colon is before the name of a method: `job:run()`."""
    field_mark: str = ""
    """The character before the name of a variable of the instance."""
    naming_strings: NamingStrings | None = None

    # Types.
    supertypes: SupertypeForms = SupertypeForms()
    conditions: TypeConditions | None = None
    type_cases: TypeCases | None = None


def known_rules(language: str) -> LexicalRules:
    """Returns the lexical rules of a language whose uses are read. Raises KeyError for another."""
    rules = lexical_rules(language)
    if rules is None:
        raise KeyError(language)
    return rules


@cache
def lexical_rules(language: str) -> LexicalRules | None:
    """Returns the lexical rules of a language, compiled by the first call; None for one whose uses are not read."""
    uses = described(language).uses
    return None if uses is None else uses()


def family_of(language: str) -> str:
    """Returns the family of a language, '' for one whose uses are not read."""
    rules = lexical_rules(language)
    return "" if rules is None else rules.family
