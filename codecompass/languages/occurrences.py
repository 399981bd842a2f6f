"""Finds the uses of names in a file, each with its receiver as far as the text gives it.

    text -> text without comments and strings -> names that are not local variables -> uses by name

The expressions of local variables replace them in receivers.

Resolves nothing: that needs the other files (`query.binding`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from codecompass.languages.arguments import described, split_arguments
from codecompass.languages.expressions import (
    FIRST_NAME,
    MAX_RECEIVER,
    UNKNOWN,
    VARIABLE,
    Receivers,
    expression_of,
    parameter_list,
    parameters,
    typed,
    with_member,
)
from codecompass.languages.lexical_rules import LEXICAL_RULES, SHELL, Declaration, LexicalRules
from codecompass.languages.records import FUNCTION_LIKE, NameUses, Symbol, Usage, Use
from codecompass.languages.shell_words import WordRole, shell_words
from codecompass.languages.supertypes import supertype_names
from codecompass.languages.words import word_set

MAX_USES_PER_FILE: Final = 200_000


def occurrences(language: str, text: str, symbols: Sequence[Symbol]) -> tuple[NameUses, ...]:
    """Returns the uses of names in `text`, by name; empty for a language without lexical rules. `symbols` are its definitions."""
    lexical_rules = LEXICAL_RULES.get(language)
    if lexical_rules is None:
        return ()
    return _File(lexical_rules, text, symbols).uses()


def code_only(lexical_rules: LexicalRules, text: str) -> str:
    """Returns `text` with comments and the contents of strings blanked, equally long and with the same line breaks."""
    if lexical_rules.family == SHELL:
        return shell_words(text).text

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        if lexical_rules.interpolation is not None and match["code"] is not None:
            return _with_code(lexical_rules, found)
        return _blanked(found)

    return lexical_rules.comments_and_strings.sub(blank, text)


def _blank(text: str) -> str:
    if "\n" not in text:
        return " " * len(text)
    return "\n".join([" " * len(line) for line in text.split("\n")])


def _blanked(text: str) -> str:
    """Returns a comment or string blanked; a string keeps its quotes."""
    quote = text[0]
    if quote not in "\"'`" or len(text) == 1:
        return _blank(text)
    return quote + _blank(text[1:-1]) + ("\n" if text[-1] == "\n" else quote)


def _with_code(lexical_rules: LexicalRules, text: str) -> str:
    """Returns a string blanked except for its quotes and the code in it."""
    assert lexical_rules.interpolation is not None
    pieces: list[str] = []
    end = 0
    for match in lexical_rules.interpolation.finditer(text):
        if match.lastindex is None:  # `$name`: the name follows
            name = lexical_rules.name.match(text, match.end())
            start, stop = match.end(), match.end() if name is None else name.end()
        else:
            start, stop = match.span(1)
        pieces += [
            _blank(text[end:start]),
            lexical_rules.comments_and_strings.sub(lambda inner: _blanked(inner[0]), text[start:stop]),
        ]
        end = stop
    pieces.append(_blank(text[end:]))
    whole = "".join(pieces)
    quote = text[0]
    if quote not in "\"'`" or len(text) == 1:
        return whole
    return quote + whole[1:-1] + (quote if text[-1] == quote else whole[-1])


_CALL: Final = re.compile(r"!?(?:\s*+(?:::)?<[^<>(){};]*+(?>(?:<[^<>(){};]*+>[^<>(){};]*+)*)>)?[ \t]*+\(")
_FLAT_ARGUMENTS: Final = re.compile(r"!?[ \t]*+\(([^()\[\]{}]*+)\)")
_WRITE: Final = re.compile(r"[ \t]*+(?:[-+*/%&|^]|<<|>>|\?\?|\|\||&&)?=(?![=>~])")
_BEFORE_CALL: Final = frozenset("(!<: \t")
_BEFORE_WRITE: Final = frozenset("=-+*/%&|^<>? \t")
_AFTER_BLANK: Final = frozenset("(<:=-+*/%&|^>? \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029")
"""What can follow a name and a blank in a call or a write."""

_BEFORE_TAG: Final = frozenset(" \t\r\n(){}[];,:?&|>=")
"""What can precede the `<` of a tag; after a name it compares, or begins arguments of a type."""

_OF_VARIABLES: Final[frozenset[WordRole]] = frozenset({"variable", "assignment"})
_SHELL_USES: Final[Mapping[WordRole, tuple[Usage, str]]] = {
    "command": ("call", ""),
    "argument": ("read", UNKNOWN),
    "variable": ("read", VARIABLE),
    "assignment": ("write", VARIABLE),
}
"""Usage and receiver of the words of a shell script."""

_CASE: Final = re.compile(r"\s*+case ")


class _File:
    """Collects the uses of one file."""

    def __init__(self, lexical_rules: LexicalRules, text: str, symbols: Sequence[Symbol]) -> None:
        self._rules = lexical_rules
        self._symbols = symbols
        # Patterns of declarations begin with the line break before them, and every name needs a character before and after it.
        self._roles: Mapping[int, WordRole] | None = None
        if lexical_rules.family == SHELL:
            words = shell_words(text)
            code, self._roles = words.text, words.roles
        else:
            code = code_only(lexical_rules, text)
        self._text = f"\n{code}\n"
        self._starts = list(accumulate([len(line) + 1 for line in self._text.split("\n")]))
        """Where each line begins, line 1 first; the last item is beyond the end of the text."""
        self._variables = LocalVariables(lexical_rules, self._text, self._starts, symbols)
        self._receivers = Receivers(lexical_rules, self._text)
        self._cases: tuple[int, bool] = (0, False)

    def uses(self) -> tuple[NameUses, ...]:
        lexical_rules, text, starts = self._rules, self._text, self._starts
        keywords, keyword_argument = lexical_rules.keywords, lexical_rules.keyword_argument
        roles = self._roles
        supertypes = supertype_names(lexical_rules, text, starts, self._symbols)
        defined_on = self._names_defined_by_line()
        turns = self._turns(defined_on)
        next_turn = 0
        found: dict[str, list[Use]] = {}
        line, n_found = 0, 0
        function = -1
        variables: Mapping[str, str] = {}
        receivers: dict[str, str] = {}
        defined: list[str] = []
        match: re.Match[str] | None = None
        chained: re.Match[str] | None = None
        chain = ""
        """`chained` is a member that another may follow, `chain` the expression that ends with it."""
        for following in lexical_rules.name.finditer(text):
            previous, match = match, following
            name = match[0]
            start = match.start()
            if name in keywords and (name == "await" or not self._receivers.is_member(name, start)):
                continue
            if start >= next_turn:
                line = bisect_right(starts, start, line)
                next_turn = starts[turns[bisect_right(turns, line)] - 1]
                defined = defined_on.get(line, [])
                if self._variables.function_of[line] != function:
                    function = self._variables.function_of[line]
                    variables = self._variables.visible(function)
                    receivers = {}
            if name in defined and start not in supertypes:
                defined.remove(name)
                continue
            if roles is not None:
                role = roles.get(start - 1)
                if role is not None and (role not in _OF_VARIABLES or name not in variables):
                    line = bisect_right(starts, start, line)
                    found.setdefault(name, []).append(Use(line, *_SHELL_USES[role]))
                    n_found += 1
                    if n_found >= MAX_USES_PER_FILE:
                        break
                continue
            before = text[start - 1]
            if before == "\n" and lexical_rules.defines_at_line_start:
                continue
            end = match.end()
            after = text[end]
            receiver = ""
            if before in ".>:":
                if chained is not None and previous is chained and before == "." and previous.end() == start - 1:
                    expression = chain
                else:
                    expression = self._receivers.before(start, previous)
                if expression:
                    if after == ".":
                        chained, chain = match, with_member(expression, name)
                    known = receivers.get(expression)
                    if known is None:
                        known = receivers[expression] = self._variables.substituted(expression, function) or UNKNOWN
                    receiver = known
            if not receiver and name in variables:
                continue
            line = bisect_right(starts, start, line)
            usage: Usage = "read"
            arity, arguments = -1, ""
            may_follow = after not in " \t" or text[end + 1] in _AFTER_BLANK
            if start in supertypes:
                usage = "inherit"
            elif after == "(" or (after in _BEFORE_CALL and may_follow and _CALL.match(text, end)):
                usage = "call"
                if lexical_rules.has_overloads:
                    arity, arguments = self._arguments(text.index("(", end), function)
                elif (flat := _FLAT_ARGUMENTS.match(text, end)) is not None:
                    arity = flat[1].count(",") + 1 if flat[1].strip() else 0
            elif before == "@":
                usage = "decorate"
            elif before == "<" and lexical_rules.has_markup and name[0].isupper() and text[start - 2] in _BEFORE_TAG:
                usage = "call"
            elif not receiver and after in "=:" and keyword_argument is not None and self._is_key(start, end, line):
                usage = "key"
                receiver = self._receivers.literal_type(start)
            elif after in _BEFORE_WRITE and may_follow and _WRITE.match(text, end):
                usage = "write"
            use = Use(line, usage, receiver, arity, arguments)
            uses = found.get(name)
            if uses is None:
                found[name] = [use]
            else:
                uses.append(use)
            n_found += 1
            if n_found >= MAX_USES_PER_FILE:
                break
        return tuple(NameUses(name, tuple(found[name])) for name in sorted(found))

    def _arguments(self, opening: int, function: int) -> tuple[int, str]:
        """Returns the number of arguments of the call whose parenthesis is at `opening`, and what is known of them."""
        arguments = split_arguments(self._text, opening, self._rules)
        if arguments is None:
            return -1, ""
        return len(arguments), described(
            arguments, self._rules, lambda expression: self._variables.substituted(expression, function)
        )

    def _names_defined_by_line(self) -> dict[int, list[str]]:
        defined_on: dict[int, list[str]] = {}
        for symbol in self._symbols:
            # The head of an `impl` names a type that is defined elsewhere.
            if symbol.kind not in ("impl", "use"):
                defined_on.setdefault(symbol.line_start, []).append(symbol.name)
        return defined_on

    def _turns(self, defined_on: Mapping[int, list[str]]) -> list[int]:
        """Returns the lines, ascending, in which the defined names or the innermost function differ from the line before."""
        function_of = self._variables.function_of
        last = len(self._starts)
        turns = {line for line in range(2, last) if function_of[line] != function_of[line - 1]}
        turns.update(line for line in defined_on if line < last)
        turns.update(line + 1 for line in defined_on if line + 1 < last)
        return [*sorted(turns), last]

    def _is_key(self, start: int, end: int, line: int) -> bool:
        """Whether a name is the name of an argument, or of a member in a literal."""
        text, pattern = self._text, self._rules.keyword_argument
        if pattern is None or not pattern.match(text, end):
            return False
        at = start - 1
        while text[at] in " \t\r\n" and at > 0:
            at -= 1
        return text[at] in "{,(" and not self._begins_with_case(line)

    def _begins_with_case(self, line: int) -> bool:
        if self._cases[0] != line:
            self._cases = line, _CASE.match(self._text, self._starts[line - 1]) is not None
        return self._cases[1]


_NO_TYPES: Final = word_set("return throw new delete else case goto typedef using namespace package import await yield in is as")
_WRAPPED: Final = re.compile(r"(?:Some|Ok)\((?:mut |ref )?(\w+)\)")
_MEMBER: Final = re.compile(r"[{,]\s*(?P<rest>\.\.\.)?(?P<name>[\w$]+)(?:\s*:\s*(?P<local>[\w$]+))?\s*(?=[,}=])")
_NOTHING: Final[Mapping[str, str]] = {}


class LocalVariables:
    """The variables of each function. `text` is without comments and contents of strings; line 1 begins at `starts[0]`."""

    def __init__(self, lexical_rules: LexicalRules, text: str, starts: Sequence[int], symbols: Sequence[Symbol]) -> None:
        self._rules = lexical_rules
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
                for name, type_ in parameters(symbol.signature, symbol.name, self._rules):
                    known[name] = f"<{type_}>" if type_ else UNKNOWN

    def _read_declarations(self) -> None:
        starts, function_of = self._starts, self.function_of
        # `int f(` looks like the declaration of a variable `f`, which would hide the calls of `f` in its own body.
        heads = {(symbol.line_start, symbol.name) for symbol in self._symbols if symbol.kind in FUNCTION_LIKE}
        for declaration in self._rules.declarations:
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
                    for name, type_ in parameter_list(match[group], self._rules):
                        known.setdefault(name, f"<{type_}>" if type_ else UNKNOWN)
                    continue
                type_ = (match["type"] or "").strip() if has_type else ""
                value = (match["value"] or "") if has_value else ""
                self._declare(function, match[group], type_, value, is_loop=declaration.is_loop)

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

    def _declare(self, function: int, written: str, type_: str, value: str, *, is_loop: bool) -> None:
        lexical_rules = self._rules
        if lexical_rules.parameters == "type_first" and type_ in _NO_TYPES:  # `return x;`
            return
        known = self._variables.setdefault(function, {})
        if is_loop:
            self._declare_elements(function, written, value)
            return
        if written[:1] == "{" and value and lexical_rules.family == "ecmascript":
            self._declare_members(function, written, self.substituted(expression_of(value, lexical_rules), function))
            return
        wrapped = _WRAPPED.fullmatch(written) if lexical_rules.family == "rust" else None
        if wrapped is not None:
            written = wrapped[1]
        names = [name for name in lexical_rules.name.findall(written) if name not in lexical_rules.keywords]
        for number, name in enumerate(names):
            expression = UNKNOWN
            if number == 0 and written.lstrip()[:1] not in ("{", "[", "("):
                if type_ and type_ not in ("auto", "var", "val", "let", "const"):
                    expression = typed(type_)
                elif value:
                    expression = self.substituted(expression_of(value, lexical_rules), function)
            if known.get(name, UNKNOWN) == UNKNOWN:
                known[name] = expression

    def _declare_elements(self, function: int, written: str, value: str) -> None:
        """Declares the variables of a loop over `value`; of two the first is a key or a number."""
        known = self._variables.setdefault(function, {})
        names = [name for name in self._rules.name.findall(written) if name not in self._rules.keywords]
        value = value.strip().removeprefix("await ")
        if value.startswith("enumerate("):
            value = value.removeprefix("enumerate(")
        elif len(names) == 2 and self._rules.family == "python":
            value = value.partition(".items()")[0] if ".items()" in value else ""
        expression = self.substituted(expression_of(value, self._rules), function) if value and len(names) < 3 else UNKNOWN
        for name in names:
            is_element = name == names[-1] and expression != UNKNOWN and (len(names) > 1 or self._rules.family != "go")
            if known.get(name, UNKNOWN) == UNKNOWN:
                known[name] = f"{expression}[]" if is_element and len(expression) < MAX_RECEIVER - 2 else UNKNOWN

    def _declare_members(self, function: int, written: str, expression: str) -> None:
        """Declares the variables of `{ a, b: c } = expression`."""
        known = self._variables.setdefault(function, {})
        for found in _MEMBER.finditer(written):
            name = found["local"] or found["name"]
            if known.get(name, UNKNOWN) == UNKNOWN:
                known[name] = with_member(expression, found["name"]) if not found["rest"] else UNKNOWN

    def substituted(self, expression: str, function: int) -> str:
        """Returns the expression with a variable of `function` at its beginning replaced by the variable's expression."""
        first = FIRST_NAME.match(expression)
        if first is None:
            return expression
        name = first[0]
        if name in self._rules.own:
            return ("self" + expression[first.end() :])[:MAX_RECEIVER]
        if name in self._rules.above:
            return ("super" + expression[first.end() :])[:MAX_RECEIVER]
        known = self._known(name, function)
        if known is None:
            return expression
        whole = known + expression[first.end() :]
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN
