"""Source files generated from a seed: Python, Go, TypeScript and Java in the sizes and proportions of real projects.

File `number` of a seed is always the same file, whatever the size of its tree: the first 5,000 files of a tree of 20,000 are the
tree of 5,000, so that updates of the same files can be compared between the two. The words are drawn unevenly, as in real code,
where a few names are everywhere and most are rare. Pure.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from bench.vocabulary import ADJECTIVES, NOUNS, VERBS

PACKAGE_FILES: Final = 24
"""Number of files in one directory, all in one language."""

LANGUAGE_OF_PACKAGE: Final = ("python", "go", "typescript", "python", "java", "go", "typescript", "python", "go", "java")
"""The languages of packages, used cyclically."""

LOG_SIZE_MEAN: Final = 1.65
LOG_SIZE_DEVIATION: Final = 0.8
"""Definitions of a file: log-normal, with a median of 5 and a long tail; the mean file is about 6 kB, as in Django."""

MAX_DEFINITIONS: Final = 70

LONG_FILE_EVERY: Final = 500
LONG_FILE_DEFINITIONS: Final = 170
"""One in LONG_FILE_EVERY files is long: with the classes around its methods it has about 200 symbols."""


DOCS: Final = (
    "Returns the {n0} of a {n1}, or nothing while its {n2} is {a0}.",
    "{V0}s every {a0} {n0} that belongs to the {n1} before the {n2} is {a1}.",
    "Decides whether the {n0} may {v0} the {a0} {n1} when the {n2} has run out.",
    "Finds the {a0} {n0} for a {n1} by its {n2} and {v0}s it.",
    "Keeps the {n0} and its {n1} in step after a {a0} {n2} has changed.",
    "Raises an error if the {n0} is {a0} or the {n1} was already {a1}.",
    "{V0}s and {v1}s the {n0} in one step, so that no other {n1} sees a {a0} {n2}.",
    "The {n0} that a {a0} {n1} falls back to when its {n2} cannot be reached.",
)
"""First sentences of comments. Placeholders: nouns n0..n2, adjectives a0 a1, verbs v0 v1, capitalised V0."""


class SourceFile(Struct, frozen=True):
    """A file: its path relative to the tree, with `/`, and its text."""

    path: str
    text: str


class Dialect(Struct, frozen=True, kw_only=True):
    """The syntax of one language. Templates take the placeholders of `_Words.draw` and those named here.

    `path` takes `package` and `module`; `opening` the same; `function` and `method` take `doc` and `body`; a class is
    `class_opening`, methods, `class_closing`. `body` lines are indented for a function; methods get `method_indent` more.
    """

    path: str
    opening: str
    imports: str
    constant: str
    function: str
    class_opening: str
    method: str
    class_closing: str
    body: tuple[str, ...]
    body_end: str
    method_indent: str
    has_functions: bool = True


DIALECTS: Final[Mapping[str, Dialect]] = {
    "python": Dialect(
        path="services/{package}/{module}.py",
        opening='"""{doc}"""\n\nimport logging\nfrom dataclasses import dataclass\n\n',
        imports="from services.{package}.{module} import {C0}{C1}, {v0}_{n0}\n",
        constant='\n{U0}_{U1} = {k0}\n"""{doc}"""\n',
        function='\n\ndef {v0}_{n0}({n1}: "{C1}", {n2}: int = {k0}) -> "{C0} | None":\n    """{doc}"""\n{body}',
        class_opening='\n\nclass {C0}{C1}:\n    """{doc}"""\n\n    {n2}: int = {k0}\n',
        method='\n    def {v0}_{n0}(self, {n1}: "{C1}") -> "{C0} | None":\n        """{doc}"""\n{body}',
        class_closing="",
        body=(
            "    {n0}_{n1} = {n2}.{v0}_{n1}({n0}, {a0}={k0})\n",
            "    if {n0} is None or {n1}.{a0}_{n2} > {k0}:\n        return None\n",
            '    for {n0} in {n1}.{v0}_{n2}s():\n        {n2}.{v1}({n0}, "{a0} {n1}")\n',
            "    # The {a0} {n0} goes first: {v0}ing the {n1} would {v1} it.\n",
            '    {n0}s = [{n0} for {n0} in {n1}.{n2}s if {n0}.{a0} and {n0}.{n1} != "{n2}"]\n',
            '    logging.debug("{v0} {n0} %s of {n1} %d", {n0}, {k0})\n',
        ),
        body_end="    return {n0}\n",
        method_indent="    ",
    ),
    "go": Dialect(
        path="internal/{package}/{module}.go",
        opening='// Package {package} holds what a {n0} needs. {doc}\npackage {package}\n\nimport (\n\t"context"\n\t"fmt"\n',
        imports='\t"example.org/shop/internal/{package}"\n',
        constant="\n// {doc}\nconst {C0}{C1} = {k0}\n",
        function="\n// {C2}{C0} {doc}\nfunc {C2}{C0}(ctx context.Context, {n1} *{C1}, {n2} int) (*{C0}, error) {{\n{body}}}\n",
        class_opening="\n// {C0}{C1} {doc}\ntype {C0}{C1} struct {{\n\t{C2} string\n\t{n2}  int\n\t{n0}s []*{C0}\n}}\n",
        method="\n// {V0}{C2} {doc}\nfunc (r *{owner}) {V0}{C2}({n1} *{C1}) (*{C0}, error) {{\n{body}}}\n",
        class_closing="",
        body=(
            "\t{n0}{C1}, err := {n2}.{V0}{C1}(ctx, {n0}, {k0})\n\tif err != nil {{\n"
            '\t\treturn nil, fmt.Errorf("{v0} {n0}: %w", err)\n\t}}\n',
            "\tif {n0} == nil || {n1}.{C2} > {k0} {{\n\t\treturn nil, nil\n\t}}\n",
            '\tfor _, {n0} := range {n1}.{C2}s {{\n\t\t{n2}.{V1}({n0}, "{a0} {n1}")\n\t}}\n',
            "\t// The {a0} {n0} goes first: {v0}ing the {n1} would {v1} it.\n",
            "\t{n0}s = append({n0}s, {n1}.{V0}{C2}({n0}))\n",
            "\tdefer {n0}.{V0}({n1})\n",
        ),
        body_end="\treturn {n0}.{C0}, nil\n",
        method_indent="",
    ),
    "typescript": Dialect(
        path="web/{package}/{module}.ts",
        opening="// {doc}\n",
        imports="import {{ {C0}{C1}, {v0}{C0} }} from '../{package}/{module}';\n",
        constant="\n/** {doc} */\nexport const {n0}{C1} = {k0};\n",
        function="\n/** {doc} */\nexport async function {v0}{C0}({n1}: {C1}, {n2} = {k0}): Promise<{C0} | null> {{\n{body}}}\n",
        class_opening="\n/** {doc} */\nexport class {C0}{C1} {{\n  private {n2} = {k0};\n  readonly {n0}s: {C0}[] = [];\n",
        method="\n  /** {doc} */\n  {v0}{C0}({n1}: {C1}): {C0} | null {{\n{body}  }}\n",
        class_closing="}}\n",
        body=(
            "  const {n0}{C1} = await {n2}.{v0}{C1}({n0}, {{ {a0}: {k0} }});\n",
            "  if (!{n0} || {n1}.{a0}{C2} > {k0}) {{\n    return null;\n  }}\n",
            "  for (const {n0} of {n1}.{v0}{C2}s()) {{\n    {n2}.{v1}({n0}, '{a0} {n1}');\n  }}\n",
            "  // The {a0} {n0} goes first: {v0}ing the {n1} would {v1} it.\n",
            "  const {n0}s = {n1}.{n2}s.filter(({n0}) => {n0}.{a0} && {n0}.{n1} !== '{n2}');\n",
        ),
        body_end="  return {n0};\n",
        method_indent="  ",
    ),
    "java": Dialect(
        path="java/src/main/java/org/example/shop/{package}/{type}.java",
        opening="// {doc}\npackage org.example.shop.{package};\n\nimport java.util.List;\n",
        imports="import org.example.shop.{package}.{type};\n",
        constant="\n    /** {doc} */\n    static final int {U0}_{U1} = {k0};\n",
        function="",
        class_opening="\n/** {doc} */\npublic class {type} {{\n    private int {n2} = {k0};\n    final List<{C0}> {n0}s;\n",
        method="\n    /** {doc} */\n    public {C0} {v0}{C0}({C1} {n1}, int {n2}) throws {C2}Exception {{\n{body}    }}\n",
        class_closing="}}\n",
        body=(
            "    {C0} {n0}{C1} = {n2}.{v0}{C1}({n0}, {k0});\n",
            "    if ({n0} == null || {n1}.get{C2}() > {k0}) {{\n        return null;\n    }}\n",
            '    for ({C0} {n0} : {n1}.{v0}{C2}s()) {{\n        {n2}.{v1}({n0}, "{a0} {n1}");\n    }}\n',
            "    // The {a0} {n0} goes first: {v0}ing the {n1} would {v1} it.\n",
            "    {n0}s.stream().filter({n0} -> {n0}.is{C1}()).forEach({n2}::{v1});\n",
        ),
        body_end="    return {n0};\n",
        method_indent="    ",
        has_functions=False,
    ),
}


def project_files() -> tuple[SourceFile, ...]:
    """Returns the files at the top of the tree, which determine how imports in it are resolved."""
    return (
        SourceFile("go.mod", "module example.org/shop\n\ngo 1.22\n"),
        SourceFile("package.json", '{"name": "shop", "private": true}\n'),
        SourceFile("tsconfig.json", '{"compilerOptions": {"strict": true}}\n'),
        SourceFile("pyproject.toml", '[project]\nname = "shop"\nversion = "1"\n'),
        SourceFile("README.md", "# Shop\n\nMade up by a program, to measure another one.\n"),
    )


def source_files(seed: int, count: int) -> Iterator[SourceFile]:
    """Yields files 0..count-1 of `seed`."""
    for number in range(count):
        yield source_file(seed, number)


def source_file(seed: int, number: int) -> SourceFile:
    """Returns file `number` of `seed`."""
    words = _Words(random.Random(f"{seed}:{number}"))
    place = _place(number)
    dialect = _dialect(number)
    text = [dialect.opening.format(**{**words.draw(), **place, "doc": words.sentence()})]
    # Imports lead to files with smaller numbers, which exist in every tree that has this file.
    others = sorted({words.random.randrange(number) for _ in range(3)} if number else ())
    text += [
        dialect.imports.format(**{**words.draw(), **_place(other)}) for other in others if _language(other) == _language(number)
    ]
    if dialect is DIALECTS["go"]:
        text.append(")\n")
    text += _definitions(dialect, words, place, _definition_count(words, number))
    return SourceFile(source_path(number), "".join(text))


def source_path(number: int) -> str:
    """Returns the path of file `number`, which is the same for every seed."""
    return _dialect(number).path.format(**_place(number))


def _dialect(number: int) -> Dialect:
    return DIALECTS[_language(number)]


def _language(number: int) -> str:
    return LANGUAGE_OF_PACKAGE[number // PACKAGE_FILES % len(LANGUAGE_OF_PACKAGE)]


def _definition_count(words: "_Words", number: int) -> int:
    if number % LONG_FILE_EVERY == LONG_FILE_EVERY - 1:
        return LONG_FILE_DEFINITIONS
    return min(MAX_DEFINITIONS, max(1, round(words.random.lognormvariate(LOG_SIZE_MEAN, LOG_SIZE_DEVIATION))))


def _definitions(dialect: Dialect, words: "_Words", place: Mapping[str, str], wanted: int) -> Iterator[str]:
    has_open_class = not dialect.has_functions
    if has_open_class:
        yield dialect.class_opening.format(**{**words.draw(), **place, "doc": words.sentence()})
    while wanted > 0:
        drawn = {**words.draw(), **place, "doc": words.sentence()}
        choice = words.random.random()
        if choice < 0.1:
            yield dialect.constant.format(**drawn)
            wanted -= 1
        elif choice < 0.5 and dialect.has_functions:
            yield dialect.function.format(**drawn, body=_body(dialect, words, ""))
            wanted -= 1
        else:
            owner = f"{drawn['C0']}{drawn['C1']}"
            members = min(wanted, words.random.randrange(2, 9))
            if not has_open_class:
                yield dialect.class_opening.format(**drawn)
            for _ in range(members):
                member = {**words.draw(), "doc": words.sentence(), "owner": owner}
                yield dialect.method.format(**member, body=_body(dialect, words, dialect.method_indent))
            if not has_open_class:
                yield dialect.class_closing.format()
            wanted -= members
    if has_open_class:
        yield dialect.class_closing.format()


def _body(dialect: Dialect, words: "_Words", indent: str) -> str:
    templates = [*words.random.choices(dialect.body, k=words.random.randrange(2, 14)), dialect.body_end]
    text = "".join(template.format(**words.draw()) for template in templates)
    return text if not indent else "".join(indent + line for line in text.splitlines(keepends=True))


def _place(number: int) -> dict[str, str]:
    """Returns the package, module and type name of a file: unique together."""
    package, member = divmod(number, PACKAGE_FILES)
    first = package % len(NOUNS)
    second = (first + 1 + package // len(NOUNS)) % len(NOUNS)
    verb = VERBS[(package + member) % len(VERBS)]
    noun = NOUNS[(package * 7 + member) % len(NOUNS)]
    return {
        "package": NOUNS[first] + NOUNS[second],
        "module": f"{verb}_{noun}",
        "type": verb.capitalize() + noun.capitalize() + "Service",
    }


def _weights(words: Sequence[str]) -> list[float]:
    """Returns cumulative weights by Zipf's law, flattened: the first word is drawn some thirty times as often as the last."""
    return list(accumulate(1 / (rank + 8) for rank in range(len(words))))


