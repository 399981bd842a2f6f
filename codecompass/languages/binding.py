"""Traits by which uses of names in a language lead to definitions: scopes, imports, packages; types and their members; calls.

The engines in `query/` read them through `Language`; a language's module sets those in which the language differs from the
defaults, which are those of most languages. A trait says what is so in the language, not what an engine does with it.
"""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from codecompass.languages.module_paths import ModulePaths


class Binding(Struct, frozen=True, kw_only=True):
    """How a name leads to its definition."""

    hides_nested_names: bool = False
    """Whether a name that a function or class defines is in scope only inside it; one of a class in its body, but not in its
    methods (Python)."""
    only_top_level_is_bare: bool = False
    """Whether only top-level definitions that are no methods are used by their bare names, types inside others neither (Go)."""
    writes_modules_in_full: bool = False
    """Whether a module is written with all parts of its name even where it is defined, so that `Shop.String` does not hide the
    `String` of the language (Elixir)."""
    constants_of_enums_are_bare: bool = False
    """Whether constants of an enum are names of the scope around it (C)."""
    own_file_prefix: str = ""
    """How the signature of a top-level definition begins that only its own source file sees (`static ` of C)."""
    own_file_endings: tuple[str, ...] = ()
    """Endings of source files, which others do not include."""
    macros_are_everywhere: bool = False
    """Whether a macro may be used by its bare name without an import, and other definitions only with one (Rust)."""
    containers_are_components: bool = False
    """Whether a file that holds code of this language among other text is a component named after the file, whose template uses
    the members of its code by their bare names, and other components also in lower case with dashes (Vue, Svelte, Astro)."""

    has_no_other_names: bool = False
    """Whether a bare name that the file neither defines nor imports, and its package does not define, is not the repository's."""
    files_share_no_names: bool = False
    """Whether a definition of another file is visible only through an import in the file itself. Not so where packages or
    scripts without imports share one scope (Go, JavaScript)."""
    only_types_are_everywhere: bool = False
    """Whether a bare name in lower case before a dot can only be a variable: of other files just the types are visible."""
    binds_first_part: bool = False
    """Whether the import of a module with a dotted name and no alias binds the first part of the name (Python's `import a.b`)."""
    ends_in_version: bool = False
    """Whether the last part of an imported path may be a version (`v2`), which is no name (Go)."""
    imports_members: bool = False
    """Whether an import may name a member of a type (the languages of the JVM)."""
    imports_are_calls: bool = False
    """Whether an import is an expression whose value can be used at once: `require("m").run()` (Lua)."""
    exports_imports: bool = False
    """Whether other files can import from a module the names that it imports, also under the names that it gives them."""
    has_export_statements: bool = False
    """Whether modules export names by statements, also under other names, and whole modules as objects (`export * as name`)."""
    files_are_modules: bool = False
    """Whether a file declares exactly one module, so that the module's name leads to the file (Haskell)."""
    module_table: Callable[[str], tuple[str, ...]] | None = None
    """Returns, for the path of a file, the parts of the name of the table whose members the module exports, if modules are
    tables (Lua)."""
    module_paths: ModulePaths | None = None
    """How paths of modules lead to files, if modules are named by paths from the root of a package (`crate::a::b` of Rust)."""

    declares: Literal["", "module", "namespace"] = ""
    """What a file declares of its definitions: the module that holds them, to be imported or written before their names
    (Elixir, Haskell), or the namespace, whose files see each other's definitions (Java, C#, PHP)."""
    directories_are_packages: bool = False
    """Whether the files of a directory see each other's definitions without an import."""
    continues_namespaces: bool = False
    """Whether a bare name is looked up in the namespaces around it, in all files that continue them."""
    has_relative_names: bool = False
    """Whether a full name may begin in a namespace around the code instead of at the root (C#, Scala)."""
    sees_namespaces_around: bool = False
    """Whether code sees the definitions of all namespaces around its own (C#)."""
    imports_are_per_file: bool = False
    """Whether a definition of another namespace must be imported in the file that uses it. Not so with `global using` of C#."""
    has_namespaces_before_names: bool = False
    """Whether code names a module or namespace, in any case, before a name in it without importing it (`net::connect`)."""
    foreign_namespaces: frozenset[str] = frozenset()
    """Namespaces that belong to the language, so that what a repository adds to them is not meant by their names (`std` of
    C++)."""
    declaration_endings: tuple[str, ...] = ()
    """Endings of files that only declare what other files define (`.pyi`, `.d.ts`)."""


