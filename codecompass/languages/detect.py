"""Detects the language of a file: by its name, else by its `#!` line; for C headers by their content.

Imports neither tree-sitter nor the language modules, because the server process uses it too.
"""

import re
from collections.abc import Mapping
from typing import Final

TEXT: Final = "text"
"""The language of a file of unknown language."""

HEAD_BYTES: Final = 64 * 1024
"""Bytes of a file that are examined: a C++ header can begin with a long licence and many includes."""

_EXTENSIONS_OF: Final[Mapping[str, str]] = {
    # With symbols. Case matters only where two languages differ by it (`.C`, `.H`).
    "bash": ".sh .bash .bats .ebuild .eclass .ksh .zsh",
    "c": ".c .h",
    "cpp": ".C .H .c++ .cc .cp .cpp .cppm .cu .cuh .cxx .h++ .hh .hpp .hxx .inl .ino .ipp .ixx .tcc .tpp .txx",
    "csharp": ".cs .csx",
    "elixir": ".ex .exs",
    "go": ".go",
    "haskell": ".hs .hs-boot .hsc",
    "java": ".java",
    "javascript": ".js .cjs .es6 .jsx .mjs",
    "kotlin": ".kt .kts",
    "lua": ".lua .rockspec",
    "php": ".php .php3 .php4 .php5 .php7 .php8 .phpt .phtml",
    "python": ".py .pyi .pyw",
    "ruby": ".rb .gemspec .jbuilder .podspec .rake .rbi .rbw .ru .thor",
    "rust": ".rs",
    "scala": ".scala .mill .sbt .sc",
    "sql": ".sql .ddl .dml .pgsql .psql",
    "swift": ".swift",
    "tsx": ".tsx",
    "typescript": ".ts .cts .mts",
    "zig": ".zig",
    # With the symbols of the code in them.
    "astro": ".astro",
    "jupyter": ".ipynb",
    "svelte": ".svelte",
    "vue": ".vue",
    # Without symbols: a name to filter by.
    "ada": ".ada .adb .ads",
    "asciidoc": ".adoc .asciidoc",
    "assembly": ".asm .nasm .s",
    "awk": ".awk .gawk",
    "batch": ".bat .cmd",
    "bazel": ".bazel .bzl .star",
    "bibtex": ".bib",
    "cabal": ".cabal",
    "clojure": ".clj .cljc .cljs .edn",
    "cmake": ".cmake",
    "cobol": ".cbl .cob",
    "coffeescript": ".coffee",
    "commonlisp": ".cl .lisp .lsp",
    "crystal": ".cr",
    "css": ".css",
    "csv": ".csv .tsv",
    "cython": ".pxd .pxi .pyx",
    "d": ".d .di",
    "dart": ".dart",
    "diff": ".diff .patch",
    "dockerfile": ".dockerfile .containerfile",
    "eex": ".eex .heex .leex",
    "ejs": ".ejs",
    "elm": ".elm",
    "emacslisp": ".el",
    "erb": ".erb",
    "erlang": ".erl .hrl",
    "fish": ".fish",
    "forth": ".forth .fth",
    "fortran": ".f .f03 .f08 .f77 .f90 .f95 .for",
    "fsharp": ".fs .fsi .fsx",
    "gdscript": ".gd",
    "gettext": ".po .pot",
    "glsl": ".comp .frag .geom .glsl .vert",
    "gradle": ".gradle",
    "graphql": ".gql .graphql .graphqls",
    "groovy": ".groovy .gvy",
    "haml": ".haml",
    "handlebars": ".handlebars .hbs .mustache",
    "hcl": ".hcl .nomad",
    "hlsl": ".fx .hlsl",
    "html": ".htm .html .xhtml",
    "idl": ".idl",
    "ini": ".cfg .conf .editorconfig .ini .properties .desktop .service",
    "janet": ".janet",
    "jinja": ".j2 .jinja .jinja2",
    "json": ".geojson .har .json .jsonl .ndjson .webmanifest",
    "jsonc": ".code-workspace .json5 .jsonc",
    "jsonnet": ".jsonnet .libsonnet",
    "julia": ".jl",
    "just": ".just",
    "latex": ".cls .latex .ltx .sty .tex",
    "less": ".less",
    "literatehaskell": ".lhs",
    "liquid": ".liquid",
    "luau": ".luau",
    "make": ".mak .mk",
    "markdown": ".markdown .md .mdown .mdx .mkd .qmd .rmd",
    "meson": ".wrap",
    "mojo": ".mojo",
    "nim": ".nim .nims",
    "nix": ".nix",
    "objectivec": ".m .mm",
    "ocaml": ".ml .mli .mll .mly",
    "org": ".org",
    "pascal": ".dpr .lpr .pas .pp",
    "perl": ".pl .pm .pod .t",
    "powershell": ".ps1 .psd1 .psm1",
    "prisma": ".prisma",
    "prolog": ".prolog",
    "protobuf": ".proto",
    "pug": ".jade .pug",
    "purescript": ".purs",
    "qml": ".qml",
    "r": ".r",
    "racket": ".rkt",
    "razor": ".cshtml .razor",
    "reason": ".re .rei",
    "restructuredtext": ".rest .rst",
    "sass": ".sass",
    "scheme": ".scm .ss",
    "scss": ".scss",
    "slim": ".slim",
    "smali": ".smali",
    "solidity": ".sol",
    "starlark": ".starlark",
    "stylus": ".styl",
    "systemverilog": ".sv .svh",
    "tcl": ".tcl",
    "terraform": ".tf .tfvars",
    "thrift": ".thrift",
    "toml": ".toml",
    "twig": ".twig",
    "typst": ".typ",
    "v": ".v",
    "vbnet": ".vb .vbs",
    "vhdl": ".vhd .vhdl",
    "vim": ".vim .vimrc",
    "wgsl": ".wgsl",
    "xml": ".csproj .dtd .fsproj .plist .pom .props .resx .rss .storyboard .svg .targets .vbproj .wsdl .xaml .xib .xlf"
    " .xliff .xml .xsd .xsl .xslt",
    "yaml": ".yaml .yml",
    "zon": ".zon",
}

