"""Loads the settings from flags, variables and files, and records the origin of each value.

Each layer is first flattened to dotted keys. Each value is checked separately against the type of its field, so that an
InvalidInput can name the file or variable, the key and what was expected.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.errors import InvalidInput
from codecompass.settings import (
    ENVIRONMENT_PREFIX,
    EXCLUDE,
    INCLUDE,
    LOWERED_KEYS,
    MAX_ITEMS,
    MAX_TEXT_LENGTH,
    NO_SETTING,
    PROJECT_SECTIONS,
    S3_SCHEME,
    SHORT_VARIABLES,
    USER_KEYS,
    Setting,
    Settings,
    known_settings,
    project_file,
    require_utf8,
)
from codecompass.units import KIB

Layer = Literal["flag", "environment", "config file", "project file", "user file", "default"]

MAX_FILE_BYTES: Final = 64 * KIB
"""A larger file is rejected; one that sets every key has 3 kB."""

MAX_KEY_PARTS: Final = 8
MAX_DOTS: Final = 10
"""Dots in a key or the name of a table. Our keys have two parts, and tomllib takes quadratic time in the number of parts."""

MAX_SHOWN: Final = 100
"""Characters of an invalid value or key that an error repeats."""

_NO_KEY: Final = lazy.pattern(r"\"[^\"\n]*+\"|'[^'\n]*+'|[#=][^\n]*+")
"""Matches strings, comments and values: everything but keys."""

RENAMED_SECTIONS: Final = {"search": "query", "logging": "log"}
RENAMED_KEYS: Final = {
    "index.default_limit": "query.default_limit",
    "index.parallelism": "index.workers",
    "debug.ranking_reasons": "query.ranking_explain_level",
}
"""Old names of keys. If a layer has both, the new name counts."""

LEGACY_REASONS: Final = {True: "full", False: "off", "true": "full", "false": "off"}


class Sources(Struct, frozen=True, kw_only=True):
    """The sources of settings. All files but `config_file` may be missing."""

    environment: Mapping[str, str]
    flags: Mapping[str, object] = {}
    """By dotted keys."""
    config_file: Path | None = None
    project_root: Path | None = None
    user_file: Path | None = None


class EffectiveValue(Struct, frozen=True):
    """The value of one key and its origin."""

    key: str
    value: object
    layer: Layer
    where: str
    """The file or variable; empty for flags and defaults."""
    unit: str
    description: str


class Loaded(Struct, frozen=True):
    """The loaded settings."""

    settings: Settings
    values: tuple[EffectiveValue, ...]
    """Each value with its origin, in the order of the fields."""
    warnings: tuple[str, ...] = ()
    """Sentences about unknown variables."""
    refused: tuple[str, ...] = ()
    """Sentences about ignored values of the project's own file."""


class _Found(Struct, frozen=True):
    value: object
    layer: Layer
    where: str


def load_settings(sources: Sources) -> Loaded:
    """Returns the settings; `settings.py` documents the precedence of the layers. Raises InvalidInput."""
    known = {setting.key: setting for setting in known_settings()}
    variables, warnings = _from_environment(sources.environment, known)
    layers = [
        {
            key: _Found(_checked(known[key], value, f"the option for {key}", None), "flag", "")
            for key, value in sources.flags.items()
        },
        variables,
        _from_file(sources.config_file, "config file", known, is_required=True),
        _from_file(None if sources.project_root is None else project_file(sources.project_root), "project file", known),
        _from_file(sources.user_file, "user file", known),
    ]
    refused = _hold_to_limits(layers[-2], layers[-1], known)
    values = []
    sections: dict[str, dict[str, object]] = {}
    for setting in known.values():
        found = next((layer[setting.key] for layer in layers if setting.key in layer), None)
        value = setting.default if found is None else found.value
        section, _, name = setting.key.partition(".")
        sections.setdefault(section, {})[name] = value
        layer: Layer = "default" if found is None else found.layer
        where = "" if found is None else found.where
        values.append(EffectiveValue(setting.key, value, layer, where, setting.unit, setting.description))
    return Loaded(msgspec.convert(sections, Settings), tuple(values), warnings, refused)


def _hold_to_limits(project: dict[str, _Found], user: Mapping[str, _Found], known: Mapping[str, Setting]) -> tuple[str, ...]:
    """Removes values from `project` that a project's own file may not set, and returns a sentence about each."""
    refused = list(_put_behind_the_users(project, user))
    for key, found in list(project.items()):
        theirs = user[key].value if key in user else known[key].default
        if key in LOWERED_KEYS and found.value > theirs:  # type: ignore[operator]
            del project[key]
            refused.append(
                f"{found.where}: {key} = {found.value} is not used, {theirs} is: a project's own file may only lower it. Put it "
                "into your user file, or pass --config."
            )
    return tuple(refused)


