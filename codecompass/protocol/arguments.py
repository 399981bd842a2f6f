"""The arguments of the tools as data, derived from the fields of their requests.

Decoding, JSON schemas, the options of the command line and the documentation are made from them.
"""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.protocol.requests import MAX_QUERY_LENGTH, MAX_WORD_LENGTH, REQUESTS, AnyRequest, Request

ArgumentType = Literal["text", "choice", "number", "flag"]

TextForm = Literal["any", "filled", "optional", "words", "machine_path", "workspaces", "project_id"]
"""How a text is read. `any`: unchanged; `filled`: a blank one is refused; `optional`: a blank one counts as absent; `words`:
comma-separated words, or a list of them; `machine_path`: a path on this machine, optional; `workspaces`: such a path, or several
projects (see `decode.several_projects`); `project_id`: the name of a project.
"""


class Argument(Struct, frozen=True, kw_only=True):
    """One argument of a tool."""

    name: str
    value_type: ArgumentType
    """A `choice` is one of `values`."""
    form: TextForm = "any"
    """How a `text` is read. `words` are checked against `values` if there are any."""
    values: tuple[str, ...] = ()
    max_length: int = MAX_QUERY_LENGTH
    """Characters that it may have in all, also if it is a number that is written as text."""
    lowest: int = 0
    """The range of a `number`, with `highest`; a value outside is clamped, unless it is too low and there is `error_below`."""
    highest: int = 0
    unit: str = ""
    """What a `number` counts."""
    pattern: str = ""
    """The regular expression that `tools/list` shows."""
    is_required: bool = False
    default: str | int | bool | None = None
    """The configuration's default if the request has None; None if there is no default."""
    lists_default: bool = False
    """Whether `tools/list` shows the default, as it does for numbers."""
    is_listed_as_text: bool = False
    """Whether `tools/list` omits the values of a `choice`."""
    listed: str = ""
    """The short description in `tools/list`, for which every client pays tokens."""
    meaning: str = ""
    """The description in the documentation."""
    help: str = ""
    """The description in the help of the command line."""
    placeholder: str = ""
    """The placeholder for a value in that help; if empty, the last word of the name."""
    error: type[CodeCompassError] = InvalidInput
    """The class of the error for a value that is not in `values`."""
    error_below: type[CodeCompassError] | None = None
    """The class of the error for a number below `lowest`; None clamps it."""
    is_common: bool = False
    """Whether every tool takes it."""


_TYPES: Final[Mapping[object, ArgumentType]] = {str: "text", int: "number", bool: "flag"}
_MEMBERS: Final = {"max_length": "max_length", "ge": "lowest", "le": "highest", "pattern": "pattern", "description": "meaning"}
"""Members of a field's `Meta`, and the fields of `Argument` that they set. `Meta.extra` uses the names of `Argument`."""


def _argument(field: msgspec.structs.FieldInfo, *, is_common: bool) -> Argument:
    held, metas = _type_and_metas(field.type)
    said: dict[str, Any] = {}
    for meta in metas:
        said |= {ours: value for theirs, ours in _MEMBERS.items() if (value := getattr(meta, theirs)) is not None}
        said |= meta.extra or {}
    held_type = _TYPES.get(held, "choice")
    if held_type == "choice":
        said |= {"values": get_args(held), "max_length": MAX_WORD_LENGTH}
    if field.default is not None and not field.required:
        said["default"] = field.default
    said = {"lists_default": held_type == "number" and "default" in said, **said}
    return Argument(name=field.name, value_type=held_type, is_required=field.required, is_common=is_common, **said)


def _type_and_metas(annotation: object) -> tuple[object, list[Meta]]:
    """Returns the type of a field without None, and its `Meta` annotations, the outermost last."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (each for each in get_args(annotation) if each is not type(None))
    held, *metas = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return held, [meta for meta in metas if isinstance(meta, Meta)]


def _arguments(request: type[AnyRequest]) -> Mapping[str, Argument]:
    common = set(Request.__struct_fields__)
    found = [_argument(field, is_common=field.name in common) for field in msgspec.structs.fields(request)]
    # The sort is stable: within a group, the order of the fields is kept.
    found.sort(key=lambda argument: (not argument.is_required, not argument.is_common))
    return {argument.name: argument for argument in found}


class _OfTools(Mapping[str, Mapping[str, Argument]]):
    """Derives the arguments of a tool when they are first asked for, because a command needs those of one tool."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, Argument]] = {}

    def __getitem__(self, tool: str) -> Mapping[str, Argument]:
        found = self._known.get(tool)
        if found is None:
            found = self._known[tool] = _arguments(REQUESTS[tool])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(REQUESTS)

    def __len__(self) -> int:
        return len(REQUESTS)

    def __contains__(self, tool: object) -> bool:
        return tool in REQUESTS


ARGUMENTS: Final[Mapping[str, Mapping[str, Argument]]] = _OfTools()
"""The arguments of each tool by name, in the order of `tools/list`: the required one, those that every tool takes, the others."""
