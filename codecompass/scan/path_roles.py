"""Classifies paths as product code, test, example, generated or vendored, and splits them into words for search.

Decides by whole path components and file name patterns, never by substrings: `latest_version.py` and `contest_api.rs` are
product code. Opens no file.
"""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct, structs

from codecompass import lazy
from codecompass.languages.words import split_identifier, word_set

TEST_DIRECTORIES: Final = word_set(
    "test tests __tests__ testing testdata test-data test_data testsuite test-suite test_suite spec specs e2e integration-tests "
    "unittests __snapshots__ __mocks__ mocks __fixtures__ fixtures jvmtest androidtest commontest benches bench benchmark "
    "benchmarks"
)
EXAMPLE_DIRECTORIES: Final = word_set(
    "example examples sample samples demo demos doc docs documentation man website www tutorial tutorials playground "
    "changelog changelogs news issue_template pull_request_template discussion_template"
)
VENDORED_DIRECTORIES: Final = word_set(
    "vendor vendored _vendor third_party third-party thirdparty node_modules bower_components deps site-packages dist"
)
GENERATED_DIRECTORIES: Final = word_set(
    "generated gen __generated__ autogen _build __pycache__ .next .nuxt .svelte-kit .docusaurus htmlcov"
)
_OUTPUT_DIRECTORY_ENDS: Final = (".egg-info", ".dist-info", ".egg", ".dsym")
"""What builds, packagers and compilers of documents write."""

_TEST_FILE: Final = lazy.pattern(
    r"(?:tests?[_.-].*|.*[_-](?:tests?|spec|unittest|bench|benchmark)|.*[.](?:tests?|spec|e2e|bench|cy|stories)|conftest|test|tests)[.][^.]+$"
    r"|.*[.]snap$"
    r"|.*(?<=[a-z0-9])(?:Tests?|TestCase|Spec|IT)[.](?:java|kt|kts|scala|cs|swift|groovy|php|m|mm|hs|js|ts|dart)$"
    r"|Test[A-Z][^/]*[.](?:java|kt|scala|cs|swift|php)$"
)
_GENERATED_FILE: Final = lazy.pattern(
    r".*(?:[.]pb[.](?:go|cc|h|swift)|_pb2(?:_grpc)?[.]pyi?|_generated[.][^.]+|[.]generated[.][^/]*|[.]g[.](?:cs|dart)"
    r"|[.]designer[.](?:cs|vb)|zz_generated[.][^/]*|[.]min[.](?:[cm]?js|css)|[.](?:[cm]?js|css)[.]map"
    r"|[-_.]lock[.](?:json|ya?ml|toml|hcl)|[.]lock(?:b|ed|file)?)$"
    r"|(?:go(?:[.]work)?[.]sum|npm-shrinkwrap[.]json|(?:package|cartfile)[.]resolved|pkg-info)$",
    re.IGNORECASE,
)
_PROSE_FILE: Final = lazy.pattern(
    r".*[.](?:md|mdx|markdown|rst|txt|adoc|asciidoc|org|html?|csv|tsv|svg|po|pot|ftl|xlf|xliff|ipynb|ronn|[1-9])$"
    r"|(?:changelog|changes|history|news|release[-_ ]?notes|readme|license|licence|copying|authors|contributing|notice|todo|faq"
    r"|thanks|credits|install|known[-_]bugs|roadmap|maintainers)(?:[.][^/]*)?$",
    re.IGNORECASE,
)
_HISTORY: Final = lazy.pattern(
    r"(?:^|/)(?:changelogs?|newsfragments|release[-_ ]?notes?|whats?[-_ ]?new)/"
    r"|(?:^|/)(?:changelog|changes|history|news|release[-_ ]?notes?|whats?[-_ ]?new)(?:[-_\d](?:[^/.]|[.]\d)*)?"
    r"(?:[.](?:md|mdx|markdown|rst|txt|html?|xml|ya?ml|json|adoc|asciidoc|org))?$",
    re.IGNORECASE,
)
_DATA_FILE: Final = lazy.pattern(
    r".*[.](?:json|jsonc|json5|ya?ml|toml|xml|ini|cfg|properties|plist|xcscheme|snap|cabal|gemspec|podspec|csproj|sln|gradle)$",
    re.IGNORECASE,
)

DECLARATION_ENDINGS: Final = (".d.ts", ".d.mts", ".d.cts", ".pyi", ".mli", ".hs-boot")
HEADER_ENDINGS: Final = (".h", ".hh", ".hpp", ".hxx")

GENERIC_STEMS: Final = word_set("index main mod init lib package default")
"""File names that say nothing without their directory."""

KNOWN_PATHS: Final = 8_192
"""Paths and directories whose kinds and words are kept, the most recently used: the questions about a tree meet the same ones."""

MAX_RECURSION: Final = 64
"""Directories one in another that are read by recursion; trees can be deeper."""

MAX_WORDS_ABOVE: Final = 256
"""Words kept of the directories above a file's own; without a limit, memory would grow with the square of a tree's depth."""


