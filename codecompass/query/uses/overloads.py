"""Which of several functions of one name a call means, by the number of its arguments and by what is known of their types.

A compiler knows all types; here an argument of unknown type fits any parameter, so that several overloads may remain.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages import described
from codecompass.languages.records import FUNCTION_LIKE, Use
from codecompass.languages.uses.arguments import LITERALS, SEPARATOR
from codecompass.languages.uses.lexical_rules import LexicalRules, known_rules, lexical_rules
from codecompass.languages.uses.parameters import parameter_pieces
from codecompass.languages.words import word_set
from codecompass.query.uses.definitions import entity
from codecompass.query.uses.extension_functions import has_receiver_parameter
from codecompass.store.rows import SymbolRow

EXACT: Final = 4.0
SPECIFIC: Final = 2.0
FITS: Final = 1.0
NO: Final = 0.0
"""How well an argument fits a parameter; widened numbers are between SPECIFIC and EXACT."""

UNKNOWN_TYPE: Final = ""
VARIADIC_COST: Final = 0.5

TypeOf = Callable[[str], str]
"""Returns the written type of an expression, '' if nothing says it."""


class _Parameter(Struct, frozen=True):
    type: str
    """Without modifiers, blanks, qualifiers and type arguments; with `[]` for each dimension of an array."""
    has_default: bool
    is_variadic: bool


class Overloads:
    """Tells overloads apart, for one question. Not thread-safe."""

    def __init__(self) -> None:
        self._parameters: dict[int, tuple[_Parameter, ...] | None] = {}

    def key(self, row: SymbolRow) -> tuple[object, ...]:
        """Returns what a function has in common with its declaration and not with its overloads."""
        rules = lexical_rules(row.language)
        parameters = self._of(row) if rules is not None and rules.has_overloads else None
        is_function = row.kind in FUNCTION_LIKE and described(row.language).calls.fields_share_names
        return entity(row), is_function, None if parameters is None else tuple(each.type for each in parameters)

    def fitting(self, rows: Sequence[SymbolRow], use: Use, arguments: Callable[[], str], type_of: TypeOf) -> list[SymbolRow]:
        """Returns those of the definitions that a use may mean; all of them if none fits or too little is known.

        `arguments` returns what is known of the arguments; it is called only if their number does not choose.
        """
        rows = _of_usage(rows, use)
        rules = known_rules(rows[0].language)
        if use.usage != "call" or use.arity < 0 or len(rows) < 2 or not rules.has_overloads:
            return list(rows)
        taking = [row for row in rows if self.takes(row, use.arity)]
        if len(taking) < 2 or not use.arity or not described(rows[0].language).calls.types_choose:
            return taking or list(rows)
        types = _types(arguments(), use.arity, type_of)
        levels: list[tuple[SymbolRow, list[float]]] = []
        for row in taking:
            parameters = self._of(row)
            fit = [] if parameters is None else _fit(parameters, types, row)
            if fit is not None:
                levels.append((row, fit))
        known = [at for at, type_ in enumerate(types) if type_ != UNKNOWN_TYPE]
        best = [
            row
            for row, own in levels
            if not any(self._is_better(other, theirs, row, own, known) for other, theirs in levels if other is not row)
        ]
        return best or list(rows)

    def _is_better(
        self, other: SymbolRow, theirs: Sequence[float], row: SymbolRow, own: Sequence[float], known: Sequence[int]
    ) -> bool:
        """Whether another overload fits the known arguments better, and the unknown ones alike."""
        if len(theirs) != len(own) or not own:
            return False
        if any(theirs[at] < own[at] for at in known) or not any(theirs[at] > own[at] for at in known):
            return False
        if len(known) == len(own):
            return True
        first, second = self._of(other) or (), self._of(row) or ()
        unknown = set(range(len(own))) - set(known)
        return all(_at(first, at).type == _at(second, at).type for at in unknown)

    def takes(self, row: SymbolRow, arity: int) -> bool:
        """Whether a function may be called with this number of arguments, as far as its signature shows."""
        parameters = self._of(row)
        return parameters is None or _takes(parameters, arity, row)

    def _of(self, row: SymbolRow) -> tuple[_Parameter, ...] | None:
        """Returns the parameters of a function; None if its signature does not show all of them."""
        if row.id not in self._parameters:
            self._parameters[row.id] = _parameters(row)
        return self._parameters[row.id]


def _types(arguments: str, arity: int, type_of: TypeOf) -> list[str]:
    written = arguments.split(SEPARATOR) if arguments else []
    return [_argument_type(each, type_of) for each in written] if len(written) == arity else [UNKNOWN_TYPE] * arity


def _of_usage(rows: Sequence[SymbolRow], use: Use) -> Sequence[SymbolRow]:
    """Returns the functions for a call, else the others, where a function and a variable may have one name."""
    if not described(rows[0].language).calls.fields_share_names or len({row.kind in _VARIABLES for row in rows}) < 2:
        return rows
    wanted = [row for row in rows if (row.kind in _VARIABLES) != (use.usage == "call")]
    return wanted or rows


def _parameters(row: SymbolRow) -> tuple[_Parameter, ...] | None:
    rules = lexical_rules(row.language)
    if row.kind not in FUNCTION_LIKE or rules is None:
        return None
    pieces = parameter_pieces(row.signature, row.name)
    if pieces is None:
        return None
    if pieces == ["void"]:
        return ()
    return tuple(_parameter(piece, rules) for piece in pieces)


_DEFAULT: Final = lazy.pattern(r"(?<![=!<>])=(?![=>])")
_NOISE: Final = lazy.pattern(
    r"@\w+(?:\([^()]*\))?|\b(?:final|const|volatile|struct|enum|class|union|register|static|ref|out|in|params|this|readonly|vararg|"
    r"val|var|private|public|protected|override|noinline|crossinline|inout|implicit|typename|unsigned|signed)\b"
)
_QUALIFIER: Final = lazy.pattern(r"\b\w+(?:::|\.)(?=\w)")
_ARGUMENTS: Final = lazy.pattern(r"<[^<>]*>")
_LAST_WORD: Final = lazy.pattern(r"(?P<rest>.*[\s*&>\]?])(?P<name>[^\W\d]\w*)\s*(?P<array>(?:\[[^\]]*\]\s*)*)\Z", re.DOTALL)


def _parameter(piece: str, rules: LexicalRules) -> _Parameter:
    default = _DEFAULT.search(piece)
    head = piece[: default.start()] if default is not None else piece
    is_variadic = (
        "..." in head or "vararg " in head or "params " in head or (rules.parameters == "name_first" and head.endswith("*"))
    )
    written = head.partition(":")[2] if rules.parameters == "name_first" else _without_name(head, rules)
    type_ = plain_type(written)
    if is_variadic:
        type_ = type_.removesuffix("[]").rstrip("*")
    return _Parameter(type_, has_default=default is not None, is_variadic=is_variadic)


def _without_name(head: str, rules: LexicalRules) -> str:
    text = " ".join(_NOISE.sub(" ", head).replace("...", " ").split())
    found = _LAST_WORD.match(text)
    if found is None or found["name"] in rules.keywords:
        return text
    return found["rest"] + "[]" * found["array"].count("[")


def plain_type(written: str) -> str:
    """Returns a written type without modifiers, qualifiers and type arguments: `final java.util.List<T>[]` gives `List[]`."""
    text = _NOISE.sub(" ", written)
    is_variadic = "..." in text
    while (shorter := _ARGUMENTS.sub("", text)) != text:
        text = shorter
    text = _QUALIFIER.sub("", text.replace("...", ""))
    return re.sub(r"[\s&?!]+", "", text) + "[]" * is_variadic


def _argument_type(written: str, type_of: TypeOf) -> str:
    if written in LITERALS:
        return written
    if written.startswith("<") and written.endswith(">"):
        return plain_type(written[1:-1])
    return plain_type(type_of(written)) if written not in ("?", '""') else UNKNOWN_TYPE


def _fit(parameters: Sequence[_Parameter], types: Sequence[str], row: SymbolRow) -> list[float] | None:
    """Returns how well each argument fits a function that takes as many; None if the call cannot mean it."""
    if has_receiver_parameter(row) and len(types) < len(parameters):
        parameters = parameters[1:]
    levels: list[float] = []
    for at, type_ in enumerate(types):
        parameter = _at(parameters, at)
        level = _level(type_, parameter.type, row)
        if parameter.is_variadic:
            as_array = _level(type_, parameter.type + "[]", row) if len(types) == len(parameters) else NO
            level = max(level - VARIADIC_COST, as_array if type_ not in ("", "n") else NO)
        if level <= NO:
            return None
        levels.append(level)
    return levels


def _takes(parameters: Sequence[_Parameter], count: int, row: SymbolRow) -> bool:
    least = sum(1 for each in parameters if not each.has_default and not each.is_variadic)
    # The receiver of an extension method is an argument, too.
    is_enough = count >= least - has_receiver_parameter(row)
    return is_enough and (count <= len(parameters) or any(each.is_variadic for each in parameters))


def _at(parameters: Sequence[_Parameter], at: int) -> _Parameter:
    return parameters[min(at, len(parameters) - 1)]


def _level(argument: str, parameter: str, row: SymbolRow) -> float:
    """Returns how well an argument of a type, or a literal, fits a parameter of a type."""
    if argument == UNKNOWN_TYPE or not parameter:
        return FITS
    if argument in LITERALS:
        argument = _OF_LITERALS.get(argument, argument)
    argument, parameter = _SAME.get(argument, argument), _SAME.get(parameter, parameter)
    if argument == parameter:
        return EXACT
    if described(row.language).calls.constructors_convert:
        return FITS
    if _is_any(parameter, row):
        return FITS
    if argument == "n":
        return NO if parameter in _NUMBERS or parameter == "boolean" else SPECIFIC
    if argument.endswith("[]") or parameter.endswith("[]"):
        is_array_of_any = parameter.endswith("[]") and _is_any(parameter[:-2], row)
        return FITS if argument.endswith("[]") and is_array_of_any and argument[:-2] not in _NUMBERS else NO
    if argument in _NUMBERS or argument == "boolean":
        return _number_level(argument, parameter)
    if argument == "String":
        return SPECIFIC if parameter in _OF_STRINGS else NO
    if parameter in _NUMBERS or parameter == "boolean":
        return SPECIFIC if _BOXES.get(argument) == parameter else NO
    return FITS


def _number_level(argument: str, parameter: str) -> float:
    if parameter in _WIDENED.get(argument, ()):
        return EXACT - 0.1 * (_WIDENED[argument].index(parameter) + 1) - 0.5
    if _BOXES.get(parameter) == argument:
        return SPECIFIC
    return FITS if parameter in _OF_NUMBERS else NO


def _is_any(parameter: str, row: SymbolRow) -> bool:
    """Whether a type takes every value: the root of all types, or a type parameter."""
    if parameter in _ROOTS or (len(parameter) == 1 and parameter.isupper()):
        return True
    return re.search(rf"<[^()]*\b{re.escape(parameter)}\b[^()]*>[^()]*\(", row.signature) is not None and not parameter.endswith(
        "[]"
    )


_VARIABLES: Final = frozenset({"const", "field", "var"})

_OF_LITERALS: Final = {"s": "String", "b": "boolean", "c": "char", "d": "double", "f": "float", "i": "int", "l": "long"}
_SAME: Final = {
    "string": "String",
    "bool": "boolean",
    "Boolean?": "boolean",
    "Int": "int",
    "object": "Object",
    "Any": "Object",
    "AnyRef": "Object",
    "Char": "char",
    "sbyte": "byte",
}
_ROOTS: Final = word_set("Object dynamic auto")
_NUMBERS: Final = word_set("byte short char int long float double")
_WIDENED: Final = {
    "byte": ("short", "int", "long", "float", "double"),
    "short": ("int", "long", "float", "double"),
    "char": ("int", "long", "float", "double"),
    "int": ("long", "float", "double", "decimal", "uint", "ulong"),
    "long": ("float", "double", "decimal"),
    "float": ("double",),
}
"""By primitive type: those that its values are widened to, the nearest first."""

_BOXES: Final = {
    "Byte": "byte",
    "Short": "short",
    "Character": "char",
    "Integer": "int",
    "Long": "long",
    "Float": "float",
    "Double": "double",
    "Boolean": "boolean",
}
_OF_STRINGS: Final = word_set("CharSequence Comparable Serializable IEnumerable IComparable ReadOnlySpan")
_OF_NUMBERS: Final = word_set("Number Comparable Serializable IComparable IConvertible IFormattable")