_NOUN_WEIGHTS: Final = _weights(NOUNS)
_VERB_WEIGHTS: Final = _weights(VERBS)
_ADJECTIVE_WEIGHTS: Final = _weights(ADJECTIVES)


class _Words:
    """Draws words by weight from one random source."""

    def __init__(self, source: random.Random) -> None:
        self.random = source

    def draw(self) -> dict[str, str]:
        """Returns new values for all placeholders: n nouns, C the same capitalised, U in capitals, v verbs, V capitalised, a
        adjectives, k a number."""
        n0, n1, n2 = self.random.choices(NOUNS, cum_weights=_NOUN_WEIGHTS, k=3)
        v0, v1 = self.random.choices(VERBS, cum_weights=_VERB_WEIGHTS, k=2)
        a0, a1 = self.random.choices(ADJECTIVES, cum_weights=_ADJECTIVE_WEIGHTS, k=2)
        return {
            "n0": n0,
            "n1": n1,
            "n2": n2,
            "C0": n0.capitalize(),
            "C1": n1.capitalize(),
            "C2": n2.capitalize(),
            "U0": n0.upper(),
            "U1": n1.upper(),
            "v0": v0,
            "v1": v1,
            "V0": v0.capitalize(),
            "V1": v1.capitalize(),
            "a0": a0,
            "a1": a1,
            "k0": str(self.random.randrange(2, 5000)),
        }

    def sentence(self) -> str:
        """Returns a comment's sentence."""
        return self.random.choice(DOCS).format(**self.draw())
