"""Measures what each rule of a language is worth: `python -m bench.rules --trees DIR --files 500 --languages java,ruby`.

For each node type in a language's table: how many symbols and imports are lost or changed without its rule, in a thousandth of
all. Each file is read as it is, and with one bracket or `end` missing, as it is while somebody types: most files of a repository
have no errors, so that rules for broken files seem useless otherwise. Take trees of several authors: the rules that did nothing
in one large Java library found 6 % of the symbols of another.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
import tree_sitter
from msgspec import Struct
from tree_sitter_language_pack import get_language

from bench.corpus import trees_in
from bench.table import plain_table
from bench.truth import add_sample_options, sample
from codecompass.languages import load
from codecompass.languages.language import Language
from codecompass.languages.walk.extract import extract, parse

LEAST_WORTH: Final = 1.0
"""In thousandths: a rule that is worth less in both kinds of files is listed first."""

_BRACKET: Final = re.compile(rb"[][(){}]|\bend\b")


class RuleWorth(Struct, frozen=True, order=True):
    """What the rule of a node type is worth, in thousandths of all symbols and imports."""

    whole: float
    """In files as they are."""
    broken: float
    """In files with a bracket missing."""
    rule: str


class _Parsed(Struct, frozen=True):
    """A parsed file, what it defines and imports, and the rules that were applied to it."""

    path: str
    source: bytes
    root: tree_sitter.Node
    found: Counter[str]
    applied: frozenset[str]


class _NotedRules(dict):  # type: ignore[type-arg]
    """A table of rules that notes which ones are looked up."""

    applied: set[str]

    def get(self, key: object, default: object = None) -> object:
        rule = super().get(key, default)
        if rule is not None:
            self.applied.add(str(key))
        return rule


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.rules", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_sample_options(parser, files=500)
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="codecompass-rules-") as directory:
        root = Path(directory)
        files = sample(trees_in(options.trees), options.languages, options.files, options.seed, root)
        for language, paths in files.items():
            worth = rule_worths(load(language), {path: (root / path).read_bytes() for path in paths}, options.seed)
            print(f"{language}, {len(paths):,} files\n\n{worth_table(worth)}\n", flush=True)
    return 0


def rule_worths(language: Language, sources: Mapping[str, bytes], seed: int = 1) -> list[RuleWorth]:
    """Returns the worth of every rule, the least first. `sources` are texts by path; those that are not UTF-8 are left out."""
    sources = {path: source for path, source in sources.items() if _is_text(source)}
    random_ = random.Random(seed)
    whole = _losses(language, sources)
    broken = _losses(language, {path: without_bracket(source, random_) for path, source in sources.items()})
    return sorted(RuleWorth(whole[rule], broken[rule], rule) for rule in language.rules)


def without_bracket(source: bytes, random_: random.Random) -> bytes:
    """Returns `source` with blanks in place of one bracket or `end`."""
    places = list(_BRACKET.finditer(source))
    if not places:
        return source
    start, end = random_.choice(places).span()
    return source[:start] + b" " * (end - start) + source[end:]


def worth_table(worths: Iterable[RuleWorth]) -> str:
    """Returns the rules as a table with those below LEAST_WORTH marked."""
    rows = [
        (each.rule, f"{each.whole:.2f}", f"{each.broken:.2f}", "" if max(each.whole, each.broken) >= LEAST_WORTH else "below")
        for each in worths
    ]
    return plain_table(("rule", "as it is, thousandths", "bracket missing", "a thousandth"), rows)


def _losses(language: Language, sources: Mapping[str, bytes]) -> dict[str, float]:
    parser = tree_sitter.Parser(get_language(language.grammar))  # type: ignore[arg-type]
    noted = _NotedRules(language.rules)
    noting = msgspec.structs.replace(language, rules=noted)
    files = []
    for path, source in sources.items():
        noted.applied = set()
        root = parse(language, parser, source).root_node
        found = _found(noting, root, source, path)
        files.append(_Parsed(path, source, root, found, frozenset(noted.applied)))
    total = max(1, sum(file.found.total() for file in files))
    losses = {}
    for rule in language.rules:
        without = msgspec.structs.replace(language, rules={key: value for key, value in language.rules.items() if key != rule})
        lost = 0
        for file in files:
            if rule in file.applied:
                lost += (file.found - _found(without, file.root, file.source, file.path)).total()
        losses[rule] = 1000.0 * lost / total
    return losses


def _found(language: Language, root: tree_sitter.Node, source: bytes, path: str) -> Counter[str]:
    extraction = extract(language, root, source, path)
    return Counter(map(repr, (*extraction.symbols, *extraction.imports)))


def _is_text(source: bytes) -> bool:
    try:
        source.decode()
    except UnicodeDecodeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
