"""The built-in exclusions: generated directories, hidden entries, secrets. Only tables of names and checks against them.

They apply to path components below the workspace root, never to the root itself or above it. A `.codecompassignore` line with
`!` includes any of them again, except `.git`.
"""

from collections.abc import Container
from typing import Final

from codecompass.languages.words import word_set
from codecompass.scan.ignore import Rule

SOURCE: Final = "built-in"

ALWAYS: Final = word_set(
    "node_modules bower_components __pycache__ venv .venv .tox .nox .next .nuxt .svelte-kit .turbo .parcel-cache "
    ".mypy_cache .pytest_cache .ruff_cache .hypothesis .eggs .gradle .terraform .hg .svn .bzr .jj"
)
"""Directories that hold no source, even if tracked: installed packages, caches, other version control."""

UNLESS_TRACKED: Final = word_set("build dist target vendor")
"""Directories that are build output in most projects and source in some: excluded if git tracks nothing in them."""

VISIBLE_HIDDEN: Final = word_set(
    # Continuous integration and hosting.
    ".azure-pipelines .buildkite .circleci .forgejo .gitea .github .gitlab .woodpecker .appveyor.yml .cirrus.yml "
    ".drone.yml .gitlab-ci.yml .gitlab-ci.yaml .readthedocs.yaml .readthedocs.yml .travis.yml .woodpecker.yml "
    # How the project is built, checked and opened.
    ".bazelrc .cargo .clang-format .clang-tidy .codecompassignore .devcontainer .dockerignore .editorconfig "
    ".env.example .env.sample .env.template .gitattributes .gitignore .gitmodules .golangci.yaml .golangci.yml "
    ".goreleaser.yaml .goreleaser.yml .mvn .pre-commit-config.yaml .rubocop.yml .storybook .swiftlint.yml"
)
"""Hidden names that belong to a project's source even if git does not track them."""

_CACHE_MARKERS: Final = {"pyvenv.cfg": "a Python virtual environment", "CACHEDIR.TAG": "marked as a cache"}

_SECRET_NAMES: Final = word_set(
    ".env .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd .dockercfg .git-credentials .vault-token "
    "credentials credentials.json credentials.toml id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk"
)
_SECRET_ENDINGS: Final = word_set(".pem .key .p12 .pfx .p8 .ppk .jks .keystore .kdb .kdbx .tfstate")
_HARMLESS_ENVIRONMENTS: Final = (".example", ".sample", ".template", ".dist")


def is_secret(name: str) -> bool:
    """Whether a file of this name probably holds a password or a private key. Ignores case."""
    lowered = name.lower()
    if lowered in _SECRET_NAMES or lowered[lowered.rfind(".") :] in _SECRET_ENDINGS:
        return True
    return lowered.startswith(".env.") and not lowered.endswith(_HARMLESS_ENVIRONMENTS)


def is_hidden(name: str) -> bool:
    """Whether an untracked entry of this name is excluded because it is hidden."""
    return name.startswith(".") and name not in VISIBLE_HIDDEN


def directory_rule(name: str, *, is_tracked: bool) -> Rule | None:
    """Returns the rule that excludes a directory of this name, or None."""
    if name in ALWAYS or (name in UNLESS_TRACKED and not is_tracked):
        return Rule(SOURCE, 0, name + "/")
    return None


HIDDEN: Final = Rule(SOURCE, 0, ".*")
GIT_DIRECTORY: Final = Rule(SOURCE, 0, ".git")
LINKED_WORKTREE: Final = Rule(SOURCE, 0, "a linked work tree of a repository in this workspace")
BARE_REPOSITORY: Final = Rule(SOURCE, 0, "a bare git repository")


def content_rule(names: Container[str]) -> Rule | None:
    """Returns the rule that excludes an untracked directory because of its content, or None. Excludes virtual environments of
    any name, caches marked by CACHEDIR.TAG and bare repositories."""
    for marker, meaning in _CACHE_MARKERS.items():
        if marker in names:
            return Rule(SOURCE, 0, f"{marker} ({meaning})")
    if "HEAD" in names and "objects" in names and "refs" in names:
        return BARE_REPOSITORY
    return None
