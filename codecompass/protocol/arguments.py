"""The arguments of the tools as data, read from the fields of their requests: what decoding, schemas, the command line and the
documentation are made from.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.protocol.requests import MAX_QUERY_LENGTH, MAX_WORD_LENGTH, REQUESTS, AnyRequest, Request

ArgumentType = Literal["text", "choice", "number", "flag"]

TextForm = Literal["any", "filled", "optional", "words", "machine_path", "workspaces", "project_id"]
"""How a text is read. `any`: as it is; `filled`: a blank one is refused; `optional`: a blank one counts as absent; `words`: words
with commas between, or a list of them; `machine_path`: a path of this machine, optional; `workspaces`: such a path, or several
projects (see `named_projects.py`); `project_id`: the name of a project.
"""


class Argument(Struct, frozen=True, kw_only=True):
    """One argument of a tool.

    name, value_type: what it is called and what it holds; a `choice` is one of `values`
    form: how a `text` is read; `words` are checked against `values` where there are any
    max_length: characters that it may have in all, also where it is a number that is written as text
    lowest, highest: the range of a `number`; a value outside is brought into it, unless it is too low and there is `error_below`
    unit: what a `number` counts
    pattern: the regular expression that `tools/list` shows
    is_required, default: the default is that of the configuration where the request leaves it open; None where there is none
    lists_default: whether `tools/list` shows the default, as it does for numbers
    is_listed_as_text: whether `tools/list` leaves out the values of a `choice`
    listed: the few words that `tools/list` has about it; every client pays for them
    meaning: what the documentation says about it
    help: what the help of the command line says about it
    placeholder: what stands for a value there; the last word of the name where it is empty
    error: the class of the error for a value that is not in `values`
    is_common: whether every tool takes it
    """

    name: str
    value_type: ArgumentType
    form: TextForm = "any"
    values: tuple[str, ...] = ()
    max_length: int = MAX_QUERY_LENGTH
    lowest: int = 0
    highest: int = 0
    unit: str = ""
    pattern: str = ""
    is_required: bool = False
    default: str | int | bool | None = None
    lists_default: bool = False
    is_listed_as_text: bool = False
    listed: str = ""
    meaning: str = ""
    help: str = ""
    placeholder: str = ""
    error: type[CodeCompassError] = InvalidInput
    error_below: type[CodeCompassError] | None = None
    is_common: bool = False


_TYPES: Final[Mapping[object, ArgumentType]] = {str: "text", int: "number", bool: "flag"}
_MEMBERS: Final = {"max_length": "max_length", "ge": "lowest", "le": "highest", "pattern": "pattern", "description": "meaning"}
"""What a definition says in the members of its `Meta`, and how that is called here. `Meta.extra` has our own names."""


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
    """Returns what a field holds when it is not None, and what its definition says of it, the outermost last."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (each for each in get_args(annotation) if each is not type(None))
    held, *metas = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return held, [meta for meta in metas if isinstance(meta, Meta)]


def _arguments(request: type[AnyRequest]) -> Mapping[str, Argument]:
    common = set(Request.__struct_fields__)
    found = [_argument(field, is_common=field.name in common) for field in msgspec.structs.fields(request)]
    # A sort keeps the order of those that are alike.
    found.sort(key=lambda argument: (not argument.is_required, not argument.is_common))
    return {argument.name: argument for argument in found}


ARGUMENTS: Final[Mapping[str, Mapping[str, Argument]]] = {tool: _arguments(request) for tool, request in REQUESTS.items()}
"""Of each tool: its arguments by name, in the order in which `tools/list` has them: the required one, those that every tool
takes, the others."""
