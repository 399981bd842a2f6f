"""How the qualified name of a definition changes when its file moves."""

from codecompass.languages import described


def moved_name(language: str, old_path: str, new_path: str, qualified_name: str) -> str | None:
    """Returns the qualified name of a definition after its file moved from `old_path` to `new_path`.

    None if the names alone do not determine it.
    """
    traits = described(language)
    old, new = (traits.separator.join(traits.path_module(path)) for path in (old_path, new_path))
    if old == new:
        return qualified_name
    if not old or not new or not qualified_name.startswith(old + traits.separator):
        return None
    return new + qualified_name[len(old) :]
