"""The table of languages: how files of each are recognised, what people call it, and which module describes it; of the
ecosystems of packages, whose files say how modules are named; and how the code of other repositories names packages.

It is apart from the modules because a file's language must be known without loading any of them.
"""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct


class Row(Struct, frozen=True, kw_only=True):
    """A language. All but the module are words with blanks between them."""

    extensions: str = ""
    """Of its files, with their dot. Case matters only where two languages differ by it (`.C`, `.H`)."""
    names: str = ""
    """Of its files that have no extension of the language."""
    interpreters: str = ""
    """Base names of programs in a `#!` line, without a version."""
    aliases: str = ""
    """What people write for it in a filter, beside its name. With the name of another language it is added to that one."""
    module: str = ""
    """Of the package `codecompass.languages`; empty for a language that is a name to filter by."""
    grammar: str = ""
    """Its grammar, or that of what its files usually hold, if it is not named as the language is."""
    grammar_package: str = ""
    """The package that the grammar comes from, if it is not in the pack."""
    has_symbols: bool = True
    """Whether the module has a grammar and rules for definitions, or embeds a language that has."""
    is_read_as_text: bool = False
    """Whether the module reads definitions from the text, without a grammar."""


class Ecosystem(Struct, frozen=True, kw_only=True):
    """One ecosystem. Patterns match the whole name of a file; a `*` stands for any characters."""

    language: str
    """The language whose `ImportRules` read the files, and whose imports the module roots are about."""
    files: tuple[str, ...] = ()
    """Patterns of configuration files."""
    sources: tuple[str, ...] = ()
    """Patterns of other files that may say how modules are named too; they are asked only if none of `files` matches."""
    mention: bytes = b""
    """What each of the `sources` that are read holds."""
    completes: str = ""
    """The ecosystem whose module roots follow from what these files say and from its own (`ImportRules.completed_roots`)."""


class NamedPackages(Struct, frozen=True, kw_only=True):
    """How the code of other repositories names the packages of one family of languages."""

    language: str
    """One language of the family."""
    separator: str
    """Separates the name of a package from the names of its parts."""
    named_by: Literal["path", "directory", "manifest"]
    """What names the package of a file: the first part of the file's module, its directory below that of the manifest (each
    directory is a package), or the manifest alone."""
    ecosystem: str = ""
    """The manifests' ecosystem in the index."""
    manifest: str = ""
    """The name of the file that names packages; other configuration files only say where modules are found."""