_FILENAMES_OF: Final[Mapping[str, str]] = {
    "bash": ".bash_aliases .bash_login .bash_logout .bash_profile .bashrc .kshrc .profile .zlogin .zlogout .zprofile"
    " .zshenv .zshrc APKBUILD PKGBUILD",
    "javascript": "Jakefile",
    "lua": ".busted .luacheckrc .luacov",
    "python": "SConscript SConstruct wscript",
    "ruby": "Appraisals Berksfile Brewfile Capfile Dangerfile Fastfile Gemfile Guardfile Podfile Puppetfile Rakefile"
    " Thorfile Vagrantfile .irbrc .pryrc",
    "bazel": "BUILD WORKSPACE",
    "cmake": "CMakeLists.txt",
    "dockerfile": "Containerfile Dockerfile",
    "gitignore": ".codecompassignore .dockerignore .gitattributes .gitignore .helmignore .npmignore .prettierignore"
    " .eslintignore CODEOWNERS",
    "gomod": "go.mod go.sum go.work",
    "groovy": "Jenkinsfile",
    "ini": ".editorconfig .flake8 .gitconfig .gitmodules .npmrc .pylintrc",
    "json": ".babelrc .jshintrc .lintstagedrc .prettierrc .swcrc Pipfile.lock composer.lock flake.lock",
    "jsonc": ".eslintrc devcontainer.json jsconfig.json tsconfig.json .eslintrc.json",
    "just": "Justfile justfile .justfile",
    "make": "BSDmakefile GNUmakefile Kbuild Makefile Makefile.am Makefile.in makefile",
    "meson": "meson.build meson_options.txt",
    "procfile": "Procfile",
    "starlark": "Tiltfile",
    "toml": "Cargo.lock Gopkg.lock Pipfile pdm.lock poetry.lock uv.lock",
    "vim": ".exrc .gvimrc .vimrc",
    "yaml": ".clang-format .clang-tidy .clangd .yamllint CITATION.cff yarn.lock",
}

_INTERPRETERS_OF: Final[Mapping[str, str]] = {
    "bash": "ash bash bats dash ksh mksh sh zsh",
    "elixir": "elixir iex",
    "haskell": "runghc runhaskell",
    "java": "java jbang",
    "javascript": "node nodejs qjs",
    "kotlin": "kotlin kscript",
    "lua": "lua luajit texlua",
    "php": "php",
    "python": "python python2 python3 pypy pypy3",
    "ruby": "jruby rbx ruby truffleruby",
    "rust": "rust-script",
    "scala": "amm scala scala-cli",
    "swift": "swift",
    "typescript": "bun deno ts-node tsx",
    "awk": "awk gawk mawk",
    "fish": "fish",
    "groovy": "groovy",
    "julia": "julia",
    "just": "just",
    "make": "make",
    "nix": "nix-shell",
    "perl": "perl",
    "powershell": "pwsh",
    "r": "Rscript",
    "tcl": "expect tclsh wish",
}


def _inverted(names_of: Mapping[str, str]) -> Mapping[str, str]:
    return {name: language for language, names in names_of.items() for name in names.split()}


EXTENSIONS: Final[Mapping[str, str]] = _inverted(_EXTENSIONS_OF)
"""Extension with its dot to language; lower case except for pairs that differ only in case."""

FILENAMES: Final[Mapping[str, str]] = _inverted(_FILENAMES_OF)
INTERPRETERS: Final[Mapping[str, str]] = _inverted(_INTERPRETERS_OF)
"""Base name of the program in a `#!` line, without a version, to language."""

TEMPLATE: Final = "in"
"""Extension of templates for a configure step: `version.h.in` becomes `version.h`, and is in the same language."""

_VARIANTS: Final = {
    "Dockerfile": "dockerfile",
    "Containerfile": "dockerfile",
    "Makefile": "make",
    "Jenkinsfile": "groovy",
}
"""File names that may have a suffix: `Dockerfile.dev`, `Makefile.linux`."""


