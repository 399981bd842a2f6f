"""Random calls of every tool: valid, clamped and invalid ones, about names and paths of a project."""

import random
from collections.abc import Sequence

WORDS = ["parse", "index", "symbol", "how are files watched", "def __init__", "async def", "import", "Path", "lock", "“quoted”"]
STRANGE = ["", " ", "\n", "(", "[a-", "ü", "日本", "\x00", "a" * 3000, "../..", "/etc/passwd", "*", "AND OR NOT", '"', "\\", "😀"]
NUMBERS = [1, 2, 5, 10, 100, 101, 0, -1, 10**6, 10**30, "7", "7.0", 3.0, 2.5, "many", None, True, [], {}]
ENUMS = {
    "detail_level": ["location", "signature", "context", "everything", 1],
    "mode": ["auto", "literal", "regex", "fuzzy"],
    "kind": ["fn", "class", "func", "method", "struct", "gadget", ""],
    "language": ["python", "markdown", "rust", "klingon"],
    "ranking_explain_level": ["off", "basic", "full", "loud"],
    "freshness_policy": ["balanced", "best_effort", "sometimes"],
    "depth": ["top", "all", "deep"],
    "direction": ["ancestors", "descendants", "both", "sideways"],
    "scope": ["file", "module", "workspace", "package", "galaxy"],
    "strategy": ["breadth", "depth", "sideways"],
    "compact": [True, False, "true", "perhaps"],
    "ref": ["main", "release", ""],
    "project_id": ["sample", "nobody", "Not A Name", ""],
    "path": ["codecompass/**", "*.py", "docs/*", "!", "**/test_*"],
}
TOOLS = {
    "search_code": ("query", ["detail_level", "mode", "kind", "language", "ranking_explain_level", "freshness_policy", "compact",
                              "ref", "project_id", "path", "limit"]),
    "locate_symbol": ("name", ["detail_level", "kind", "language", "ref", "project_id", "compact", "limit"]),
    "get_file_outline": ("path", ["depth", "language", "ref", "project_id", "limit"]),
    "read_file": ("path", ["ref", "project_id", "limit"]),
    "find_references": ("symbol_name", ["role", "confidence", "limit", "offset", "path", "detail_level"]),
    "get_call_graph": ("symbol_name", ["direction", "depth", "limit", "path"]),
    "get_symbol_hierarchy": ("symbol_name", ["direction", "relation", "path", "ref", "project_id"]),
    "find_related_symbols": ("symbol_name", ["scope", "path", "ref", "project_id", "limit"]),
    "diff_context": ("symbol", ["base", "head", "path", "max_tokens"]),
    "get_code_context": ("query", ["strategy", "language", "ref", "project_id", "max_tokens"]),
    "index_status": ("path", ["ref", "project_id"]),
    "health_check": ("workspace", ["project_id"]),
}  # fmt: skip
REFUSED = [
    ("index_repo", {"force": "perhaps"}),
    ("sync_repo", {"ref": "release"}),
    ("sync_repo", {"workspace": "/nowhere/at/all"}),
    ("index_repository", {"repo_path": "relative"}),
    ("no_such_tool", {"a": 1}),
]
"""Refused calls, mostly of tools that change something."""


def random_calls(seed: int, n_calls: int, *, names: Sequence[str], paths: Sequence[str]) -> list[tuple[str, dict[str, object]]]:
    """Returns (tool, arguments), the same for the same seed and project."""
    rng = random.Random(seed)
    subjects = {"query": [*WORDS, *names], "name": [*names, *STRANGE], "symbol_name": names, "symbol": names}
    subjects |= {"path": paths, "workspace": ["/"]}
    return [_call(rng, subjects) for _ in range(n_calls)]


def _call(rng: random.Random, subjects: dict[str, Sequence[str]]) -> tuple[str, dict[str, object]]:
    if rng.random() < 0.03:
        return rng.choice(REFUSED)
    tool = rng.choice(list(TOOLS))
    main, others = TOOLS[tool]
    arguments: dict[str, object] = {}
    is_optional = tool in ("index_status", "health_check")
    if rng.random() < (0.3 if is_optional else 0.97):
        arguments[main] = rng.choice(STRANGE) if rng.random() < 0.15 else rng.choice(subjects[main])
    for name in others:
        if rng.random() < 0.2:
            arguments[name] = rng.choice(ENUMS.get(name, NUMBERS))
    if rng.random() < 0.05:
        arguments[rng.choice(["limt", "Query", "x", "detail"])] = rng.choice(NUMBERS)
    return tool, arguments