LANGUAGES: Final[Mapping[str, Row]] = {
    "astro": Row(extensions=".astro", module="ecmascript.astro", grammar="tsx"),
    "bash": Row(
        extensions=".sh .bash .bats .ebuild .eclass .ksh .zsh",
        names=(
            ".bash_aliases .bash_login .bash_logout .bash_profile .bashrc .kshrc .profile .zlogin .zlogout .zprofile "
            ".zshenv .zshrc APKBUILD PKGBUILD"
        ),
        interpreters="ash bash bats dash ksh mksh sh zsh",
        aliases="sh shell",
        module="shells.bash",
    ),
    "c": Row(extensions=".c .h", module="c_family.c"),
    "cpp": Row(
        extensions=".C .H .c++ .cc .cp .cpp .cppm .cxx .h++ .hh .hpp .hxx .inl .ino .ipp .ixx .tcc .tpp .txx",
        aliases="c++ cxx cc",
        module="c_family.cpp",
    ),
    "csharp": Row(extensions=".cs .csx", aliases="c# cs", module="dotnet.csharp", grammar_package="tree_sitter_c_sharp"),
    "elixir": Row(extensions=".ex .exs", interpreters="elixir iex", aliases="ex exs", module="beam.elixir"),
    "go": Row(extensions=".go", aliases="golang", module="systems.go"),
    "haskell": Row(extensions=".hs .hs-boot .hsc", interpreters="runghc runhaskell", aliases="hs", module="functional.haskell"),
    "java": Row(extensions=".java", interpreters="java jbang", module="jvm.java"),
    "javascript": Row(
        extensions=".js .cjs .es6 .jsx .mjs",
        names="Jakefile",
        interpreters="node nodejs qjs",
        aliases="js jsx node",
        module="ecmascript.ecmascript",
    ),
    "jupyter": Row(extensions=".ipynb", aliases="ipynb notebook", module="documents.jupyter", grammar="python"),
    "kotlin": Row(extensions=".kt .kts", interpreters="kotlin kscript", aliases="kt", module="jvm.kotlin"),
    "lua": Row(
        extensions=".lua .rockspec", names=".busted .luacheckrc .luacov", interpreters="lua luajit texlua", module="scripting.lua"
    ),
    "objectivec": Row(extensions=".m .mm", module="c_family.objectivec", grammar="objc"),
    "php": Row(extensions=".php .php3 .php4 .php5 .php7 .php8 .phpt .phtml", interpreters="php", module="scripting.php"),
    "python": Row(
        extensions=".py .pyi .pyw",
        names="SConscript SConstruct wscript",
        interpreters="python python2 python3 pypy pypy3",
        aliases="py python3",
        module="scripting.python",
    ),
    "ruby": Row(
        extensions=".rb .gemspec .jbuilder .podspec .rake .rbi .rbw .ru .thor",
        names=(
            "Appraisals Berksfile Brewfile Capfile Dangerfile Fastfile Gemfile Guardfile Podfile Puppetfile Rakefile "
            "Thorfile Vagrantfile .irbrc .pryrc"
        ),
        interpreters="jruby rbx ruby truffleruby",
        aliases="rb",
        module="scripting.ruby",
    ),
    "rust": Row(extensions=".rs", interpreters="rust-script", aliases="rs", module="systems.rust"),
    "scala": Row(extensions=".scala .mill .sbt .sc", interpreters="amm scala scala-cli", module="jvm.scala"),
    "sql": Row(extensions=".sql .ddl .dml .pgsql .psql", module="schemas.sql"),
    "svelte": Row(extensions=".svelte", module="ecmascript.svelte", grammar="typescript"),
    "swift": Row(extensions=".swift", interpreters="swift", module="systems.swift"),
    "typescript": Row(
        extensions=".ts .cts .mts", interpreters="bun deno ts-node tsx", aliases="ts typescript", module="ecmascript.ecmascript"
    ),
    "tsx": Row(extensions=".tsx", aliases="ts typescript", module="ecmascript.ecmascript"),
    "vue": Row(extensions=".vue", module="ecmascript.vue", grammar="typescript"),
    "zig": Row(extensions=".zig", module="systems.zig"),
    # Schemas, infrastructure, configuration, documents and styles, which are read as text.
    "asciidoc": Row(extensions=".adoc .asciidoc", module="documents.asciidoc", is_read_as_text=True),
    "avro": Row(extensions=".avdl", module="schemas.avro", is_read_as_text=True),
    "bazel": Row(
        extensions=".bazel .bzl .star", names="BUCK BUILD MODULE.bazel WORKSPACE", module="builds.starlark", is_read_as_text=True
    ),
    "bicep": Row(extensions=".bicep .bicepparam", module="configuration.bicep", is_read_as_text=True),
    "capnp": Row(extensions=".capnp", aliases="capnproto", module="schemas.capnp", is_read_as_text=True),
    "cmake": Row(extensions=".cmake", names="CMakeLists.txt", module="builds.cmake", is_read_as_text=True),
    "css": Row(extensions=".css", module="documents.css", is_read_as_text=True),
    "dockerfile": Row(
        extensions=".dockerfile .containerfile",
        names="Containerfile Dockerfile",
        aliases="docker",
        module="configuration.dockerfile",
        is_read_as_text=True,
    ),
    "gomod": Row(names="go.mod go.sum go.work", module="builds.gomod", is_read_as_text=True),
    "graphql": Row(extensions=".gql .graphql .graphqls", aliases="gql", module="schemas.graphql", is_read_as_text=True),
    "hcl": Row(extensions=".hcl .nomad", module="configuration.terraform", is_read_as_text=True),
    "html": Row(extensions=".htm .html .xhtml", module="documents.html", is_read_as_text=True),
    "ini": Row(
        extensions=".cfg .conf .editorconfig .ini .properties .desktop .service .socket .timer .mount .target",
        names=".editorconfig .env.example .env.sample .env.template .flake8 .gitconfig .gitmodules .npmrc .pylintrc",
        module="configuration.ini",
        is_read_as_text=True,
    ),
    "json": Row(
        extensions=".geojson .har .json .jsonl .ndjson .webmanifest",
        names=".babelrc .jshintrc .lintstagedrc .prettierrc .swcrc Pipfile.lock composer.lock flake.lock",
        module="configuration.json",
        is_read_as_text=True,
    ),
    "jsonc": Row(
        extensions=".code-workspace .json5 .jsonc",
        names=".eslintrc devcontainer.json jsconfig.json tsconfig.json .eslintrc.json",
        module="configuration.json",
        is_read_as_text=True,
    ),
    "just": Row(
        extensions=".just", names="Justfile justfile .justfile", interpreters="just", module="builds.just", is_read_as_text=True
    ),
    "kconfig": Row(names="Kconfig", module="configuration.kconfig", is_read_as_text=True),
    "latex": Row(extensions=".cls .latex .ltx .sty .tex", aliases="tex", module="documents.latex", is_read_as_text=True),
    "less": Row(extensions=".less", module="documents.css", is_read_as_text=True),
    "make": Row(
        extensions=".mak .mk",
        names="BSDmakefile GNUmakefile Kbuild Makefile Makefile.am Makefile.in makefile",
        interpreters="make",
        aliases="makefile",
        module="builds.make",
        is_read_as_text=True,
    ),
    "man": Row(extensions=".1 .3 .5 .7 .8 .man .mdoc", module="documents.man", is_read_as_text=True),
    "markdown": Row(extensions=".markdown .md .mdown .mkd", aliases="md", module="documents.markdown", is_read_as_text=True),
    "meson": Row(extensions=".wrap", names="meson.build meson_options.txt", module="builds.meson", is_read_as_text=True),
    "nginx": Row(extensions=".nginx .nginxconf", names="nginx.conf", module="configuration.nginx", is_read_as_text=True),
    "org": Row(extensions=".org", module="documents.org", is_read_as_text=True),
    "prisma": Row(extensions=".prisma", module="schemas.prisma", is_read_as_text=True),
    "protobuf": Row(extensions=".proto", aliases="proto", module="schemas.protobuf", is_read_as_text=True),
    "restructuredtext": Row(extensions=".rest .rst", aliases="rst", module="documents.restructuredtext", is_read_as_text=True),
    "scss": Row(extensions=".scss", module="documents.css", is_read_as_text=True),
    "smithy": Row(extensions=".smithy", module="schemas.smithy", is_read_as_text=True),
    "starlark": Row(extensions=".starlark", names="Tiltfile", module="builds.starlark", is_read_as_text=True),
    "terraform": Row(
        extensions=".tf .tfvars", aliases="tf opentofu hcl2", module="configuration.terraform", is_read_as_text=True
    ),
    "thrift": Row(extensions=".thrift", module="schemas.thrift", is_read_as_text=True),
    "toml": Row(
        extensions=".toml",
        names="Cargo.lock Gopkg.lock Pipfile pdm.lock poetry.lock uv.lock",
        module="configuration.toml",
        is_read_as_text=True,
    ),
    "wit": Row(extensions=".wit", module="schemas.wit", is_read_as_text=True),
    "xml": Row(
        extensions=(
            ".csproj .dtd .fsproj .plist .pom .props .resx .rss .storyboard .svg .targets .vbproj .wsdl .xaml .xib "
            ".xlf .xliff .xml .xsd .xsl .xslt"
        ),
        module="configuration.xml",
        is_read_as_text=True,
    ),
    "yaml": Row(
        extensions=".yaml .yml",
        names=".clang-format .clang-tidy .clangd .yamllint CITATION.cff yarn.lock",
        aliases="yml",
        module="configuration.yaml",
        is_read_as_text=True,
    ),
    # Languages whose modules are mostly tables (`walk/node_rules.py`).
    "clojure": Row(extensions=".clj .cljc .cljs .bb .edn", interpreters="bb clojure", aliases="clj", module="functional.lisps"),
    "commonlisp": Row(extensions=".lisp .cl .lsp .asd", interpreters="sbcl", aliases="lisp", module="functional.lisps"),
    "cuda": Row(extensions=".cu .cuh", module="c_family.shading"),
    "dart": Row(extensions=".dart", interpreters="dart", module="systems.dart"),
    "elm": Row(extensions=".elm", module="functional.elm"),
    "emacslisp": Row(
        extensions=".el", names=".emacs", interpreters="emacs", aliases="elisp el", module="functional.lisps", grammar="elisp"
    ),
    "erlang": Row(
        extensions=".erl .hrl .escript", names="rebar.config", interpreters="escript", aliases="erl", module="beam.erlang"
    ),
    "fortran": Row(extensions=".f90 .f .f03 .f08 .f77 .f95 .for .ftn", module="systems.fortran"),
    "fsharp": Row(extensions=".fs .fsx", interpreters="fsharpi", aliases="f# fs", module="dotnet.fsharp"),
    "gleam": Row(extensions=".gleam", module="beam.gleam"),
    "glsl": Row(extensions=".glsl .comp .frag .geom .tesc .tese .vert", module="c_family.shading"),
    "groovy": Row(
        extensions=".groovy .gradle .gvy .gy", names="Jenkinsfile", interpreters="groovy", aliases="gradle", module="jvm.groovy"
    ),
    "hlsl": Row(extensions=".hlsl .fx .fxh .hlsli", module="c_family.shading"),
    "julia": Row(extensions=".jl", interpreters="julia", aliases="jl", module="scripting.julia"),
    "nix": Row(extensions=".nix", interpreters="nix-shell", module="functional.nix"),
    "ocaml": Row(extensions=".ml .mll .mly", interpreters="ocaml", aliases="ml", module="functional.ocaml"),
    "ocaml_interface": Row(extensions=".mli", aliases="ml ocaml", module="functional.ocaml"),
    "perl": Row(extensions=".pl .pm .pod .t .psgi", names="cpanfile", interpreters="perl", aliases="pl", module="scripting.perl"),
    "powershell": Row(
        extensions=".ps1 .psd1 .psm1", interpreters="pwsh powershell", aliases="ps1 pwsh", module="shells.powershell"
    ),
    "purescript": Row(extensions=".purs", aliases="purs", module="functional.purescript"),
    "r": Row(extensions=".r", names=".Rprofile", interpreters="Rscript r", module="scripting.r"),
    "racket": Row(extensions=".rkt .rktl .rktd", interpreters="racket", aliases="rkt", module="functional.schemes"),
    "scheme": Row(extensions=".scm .sld .sls .sps .ss", interpreters="guile scheme", aliases="scm", module="functional.schemes"),
    "solidity": Row(extensions=".sol", aliases="sol", module="systems.solidity"),
    "verilog": Row(extensions=".v .vh .sv .svh", aliases="systemverilog sv", module="hardware.verilog"),
    "vhdl": Row(extensions=".vhd .vhdl", module="hardware.vhdl"),
    "wgsl": Row(extensions=".wgsl", module="c_family.wgsl"),
    "ada": Row(extensions=".adb .ads .ada", module="systems.ada"),
    "assembly": Row(extensions=".asm .nasm .s", aliases="asm nasm", module="systems.assembly", is_read_as_text=True),
    "cairo": Row(extensions=".cairo", module="systems.by_braces", is_read_as_text=True),
    "cobol": Row(extensions=".cbl .cob .cpy", module="systems.cobol", is_read_as_text=True),
    "crystal": Row(extensions=".cr", interpreters="crystal", aliases="cr", module="systems.crystal", grammar="ruby"),
    "d": Row(extensions=".d .di", interpreters="rdmd", module="systems.d"),
    "fish": Row(extensions=".fish", interpreters="fish", module="shells.fish"),
    "gdscript": Row(extensions=".gd", aliases="gd godot", module="scripting.gdscript"),
    "matlab": Row(extensions=".matlab", interpreters="octave", aliases="octave", module="scripting.matlab"),
    "move": Row(extensions=".move", module="systems.by_braces", is_read_as_text=True),
    "nim": Row(extensions=".nim .nims .nimble", module="systems.nim"),
    "odin": Row(extensions=".odin", module="systems.odin"),
    "pascal": Row(extensions=".pas .dpr .lpr .pp .dpk", aliases="delphi", module="systems.pascal"),
    "rescript": Row(extensions=".res .resi", aliases="res", module="functional.rescript", grammar="ocaml"),
    "tcl": Row(extensions=".tcl .tm", interpreters="expect tclsh wish", module="scripting.tcl"),
    "v": Row(extensions=".vsh .vv", interpreters="v", aliases="vlang", module="systems.v", is_read_as_text=True),
    "vim": Row(
        extensions=".vim .vimrc",
        names=".exrc .gvimrc .vimrc vimrc",
        aliases="viml vimscript",
        module="scripting.vim",
        is_read_as_text=True,
    ),
    # Templates with code of another language.
    "eex": Row(extensions=".eex .heex .leex", aliases="heex", module="templates.templates", grammar="elixir"),
    "ejs": Row(extensions=".ejs", module="templates.templates", grammar="javascript"),
    "erb": Row(extensions=".erb", module="templates.templates", grammar="ruby"),
    "literatehaskell": Row(extensions=".lhs", aliases="hs lhs", module="functional.literatehaskell", is_read_as_text=True),
    "mdx": Row(extensions=".mdx", aliases="md", module="documents.mdx", is_read_as_text=True),
    "rmarkdown": Row(extensions=".qmd .rmd", aliases="md quarto rmd", module="documents.rmarkdown", is_read_as_text=True),
    "blade": Row(extensions=".blade.php", module="templates.blade", is_read_as_text=True),
    "razor": Row(extensions=".cshtml .razor", aliases="cshtml", module="templates.razor", is_read_as_text=True),
    "gotemplate": Row(
        extensions=".gohtml .gotmpl .tmpl .tpl", aliases="gotmpl helm", module="templates.page_templates", is_read_as_text=True
    ),
    "handlebars": Row(
        extensions=".handlebars .hbs .mustache", aliases="hbs mustache", module="templates.page_templates", is_read_as_text=True
    ),
    "jinja": Row(extensions=".j2 .jinja .jinja2", aliases="jinja2 j2", module="templates.page_templates", is_read_as_text=True),
    "liquid": Row(extensions=".liquid", module="templates.liquid", is_read_as_text=True),
    "nunjucks": Row(extensions=".njk .nunjucks", aliases="njk", module="templates.page_templates", is_read_as_text=True),
    "twig": Row(extensions=".twig", module="templates.page_templates", is_read_as_text=True),
    # Without symbols.
    "awk": Row(extensions=".awk .gawk", interpreters="awk gawk mawk"),
    "batch": Row(extensions=".bat .cmd"),
    "bibtex": Row(extensions=".bib"),
    "cabal": Row(extensions=".cabal"),
    "coffeescript": Row(extensions=".coffee"),
    "csv": Row(extensions=".csv .tsv"),
    "cython": Row(extensions=".pxd .pxi .pyx"),
    "diff": Row(extensions=".diff .patch"),
    "forth": Row(extensions=".forth .fth"),
    "gettext": Row(extensions=".po .pot"),
    "gitignore": Row(
        names=(
            ".codecompassignore .dockerignore .gitattributes .gitignore .helmignore .npmignore .prettierignore "
            ".eslintignore CODEOWNERS"
        )
    ),
    "haml": Row(extensions=".haml"),
    "idl": Row(extensions=".idl"),
    "janet": Row(extensions=".janet"),
    "jsonnet": Row(extensions=".jsonnet .libsonnet"),
    "luau": Row(extensions=".luau"),
    "mojo": Row(extensions=".mojo"),
    "procfile": Row(names="Procfile"),
    "prolog": Row(extensions=".prolog"),
    "pug": Row(extensions=".jade .pug"),
    "qml": Row(extensions=".qml"),
    "reason": Row(extensions=".re .rei"),
    "sass": Row(extensions=".sass"),
    "slim": Row(extensions=".slim"),
    "smali": Row(extensions=".smali"),
    "stylus": Row(extensions=".styl"),
    "typst": Row(extensions=".typ"),
    "vbnet": Row(extensions=".vb .vbs"),
    "zon": Row(extensions=".zon"),
}
"""By name."""