def language_of(path: str, head: bytes) -> str:
    """Returns the language of a file from its path and its first bytes (up to `HEAD_BYTES` are read).

    The name decides; for an unknown name the `#!` line does. A `.h` file is `cpp` if its content has C++ code.
    """
    language = _by_name(path)
    if language is None:
        return _included_fragment(head) if path.endswith(".inc") else language_of_first_line(head)
    if language == "c" and path.removesuffix(f".{TEMPLATE}").endswith(".h"):
        return header_language(head)
    if language == "typescript" and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<?xml", b"<!DOCTYPE TS")):
        return "xml"  # A Qt translation, which shares the extension.
    return language


def _by_name(path: str) -> str | None:
    name = path.rsplit("/", 1)[-1]
    language = FILENAMES.get(name)
    if language is not None:
        return language
    stem, dot, last = name.rpartition(".")
    if dot and stem:
        extension = dot + last
        language = EXTENSIONS.get(extension) or EXTENSIONS.get(extension.lower())
        if language is not None:
            return language
        if last == TEMPLATE:
            return _by_name(stem)
    return _VARIANTS.get(name.split(".", 1)[0])


_SHEBANG = re.compile(rb"#![ \t]*(\S+)((?:[ \t]+\S+)*)")
_VERSION = re.compile(r"[-.\d]+$")


def language_of_first_line(head: bytes) -> str:
    """Returns the language of the interpreter in a `#!` line at the start of `head`; `text` if there is none or it is unknown."""
    match = _SHEBANG.match(head[: head.find(b"\n")] if b"\n" in head else head[:1024])
    if match is None:
        return TEXT
    words = [match[1], *match[2].split()]
    program = words[0].rsplit(b"/", 1)[-1]
    if program == b"env":
        # `env -S python3 -u`, `env VAR=1 bash`: the first word that is neither an option nor an assignment.
        words = [word for word in words[1:] if not word.startswith(b"-") and b"=" not in word]
        program = words[0].rsplit(b"/", 1)[-1] if words else b""
    name = program.decode("utf-8", "replace")
    return INTERPRETERS.get(name) or INTERPRETERS.get(_VERSION.sub("", name)) or TEXT


_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_CPLUSPLUS = re.compile(
    rb"""^[ \t]*(?:
        (?:inline[ \t]+)? namespace \b [^;(]* \{
      | using [ \t]+ [\w:]+
      | template [ \t]* <
      | (?:public|private|protected) [ \t]* :
      | class \s+ (?:\w+ (?:\([^)]*\))? \s+)* \w+ \s* (?:final\s*)? [:{;]
      | \#[ \t]*include [ \t]* <(?:algorithm|array|atomic|chrono|cstd\w+|cstring|functional|iostream|limits|map|memory
            |mutex|optional|ostream|set|sstream|string|string_view|thread|tuple|type_traits|unordered_\w+|utility|variant|vector)>
      )
      | \b (?:constexpr|virtual|noexcept|nullptr|typename|static_cast|std::\w+) \b
    """,
    re.MULTILINE | re.VERBOSE,
)
_OBJECTIVE_C = re.compile(rb"^[ \t]*@(?:interface|protocol|class|implementation|end)\b", re.MULTILINE)
_GUARDED_OBJECTIVE_C = re.compile(
    rb"^[ \t]*#[ \t]*if(?:def[ \t]+|[ \t]+defined\W*)__OBJC__\b.*?^[ \t]*#[ \t]*(?:endif|else)", re.MULTILINE | re.DOTALL
)
_GUARDED = re.compile(
    rb"^[ \t]*#[ \t]*if(?:def[ \t]+|[ \t]+defined\W*)__cplusplus\b.*?^[ \t]*#[ \t]*(?:endif|else)",
    re.MULTILINE | re.DOTALL,
)


def header_language(head: bytes) -> str:
    """Returns the language of a header, judged by its code outside comments and `#ifdef __cplusplus`, `#ifdef __OBJC__`.

    It is `objectivec` with a declaration that only Objective-C has, `cpp` with code that only C++ has, else `c`.

    A header with macros only is `c`, in a C++ project too: its definitions are the same in both languages.
    """
    code = _GUARDED.sub(b"", _COMMENT.sub(b" ", head[:HEAD_BYTES]))
    if b"@" in code and _OBJECTIVE_C.search(_GUARDED_OBJECTIVE_C.sub(b"", code)):
        return "objectivec"
    return "cpp" if _CPLUSPLUS.search(code) else "c"


_PREPROCESSOR = re.compile(rb"^[ \t]*#[ \t]*(?:include|define|ifdef|ifndef)\b", re.MULTILINE)


def _included_fragment(head: bytes) -> str:
    """Returns the language of an `.inc` file, which other files include: PHP, C, C++, or text (assembly, Pascal)."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?php"):
        return "php"
    code = _COMMENT.sub(b" ", head[:HEAD_BYTES])
    if _CPLUSPLUS.search(code):
        return "cpp"
    return "c" if _PREPROCESSOR.search(code) else TEXT
