"""The notes of a release, which are its section of CHANGELOG.md."""

from release.source import ReleaseError


def release_notes(changelog: str, version: str) -> str:
    """Returns the section of a version, without its heading, headings one level up.

    The heading is `## VERSION`, `## [VERSION]`, `## Unreleased (VERSION)`, each also with a date after it. Raises ReleaseError
    if there is no such section, or nothing in it.
    """
    lines = changelog.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("## ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        if version in _versions(lines[start]):
            section = "\n".join(line.removeprefix("#") if line.startswith("###") else line for line in lines[start + 1 : end])
            if section.strip():
                return section.strip() + "\n"
            raise ReleaseError(f"CHANGELOG.md says nothing about {version}")
    raise ReleaseError(f"CHANGELOG.md has no section about {version}")


def _versions(heading: str) -> set[str]:
    return {word.strip("()[]") for word in heading.split()}