MODULES: Final[Mapping[str, str]] = {
    name: f"{__package__}.{LANGUAGES[name].module}" for name in sorted(LANGUAGES) if LANGUAGES[name].module
}
"""The modules by language, in the order of their names."""

SYMBOL_LANGUAGES: Final[tuple[str, ...]] = tuple(name for name in MODULES if LANGUAGES[name].has_symbols)

PARSED_LANGUAGES: Final[tuple[str, ...]] = tuple(name for name in SYMBOL_LANGUAGES if not LANGUAGES[name].is_read_as_text)
"""Those of them that need a grammar."""

ECOSYSTEMS: Final[Mapping[str, Ecosystem]] = {
    "cargo": Ecosystem(language="rust", files=("Cargo.toml",)),
    "composer": Ecosystem(language="php", files=("composer.json",)),
    "dotnet": Ecosystem(language="csharp", files=("*.csproj",)),
    "go": Ecosystem(language="go", files=("go.mod",)),
    "jvm": Ecosystem(language="kotlin", sources=("*.kt",)),
    "node": Ecosystem(language="typescript", files=("package.json",)),
    "python": Ecosystem(language="python", files=("pyproject.toml", "setup.cfg", "setup.py")),
    "swift": Ecosystem(language="swift", files=("Package.swift",)),
    "tsconfig": Ecosystem(
        language="typescript",
        files=("jsconfig.json", "tsconfig.json", "tsconfig.*.json", "tsconfig-*.json"),
        # A configuration that others extend may have any name.
        sources=("*.json",),
        mention=b'"compilerOptions"',
        completes="node",
    ),
    "zig": Ecosystem(language="zig", files=("build.zig",)),
}
"""By the name that module roots carry."""

PACKAGES: Final[Mapping[str, NamedPackages]] = {
    "python": NamedPackages(language="python", separator=".", named_by="path"),
    "go": NamedPackages(language="go", separator="/", named_by="directory", ecosystem="go", manifest="go.mod"),
    "ecmascript": NamedPackages(
        language="typescript", separator="/", named_by="manifest", ecosystem="node", manifest="package.json"
    ),
    "rust": NamedPackages(language="rust", separator="::", named_by="manifest", ecosystem="cargo", manifest="Cargo.toml"),
}
"""By family and not by language, because a question about a definition of another repository says only its family."""