def _put_behind_the_users(project: dict[str, _Found], user: Mapping[str, _Found]) -> Iterator[str]:
    """Puts the project's patterns before the user's, so that files that the user excludes stay excluded: the last match counts.
    The project's `include` becomes patterns with `!`. Yields a sentence about patterns that do not fit."""
    theirs = user.get(EXCLUDE)
    own = project.get(EXCLUDE) or project.get(INCLUDE)
    if theirs is None or own is None:
        return
    excludes = project[EXCLUDE].value if EXCLUDE in project else ()
    includes = project.pop(INCLUDE).value if INCLUDE in project else ()
    patterns: tuple[str, ...] = (*excludes, *(f"!{pattern}" for pattern in includes))  # type: ignore[misc,attr-defined]
    n_left = MAX_ITEMS - len(theirs.value)  # type: ignore[arg-type]
    if len(patterns) > n_left:
        yield f"{own.where}: only the first {n_left} patterns are used: with yours, {MAX_ITEMS} are the most."
    project[EXCLUDE] = _Found((*patterns[:n_left], *theirs.value), own.layer, own.where)  # type: ignore[misc]


def _from_environment(environment: Mapping[str, str], known: Mapping[str, Setting]) -> tuple[dict[str, _Found], tuple[str, ...]]:
    names = {setting.variable: setting.key for setting in known.values()}
    names |= {ENVIRONMENT_PREFIX + key.replace(".", "_").upper(): key for key in _older_spellings(known)}
    names |= SHORT_VARIABLES
    sections = {key.partition(".")[0] for key in names.values()}
    found: dict[str, _Found] = {}
    warnings = []
    # New names last, so that they overwrite old ones.
    newest = {setting.variable for setting in known.values()}
    for variable, text in sorted(environment.items(), key=lambda item: (item[0] in newest, item[0])):
        is_ours = variable.startswith(ENVIRONMENT_PREFIX) or variable in SHORT_VARIABLES
        if not is_ours or variable in NO_SETTING or not text:
            continue
        if variable in names:
            key, value = _renamed(names[variable], text)
            found[key] = _Found(
                _checked(known[key], value, f"the variable {variable}", None, is_text=True),
                "environment",
                variable,
            )
        elif variable.removeprefix(ENVIRONMENT_PREFIX).partition("_")[0].lower() in sections:
            raise InvalidInput(
                f"the variable {variable} names no existing setting; did you mean {_nearest(variable, names)}?",
                variable=variable,
            )
        else:
            warnings.append(f"the variable {variable} is not known to this program; the nearest is {_nearest(variable, names)}")
    return found, tuple(warnings)


def _from_file(path: Path | None, layer: Layer, known: Mapping[str, Setting], *, is_required: bool = False) -> dict[str, _Found]:
    content = None if path is None else _read(path, is_required=is_required)
    if path is None or content is None:
        return {}
    import tomllib

    try:
        text = content.decode()
        if any(line.count(".") > MAX_DOTS for line in _NO_KEY.sub("", text).split("\n")):
            raise InvalidInput(f"{path} has a key of more than {MAX_DOTS} parts. Correct the file.", file=str(path))
        tables = tomllib.loads(text)
        flat = dict(_flattened(tables))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
        raise InvalidInput(f"{path} is not valid TOML: {_shown(str(error))}. Correct the file.", file=str(path)) from error
    except RecursionError as error:
        raise InvalidInput(f"{path} nests lists or tables too deeply. Correct the file.", file=str(path)) from error
    found: dict[str, _Found] = {}
    # Old names first, so that new ones in the same file overwrite them.
    for spelled in sorted(flat, key=lambda key: key in known):
        key, value = _renamed(spelled, flat[spelled])
        if key not in known:
            meant = _nearest(spelled[:MAX_SHOWN], known)
            raise InvalidInput(
                f"{path}: there is no setting {_shown(spelled)}; did you mean {meant}?",
                file=str(path),
                key=_shown(spelled),
                nearest=meant,
            )
        if layer == "project file" and (key.partition(".")[0] not in PROJECT_SECTIONS or key in USER_KEYS):
            raise InvalidInput(
                f"{path}: a project's own file cannot set {spelled}. Put it into your user file, or pass --config.",
                file=str(path),
                key=spelled,
            )
        found[key] = _Found(_checked(known[key], value, f"{path}: {spelled}", path.parent), layer, str(path))
    return found