GENERATED_RANK: Final = 3


class PathRole(Struct, frozen=True):
    """The kind of a file by its path. Several can be true (a vendored test)."""

    is_test: bool = False
    is_example: bool = False
    is_generated: bool = False
    is_vendored: bool = False
    is_prose: bool = False
    is_data: bool = False
    has_declarations: bool = False
    """Declares what other files implement, and nothing else (`.d.ts`, `.pyi`)."""
    is_header: bool = False
    """A header of C or C++, which may also implement."""

    @property
    def rank(self) -> int:
        """The order among equal hits: 0 product code, 1 examples, prose and data, 2 tests, 3 generated, 4 vendored."""
        if self.is_vendored:
            return 4
        if self.is_generated:
            return GENERATED_RANK
        if self.is_test:
            return 2
        return 1 if self.is_example or self.is_prose or self.is_data else 0


PRODUCT_CODE: Final = PathRole()


class PathWords(Struct, frozen=True):
    """The words of a path."""

    stem: tuple[str, ...]
    """Of the file's name without its extension."""
    directory: tuple[str, ...]
    above: tuple[str, ...]
    """Of the directories above `directory`."""
    directory_path: str
    """The path of `directory`."""


@lru_cache(maxsize=KNOWN_PATHS)
def role_of(path: str) -> PathRole:
    """Returns the kind of the file at `path` (relative, `/` separators)."""
    directory, _, name = path.rpartition("/")
    above, own = _directory(directory).role, _role_of_name(name)
    if above == PRODUCT_CODE:
        return own
    return PathRole(
        is_test=above.is_test or own.is_test,
        is_example=above.is_example,
        is_generated=above.is_generated or own.is_generated,
        is_vendored=above.is_vendored,
        is_prose=own.is_prose,
        is_data=own.is_data,
        has_declarations=own.has_declarations,
        is_header=own.is_header,
    )


def role_of_file(path: str, rank: int) -> PathRole:
    """Returns the kind of an indexed file, whose text may say that it is generated: then its rank does."""
    role = role_of(path)
    return role if rank != GENERATED_RANK or role.is_generated else structs.replace(role, is_generated=True)


@lru_cache(maxsize=KNOWN_PATHS)
def words_of(path: str) -> PathWords:
    """Returns the words of a path. The directory's name replaces a generic stem (`index.ts`)."""
    directory, _, name = path.rpartition("/")
    stem = tuple(split_identifier(name.lstrip(".").split(".", 1)[0]))
    if directory and (not stem or GENERIC_STEMS.issuperset(stem)):
        stem = _directory(directory).own
        directory = directory.rpartition("/")[0]
    above = _directory(directory)
    return PathWords(stem, above.own, above.above, directory)


@lru_cache(maxsize=KNOWN_PATHS)
def _role_of_name(name: str) -> PathRole:
    return PathRole(
        is_test=_TEST_FILE.match(name) is not None,
        is_generated=_GENERATED_FILE.match(name) is not None,
        is_prose=_PROSE_FILE.match(name) is not None,
        is_data=_DATA_FILE.match(name) is not None,
        has_declarations=name.endswith(DECLARATION_ENDINGS),
        is_header=name.endswith(HEADER_ENDINGS),
    )


class _Directory(Struct, frozen=True):
    role: PathRole
    own: tuple[str, ...]
    above: tuple[str, ...]


_ROOT: Final = _Directory(PRODUCT_CODE, (), ())


@lru_cache(maxsize=KNOWN_PATHS)
def _directory(path: str) -> _Directory:
    if not path:
        return _ROOT
    if path.count("/") < MAX_RECURSION:
        above, _, name = path.rpartition("/")
        return _in_directory(_directory(above), name)
    known = _ROOT
    for name in path.split("/"):
        known = _in_directory(known, name)
    return known


def _in_directory(above: _Directory, name: str) -> _Directory:
    lower = name.lower()
    role = PathRole(
        is_test=above.role.is_test or _is_test_directory(name),
        is_example=above.role.is_example or lower in EXAMPLE_DIRECTORIES,
        is_generated=above.role.is_generated or lower in GENERATED_DIRECTORIES or lower.endswith(_OUTPUT_DIRECTORY_ENDS),
        is_vendored=above.role.is_vendored or lower in VENDORED_DIRECTORIES,
    )
    return _Directory(role, tuple(split_identifier(name)), (above.above + above.own)[:MAX_WORDS_ABOVE])


def _is_test_directory(segment: str) -> bool:
    lower = segment.lower()
    return (
        lower in TEST_DIRECTORIES
        or lower.endswith(("-test", "-tests", "_test", "_tests", ".test", ".tests", "-testing"))
        or (segment.endswith(("Test", "Tests")) and len(segment) > len("Tests"))
    )


def is_history(path: str) -> bool:
    """Whether a path is that of a changelog, which mentions everything and defines nothing."""
    return _HISTORY.search(path) is not None
