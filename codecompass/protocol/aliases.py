"""The names under which models pass arguments that are called otherwise here: those of grep, of editors and of similar tools.

No schema lists them. An answer says in a warning what was taken as what. A name that a tool itself has is never an alias.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from codecompass import lazy

_OF_PATH: Final = (
    "glob globs file_glob path_glob path_pattern file_pattern file_patterns include includes include_pattern include_patterns "
    "file files filename file_name filepath file_path paths target_file relative_path relative_workspace_path uri dir directory "
    "directories folder within"
)
_OF_QUERY: Final = (
    "pattern q search search_query search_term search_text text string question prompt keyword keywords term terms regex regexp "
    "needle grep name symbol symbol_name"
)
_OF_NAME: Final = (
    "name symbol symbol_name symbol_id identifier qualified_name fully_qualified_name function function_name class_name "
    "definition id query q pattern search text location"
)
_OF_LIMIT: Final = (
    "max_results max_count max_matches head_limit num_results n_results result_limit results_limit top_k topk top_n k n "
    "page_size max maximum"
)
_OF_WORKSPACE: Final = (
    "repo repository repo_path repository_path repo_name repo_root repository_root project_name project_path "
    "project_root root root_path root_dir workspace_path workspace_root workspace_dir codebase cwd"
)

_TARGETS: Final = (
    (_OF_PATH, ("path",)),
    (_OF_QUERY, ("query",)),
    (_OF_NAME, ("name", "symbol_name", "symbol")),
    (_OF_LIMIT, ("limit",)),
    (_OF_WORKSPACE, ("repo_path", "workspace")),
    ("branch revision rev git_ref tag commit", ("head", "ref")),
    ("base_ref base_branch from from_ref against compare_to since", ("base", "changed_since")),
    ("head_ref head_branch to to_ref compare", ("head",)),
    ("lang languages programming_language file_type filetype", ("language",)),
    ("kinds symbol_kind symbol_kinds symbol_type node_type", ("kind",)),
    ("type", ("kind", "language")),
    ("roles usage reference_kind reference_type", ("role",)),
    ("skip start_index page_offset", ("offset",)),
    ("offset start_line from_line first_line line begin start", ("line_start",)),
    ("end_line to_line last_line end", ("line_end",)),
    ("line_count num_lines n_lines", ("limit",)),
    ("max_depth levels", ("depth",)),
    ("with_tests tests", ("include_tests",)),
    ("token_budget budget max_token tokens", ("max_tokens",)),
    ("search_mode search_type", ("mode",)),
    ("hierarchy hierarchy_type", ("relation",)),
)


def _targets_by_alias() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for names, targets in _TARGETS:
        for alias in names.split():
            found.setdefault(alias, {}).update(dict.fromkeys(targets))
    return {alias: tuple(targets) for alias, targets in found.items()}


_MEANT: Final = _targets_by_alias()
"""The arguments that each alias may stand for: the first is meant that the tool has and that takes the value."""

MODE_FLAGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("regex", "is_regex", "use_regex", "is_regexp", "regexp"), "regex"),
    **dict.fromkeys(("literal", "is_literal", "fixed_strings", "fixed_string", "exact"), "literal"),
}
"""Flags of other tools for what `mode` says here: `is_regex: true`."""

_WORD_BEGINS: Final = lazy.pattern(r"(?<=[a-z0-9])(?=[A-Z])")


def meant_arguments(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Returns the arguments of a tool, of those `known`, that `name` may stand for, the likeliest first.

    `maxResults` and `max-results` are read like `max_results`.
    """
    arguments = frozenset(known)
    plain = plain_name(name)
    if plain in arguments:
        return (plain,)
    return tuple(each for each in _MEANT.get(plain, ()) if each in arguments)


def plain_name(name: str) -> str:
    """Returns an argument's name as it would be written here: `isRegex` as `is_regex`."""
    return _WORD_BEGINS.sub("_", name).replace("-", "_").lower()