def _read(path: Path, *, is_required: bool) -> bytes | None:
    try:
        # O_NONBLOCK, because a cloned project may have a FIFO of this name, whose opening would block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        if is_required:
            raise InvalidInput(f"the configuration file {path} does not exist. Correct --config.", file=str(path)) from error
        return None
    except OSError as error:
        raise InvalidInput(f"the configuration file {path} cannot be read: {error.strerror}.", file=str(path)) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidInput(f"{path} is not a regular file, and no configuration is read from it.", file=str(path))
        content = os.read(descriptor, MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput(
            f"{path} is larger than {MAX_FILE_BYTES // KIB} KiB: that is not a configuration file.", file=str(path)
        )
    return content


def _flattened(tables: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    """Yields dotted keys and values. A table deeper than MAX_KEY_PARTS is yielded as a value."""
    pending: list[tuple[str, object, int]] = [(name, value, 1) for name, value in reversed(list(tables.items()))]
    while pending:
        name, value, n_parts = pending.pop()
        is_section = n_parts == 1 and name in Settings.__struct_fields__
        if isinstance(value, dict) and (value or is_section) and n_parts < MAX_KEY_PARTS:
            pending += [(f"{name}.{key}", inner, n_parts + 1) for key, inner in reversed(value.items())]
        else:
            yield name, value


def _shown(text: str) -> str:
    text = text if text.isprintable() else ascii(text)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def _older_spellings(known: Mapping[str, Setting]) -> list[str]:
    moved = [
        old + "." + key.partition(".")[2]
        for old, new in RENAMED_SECTIONS.items()
        for key in known
        if key.partition(".")[0] == new
    ]
    return moved + list(RENAMED_KEYS)


def _renamed(key: str, value: object) -> tuple[str, object]:
    if key == "debug.ranking_reasons":
        given = value.lower() if isinstance(value, str) else value
        return RENAMED_KEYS[key], LEGACY_REASONS.get(given, value) if isinstance(given, str | bool) else value
    section, dot, name = key.partition(".")
    return RENAMED_KEYS.get(key, RENAMED_SECTIONS.get(section, section) + dot + name), value


def _checked(setting: Setting, value: object, source: str, base: Path | None, *, is_text: bool = False) -> object:
    if is_text and isinstance(value, str) and get_origin(_bare(setting.type)) is tuple:
        separator = os.pathsep if setting.is_path else ","
        value = [part.strip() for part in value.split(separator) if part.strip()]
    try:
        checked: object = msgspec.convert(value, setting.type, strict=not is_text)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"{source} must be {_expectation(setting, error)}, not {_shown(repr(value)[: MAX_SHOWN + 1])}.",
            key=setting.key,
            constraint=_expectation(setting, error),
        ) from error
    if not setting.is_path:
        return checked
    if setting.is_utf8:
        require_utf8(str(checked), source)
    if isinstance(checked, tuple):
        return tuple(_absolute(str(item), base, source) for item in checked)
    return _absolute(str(checked), base, source)


def _expectation(setting: Setting, error: msgspec.ValidationError) -> str:
    allowed = get_args(_bare(setting.type))
    if get_origin(_bare(setting.type)) is Literal:
        return "one of " + ", ".join(map(str, allowed))
    if get_origin(_bare(setting.type)) is tuple:
        bounds = f" (at most {MAX_ITEMS:,}, each of at most {MAX_TEXT_LENGTH:,} characters)"
        return "a list of strings" + (bounds if "length" in str(error) else "")
    expected = str(error).partition("Expected ")[2].partition(", got")[0].replace("`", "")
    words = {"int": "a whole number", "bool": "true or false", "str": "a string"}
    kind, _, rest = expected.partition(" ")
    return (words.get(kind, expected) + (" " + rest if rest and kind in words else "")).strip() or "another value"


def _bare(annotation: object) -> object:
    return getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation


def _absolute(text: str, base: Path | None, source: str) -> str:
    """Returns the absolute path; what is empty or the address of a bucket as it is. `base` is the directory of relative paths,
    None for the current one."""
    if not text or text.startswith(S3_SCHEME):
        return text
    path = Path(text).expanduser()
    if path.is_absolute():
        return str(path)
    try:
        return str(((Path.cwd() if base is None else base) / path).absolute())
    except FileNotFoundError:
        raise InvalidInput(
            f"{source} is the relative path {_shown(text)}, and the current directory does not exist any more. Give an absolute "
            "path, or change to another directory."
        ) from None


def _nearest(word: str, known: Iterable[str]) -> str:
    """Returns the known name that is most similar to `word`, as a whole or in one of its parts."""
    import difflib

    word = word[:MAX_SHOWN]

    def likeness(candidate: str) -> float:
        last, other = word.rpartition(".")[2], candidate.rpartition(".")[2]
        whole = difflib.SequenceMatcher(None, word, candidate).ratio()
        # An unknown table may be a misspelled section.
        section = 0.0 if "." in word else difflib.SequenceMatcher(None, word, candidate.partition(".")[0]).ratio()
        return max(whole, 0.95 * difflib.SequenceMatcher(None, last, other).ratio(), 0.95 * section)

    return max(known, key=likeness)
