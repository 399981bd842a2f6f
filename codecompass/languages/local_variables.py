"""The variables of the functions in a file, with the expression or type that the text gives for each."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from codecompass.languages.expressions import FIRST_NAME, MAX_RECEIVER, UNKNOWN, expression_of, parameter_list, parameters, typed
from codecompass.languages.language import FUNCTION_LIKE
from codecompass.languages.lexis import Declaration, Lexis, words
from codecompass.languages.records import Symbol

_NO_TYPES: Final = words("return throw new delete else case goto typedef using namespace package import await yield in is as")
_NOTHING: Final[Mapping[str, str]] = {}


class LocalVariables:
    """The variables of each function. `text` is without comments and contents of strings; line 1 begins at `starts[0]`."""

    def __init__(self, lexis: Lexis, text: str, starts: Sequence[int], symbols: Sequence[Symbol]) -> None:
        self._lexis = lexis
        self._text = text
        self._starts = starts
        self._symbols = symbols
        self.function_of: Final = self._functions(len(starts) + 1)
        """By line, 1-based: the index in `symbols` of the innermost function around it, or -1."""
        self._outer = self._outer_functions()
        self._variables: dict[int, dict[str, str]] = {}
        self._read_parameters()
        self._read_declarations()

    def _functions(self, n_lines: int) -> list[int]:
        """Returns the value of `function_of`."""
        function_of = [-1] * (n_lines + 1)
        for index, symbol in enumerate(self._symbols):
            if symbol.kind in FUNCTION_LIKE or symbol.kind == "test":
                first, last = symbol.line_start, min(symbol.line_end, n_lines)
                function_of[first : last + 1] = [index] * (last + 1 - first)
        return function_of

    def _outer_functions(self) -> list[int]:
        outer = [-1] * len(self._symbols)
        for index, symbol in enumerate(self._symbols):
            parent = symbol.parent
            if 0 <= parent < index:
                outer[index] = parent if self._symbols[parent].kind in FUNCTION_LIKE else outer[parent]
        return outer

    def _known(self, name: str, function: int) -> str | None:
        """Returns the expression for a variable of `function` or of an enclosing function; None if there is no such variable."""
        while function >= 0:
            known = self._variables.get(function)
            if known is not None and name in known:
                return known[name]
            function = self._outer[function]
        return None

    def visible(self, function: int) -> Mapping[str, str]:
        """Returns the expressions for the variables of `function` and the enclosing functions, by name; empty for -1."""
        inner = self._variables.get(function, _NOTHING)
        outer = self._outer[function] if function >= 0 else -1
        return inner if outer < 0 else {**self.visible(outer), **inner}

    def _read_parameters(self) -> None:
        for index, symbol in enumerate(self._symbols):
            if symbol.kind in FUNCTION_LIKE and "(" in symbol.signature:
                known = self._variables.setdefault(index, {})
                for name, type_ in parameters(symbol.signature, symbol.name, self._lexis):
                    known[name] = f"<{type_}>" if type_ else UNKNOWN

    def _read_declarations(self) -> None:
        starts, function_of = self._starts, self.function_of
        # `int f(` looks like the declaration of a variable `f`, which would hide the calls of `f` in its own body.
        heads = {(symbol.line_start, symbol.name) for symbol in self._symbols if symbol.kind in FUNCTION_LIKE}
        for declaration in self._lexis.declarations:
            groups = declaration.pattern.groupindex
            group = "parameters" if "parameters" in groups else "names"
            has_type, has_value = "type" in groups, "value" in groups
            for match in self._declarations(declaration):
                line = bisect_right(starts, match.start(group))
                function = function_of[line]
                if function < 0 or (line, match[group]) in heads:
                    continue
                if group == "parameters":
                    known = self._variables.setdefault(function, {})
                    for name, type_ in parameter_list(match[group], self._lexis):
                        known.setdefault(name, f"<{type_}>" if type_ else UNKNOWN)
                    continue
                type_ = (match["type"] or "").strip() if has_type else ""
                value = (match["value"] or "") if has_value else ""
                self._declare(function, match[group], type_, value)

    def _declarations(self, declaration: Declaration) -> Iterator[re.Match[str]]:
        text, mark, pattern = self._text, declaration.mark, declaration.pattern
        if not mark:
            yield from pattern.finditer(text)
            return
        at = text.find(mark)
        while at >= 0:
            end = text.find("\n", at)
            yield from pattern.finditer(text, text.rfind("\n", 0, at) + 1, end)
            at = text.find(mark, end)

    def _declare(self, function: int, written: str, type_: str, value: str) -> None:
        lexis = self._lexis
        if lexis.parameters == "type_first" and type_ in _NO_TYPES:  # `return x;`
            return
        known = self._variables.setdefault(function, {})
        names = [name for name in lexis.name.findall(written) if name not in lexis.keywords]
        for number, name in enumerate(names):
            expression = UNKNOWN
            if number == 0 and written.lstrip()[:1] not in ("{", "[", "("):
                if type_ and type_ not in ("auto", "var", "val", "let", "const"):
                    expression = typed(type_)
                elif value:
                    expression = self.substituted(expression_of(value, lexis), function)
            if known.get(name, UNKNOWN) == UNKNOWN:
                known[name] = expression

    def substituted(self, expression: str, function: int) -> str:
        """Returns the expression with a variable of `function` at its beginning replaced by the variable's expression."""
        first = FIRST_NAME.match(expression)
        if first is None:
            return expression
        name = first[0]
        if name in self._lexis.own:
            return ("self" + expression[first.end() :])[:MAX_RECEIVER]
        if name in self._lexis.above:
            return ("super" + expression[first.end() :])[:MAX_RECEIVER]
        known = self._known(name, function)
        if known is None:
            return expression
        whole = known + expression[first.end() :]
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN
