"""What a question asks for besides its subject: tests, a guide, a default, an environment variable, an implementation.

"tests for the retry policy" is about the retry policy and wants tests; the word "tests" is in every test and tells none from
another. A role is recognised by typical phrases. Its words weigh little, and it raises the files, kinds of definitions and
lines that have it. Orders ("add tests for ...", the subject of a commit) ask for no role.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.records import SymbolKind
from codecompass.languages.words import word_set
from codecompass.query.words.query_words import WORDS_OF_CHANGE
from codecompass.scan.path_roles import PathRole, is_history

ROLE_WORD: Final = 0.25
"""Weight of a word that only says which role is asked for."""

ASKED_FILE: Final = 2.5
"""Factor for files that have the role asked for, unless the role sets its own; product code has 1."""

ASKED_KIND: Final = 3.0
OTHER_KIND: Final = 0.7
"""Factors for definitions of the kinds asked for, whatever their length, and of other kinds."""

_CLASSES: Final[frozenset[SymbolKind]] = frozenset({"class", "struct", "enum", "trait", "interface", "type"})

_MANIFEST: Final = lazy.pattern(
    r"(?:^|/)(?:package[.]json|cargo[.]toml|pyproject[.]toml|setup[.](?:py|cfg)|requirements[^/]*[.]txt|go[.]mod|pom[.]xml"
    r"|composer[.]json"
    r"|gemfile|mix[.]exs|package[.]swift|podfile|cartfile|build[.]sbt|build[.]zig[.]zon|packages[.]config|dependencies[^/]*"
    r"|[^/]*[.](?:gradle|gradle[.]kts|versions[.]toml|gemspec|cabal|podspec|rockspec|csproj|fsproj|props))$",
    re.IGNORECASE,
)
_CONFIGURATION: Final = lazy.pattern(
    r"config|settings|options|[.](?:conf|ini|cfg|toml|ya?ml|properties)$|(?:^|/)[.][^/]*$", re.IGNORECASE
)
_UPGRADE: Final = lazy.pattern(r"migrat|upgrad|changelog|changes|breaking|release", re.IGNORECASE)


class Role(Struct, frozen=True, kw_only=True):
    """One thing that a question can ask for: the phrases that ask for it, and how it is recognised in files."""

    name: str
    question: re.Pattern[str]
    """Matches questions that ask for this role."""
    words: frozenset[str]
    """Words that only express the role."""
    has: Callable[[str, PathRole], bool] | None = None
    """Whether a file, judged by its path, has the role."""
    factor: float = ASKED_FILE
    """Factor for such files."""
    kinds: frozenset[SymbolKind] = frozenset()
    """Kinds of definitions that have the role."""
    lines: re.Pattern[str] | None = None
    """Matches lines that have the role."""


def _asking(pattern: str) -> re.Pattern[str]:
    return lazy.pattern(pattern, re.IGNORECASE)


ROLES: Final = (
    Role(
        name="tests",
        question=_asking(
            r"\btests? (?:cases? )?(?:for|of|that|covering|which|when)\b|\bwhich tests?\b"
            r"|\bwhere (?:is|are) .*\btest(?:s|ed)\b|\bhow is .* tested\b"
        ),
        words=word_set("test tests tested testing unit integration cover covers covering case cases check checks"),
        has=lambda path, role: role.is_test,
        kinds=frozenset({"test"}),
    ),
    Role(
        name="changelog",
        question=_asking(
            r"\bchange ?logs?\b|\brelease notes?\b|\b(?:in|since) (?:which|what) (?:version|release)\b"
            r"|\bwhich (?:\S+ )?(?:version|release) (?:added|removed|introduced|deprecated|stabili[sz]ed|has|first)\b"
            r"|\bwhen (?:was|were|did) .*\b(?:added|removed|introduced|deprecated|stabili[sz]ed|released)\b"
        ),
        words=word_set(
            "changelog change log release released notes note version entry added removed introduced deprecated which when"
        ),
        has=lambda path, role: is_history(path),
    ),
    Role(
        name="migration",
        question=_asking(
            r"\b(?:upgrad(?:e|ing)|migrat(?:ion|e|ing)) (?:guide|instructions?|notes?|steps?)\b"
            r"|\b(?:upgrad(?:e|ing)|migrat(?:e|ing|ion))\b.*\b(?:from|to) (?:\w+ )?(?:v?\d|version)"
        ),
        words=word_set(
            "upgrade upgrading migrate migrating migration guide instructions instruction notes steps version v1 v2 v3 v4"
        ),
        has=lambda path, role: role.is_prose and _UPGRADE.search(path) is not None,
    ),
    Role(
        name="guide",
        question=_asking(
            r"\b(?:guides?|tutorials?|how-?to|documentation|docs|manual|readme)\b(?: (?:on|to|for|of|about|how|page)\b|:)"
            r"|\bis there (?:a|any) (?:guide|tutorial|documentation)\b|^(?:guides?|tutorials?|documentation|docs)\b"
        ),
        words=word_set("guide guides tutorial tutorials howto documentation docs manual readme there"),
        has=lambda path, role: role.is_prose and not is_history(path),
    ),
    Role(
        name="dependency",
        question=_asking(
            r"\bdepend(?:s|ed)? on\b|\bdependenc(?:y|ies)\b|\bversion (?:of \S+ )?(?:is )?(?:required|pinned|set|needed)\b"
            r"|\b(?:minimum|required|which|what) version of\b|\bwhere is .* version\b"
        ),
        words=word_set(
            "depend depends dependency dependencies version versions minimum required package packages set needed extra"
        ),
        has=lambda path, role: _MANIFEST.search(path) is not None,
    ),
    Role(
        name="configuration",
        question=_asking(
            r"\bconfig(?:uration)? (?:file|option|macro|that|for|of|which)\b|\bconfig(?:uration)?$"
            r"|\bsetting (?:that|for|which|of)\b"
            r"|\bwhere (?:is|are) .*\bconfigured\b"
        ),
        words=word_set("config configuration configured setting settings file"),
        has=lambda path, role: role.is_data or _CONFIGURATION.search(path) is not None,
        factor=1.2,
    ),
    Role(
        name="environment",
        question=_asking(
            r"\benv(?:ironment)? ?var(?:iable)?s?\b|\bsystem propert(?:y|ies)\b|\bwhere is [A-Z][A-Z0-9]*_[A-Z0-9_]+ read\b"
        ),
        words=word_set("environment env variable variables var vars system property properties read"),
        kinds=frozenset({"const", "var"}),
        lines=_asking(
            r"getenv|environ|\benv[.\[:(]|process\.env|lookup_?env|env::var|get_?property|systemprop|environmentvariable|\$_env|get_env"
        ),
    ),
    Role(
        name="option",
        question=_asking(r"\b(?:command[- ]line|cli) (?:options?|flags?|switch|arguments?)\b|(?:^|\s)--\w[\w-]*"),
        words=word_set("command line cli option options flag flags switch argument definition handled parsed defined"),
        lines=_asking(r"[\"'`]--?\w|add_?(?:argument|option)|\boption\(|\.flags?\(|\bflag\b|getopt|arg_?parse"),
    ),
    Role(
        name="default",
        question=_asking(
            r"\bdefault (?:value|of|for|timeout|size|limit|number)\b|\b(?:is|are|what|which) the defaults?\b|\bby default\b"
        ),
        words=word_set("value many much long"),
        lines=_asking(r"default"),
        kinds=frozenset({"const", "var"}),
    ),
    Role(
        name="error",
        question=_asking(
            r"\b(?:which|what) (?:errors?|exceptions?)\b|\b(?:errors?|exceptions?) (?:is |are )?(?:raised|thrown|returned)\b"
            r"|\bwhat (?:does|do) .* (?:raise|throw)\b"
        ),
        words=word_set("error errors exception exceptions raised raise raises thrown throw throws which"),
        lines=_asking(r"\b(?:raise|throws?|panic|abort)\b|error\b|exception\b"),
    ),
    Role(
        name="interface",
        question=_asking(
            r"\b(?:interface|protocol|trait|abstract class|callbacks?)\b.*\b(?:implement|conform)"
            r"|\bimplement\b.*\b(?:interface|protocol|trait)\b"
        ),
        words=word_set("interface protocol trait abstract callback callbacks implement implements must which custom"),
        kinds=frozenset({"interface", "trait", "class", "struct", "type"}),
    ),
    Role(
        name="type",
        question=_asking(
            r"\b(?:type|struct|enum|class|record|union|interface|typedef)s? "
            r"(?:type )?(?:of|for|that|which|describing|with|holding)\b"
            r"|^(?:struct|enum)\b"
        ),
        words=word_set("type types struct enum class record union typedef holds describes describing"),
        kinds=_CLASSES,
    ),
    Role(
        name="implementation",
        question=_asking(
            r"\bimplementation of\b|\bnot the declaration\b|\b(?:how|where) is .*\bimplemented\b|\bimplementation for\b"
        ),
        words=word_set("implementation implemented declaration"),
    ),
)


class AskedRoles(Struct, frozen=True):
    """The roles that a query asks for, in the order of ROLES."""

    roles: Sequence[Role] = ()

    def weight(self, word: str) -> float:
        """Returns the factor for the weight of a lower-case word of the query."""
        return ROLE_WORD if any(word in role.words for role in self.roles) else 1.0

    def file_factor(self, path: str, role: PathRole) -> float | None:
        """Returns the factor for a file that has a role asked for, None for others."""
        factors = [asked.factor for asked in self.roles if asked.has is not None and asked.has(path, role)]
        return max(factors, default=None)

    def kind_factors(self) -> Mapping[SymbolKind, float]:
        """Returns factors for the kinds of definitions asked for, empty if none; all other kinds have OTHER_KIND then."""
        return {kind: ASKED_KIND for role in self.roles for kind in role.kinds}

    def lines(self) -> tuple[re.Pattern[str], ...]:
        """Returns patterns for lines that have a role asked for."""
        return tuple(role.lines for role in self.roles if role.lines is not None)


NOTHING_ASKED: Final = AskedRoles()

_FIRST_WORD: Final = lazy.pattern(r"[^\W_]+(?=[\s:(]|$)")


def asked_roles(query: str) -> AskedRoles:
    """Returns the roles that a query asks for: none if it begins like an order or the subject of a commit."""
    first = _FIRST_WORD.match(query.strip())
    if first is not None and first[0].lower() in WORDS_OF_CHANGE:
        return NOTHING_ASKED
    return AskedRoles(tuple(role for role in ROLES if role.question.search(query) is not None))