class Extensions(Struct, frozen=True, kw_only=True):
    """Functions that are declared outside a type and called like its members."""

    extended_type: Callable[[str, str], str] | None = None
    """Returns the type that a function extends as written, from its signature and name; '' if it extends none. None if extensions
    are in blocks named after the type."""
    is_function: Callable[[str, str], bool] | None = None
    """Whether a signature and name are those of a function that extends a type."""
    block: str = ""
    """The keyword of a block that holds extensions and has the extended value as its parameter (Scala's `extension`); they are
    visible in the same file, and wherever the companion of the type is."""
    n_holders: int = 1
    """How many names are between the package of an extension and its own name: that of a static class, or of a block."""
    has_receiver_parameter: bool = False
    """Whether the extended value is the first of the parameters (C#)."""


class Members(Struct, frozen=True, kw_only=True):
    """Which definitions are members of a type."""

    place: Literal["inside", "directory", "file", "parts", "blocks", "qualified"] = "inside"
    """Where members of a type are. Always inside its definition; and, if it is not `inside`, also outside it:

    directory   at the top level of the files of its directory, with the type as their owner (Go)
    file        in the same file, with qualified names below that of the type (prototypes of JavaScript)
    parts       in other parts of the type, which have the same qualified name (C#, Ruby)
    blocks      in blocks of any file, as long as their path or their file tells types of one name apart (Rust)
    qualified   anywhere, with the qualified name of the type before theirs; that is not looked at if only one type has the name
    """
    are_defined_at_top_level: bool = False
    """Whether methods are defined outside their type as a rule, so that they are shown with it (Go, C++)."""
    interfaces: Literal["nominal", "structural"] = "nominal"
    """Whether a type implements the interfaces that it names, or those all of whose methods it has (Go)."""
    fields_embed_types: bool = False
    """Whether a field without a name of its own gives a type the members of the field's type (Go)."""
    blocks_implement: bool = False
    """Whether a type implements a trait in a block outside its definition, also one for many types at once (Rust)."""
    attributes_inherit: bool = False
    """Whether an attribute above a type names what it inherits from (`#[derive(..)]` of Rust)."""
    functions_are_methods: bool = False
    """Whether a function inside a type counts as a method, and not as a function that only stands there (Rust)."""
    constructs_modules: bool = False
    """Whether what has the name of the module around it makes values of it, of whatever kind it is (structs of Elixir)."""
    companions: tuple[str, ...] = ()
    """How the signature of an object begins whose members are also those of the type around it."""
    extensions: Extensions | None = None
    """How functions extend types that are defined elsewhere, if they can."""
    kinds_for_others: frozenset[str] = frozenset()
    """Kinds of definitions that give members to types from outside the repository: traits of Rust, extensions of Swift."""
    opens_built_in_types: bool = False
    """Whether a repository can add members to the types that the language has built in (Ruby)."""
    types_are_capitalised: bool = False
    """Whether only types, modules and constants begin with a capital letter."""
    functions_are_properties: bool = False
    """Whether a function can be used like a field."""
    calls_take_elements: bool = False
    """Whether an element of a collection is written like a call (`list(0)` of Scala)."""
    unwrapping: frozenset[str] = frozenset()
    """Members of wrappers that return what is wrapped. A written type stands for the wrapped one, so they return the type
    itself."""


class Calls(Struct, frozen=True, kw_only=True):
    """How a call chooses between functions of one name."""

    arity_is_exact: bool = False
    """Whether a call has as many arguments as the function has parameters (Go)."""
    receiver: str = ""
    """How a signature begins that has a receiver in parentheses before the name (`func (` of Go)."""
    types_choose: bool = False
    """Whether the types of arguments choose between overloads."""
    constructors_convert: bool = False
    """Whether constructors with one argument convert it, so that nearly any argument fits any parameter (C++)."""
    fields_share_names: bool = False
    """Whether a function and a field of one type may have one name."""
    has_prototypes: bool = False
    """Whether a function may be declared by a signature that ends in `;` and defined elsewhere (C)."""
