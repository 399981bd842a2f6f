"""Where a file uses names, and what the text says about the thing in front of each: its receiver, as an expression.

    text -> the same without comments and strings -> names that are no variables of a function -> uses by name

Receivers are written in a small language of their own, in which variables are replaced by what was written about them:

    self.pool        a member of the instance          <Session>.pool   x.pool, where x is declared as a Session
    open_it().pool   of what a function returns        ?.pool           of something that the text says nothing about
    pkg.sub          of a module or type, or of a variable of the file

Nothing is resolved here: that needs the other files (`query.binding`). Files are hostile: whatever looks from a name to its
surroundings is bounded in characters, or found once for the whole file.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, islice
from typing import Final

from codecompass.languages.language import CLASS_LIKE, FUNCTION_LIKE
from codecompass.languages.lexis import LEXES, Declaration, Lexis, words
from codecompass.languages.records import NameUses, Symbol, Usage, Use

UNKNOWN: Final = "?"
LITERAL: Final = '""'

MAX_RECEIVER: Final = 120
"""Characters of a receiver; a longer one is UNKNOWN."""

MAX_PIECES: Final = 8
"""Names, calls and subscripts of a receiver."""

MAX_LOOK_BACK: Final = 2_000
"""Characters between two brackets that belong together."""

MAX_HEAD: Final = 2_000
"""Characters of the head of a type."""

MAX_HEAD_NAMES: Final = 100
"""Names and brackets that are read in the head of a type."""

MAX_PARAMETER: Final = 400
"""Characters of one parameter with its type and default; a longer one is not read."""

MAX_USES_PER_FILE: Final = 200_000


def occurrences(language: str, text: str, symbols: Sequence[Symbol]) -> tuple[NameUses, ...]:
    """Returns the uses of names in `text`, by name. `symbols` are the definitions in it. Empty for a language without names."""
    lexis = LEXES.get(language)
    if lexis is None:
        return ()
    return _File(lexis, text, symbols).uses()


def readable(lexis: Lexis, text: str) -> str:
    """Returns `text` with blanks for comments and the insides of strings, equally long and with the same line breaks."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        if lexis.interpolation is not None and match["code"] is not None:
            return _with_code(lexis, found)
        return _blanked(found)

    return lexis.unread.sub(blank, text)


def _blank(text: str) -> str:
    if "\n" not in text:
        return " " * len(text)
    return "\n".join([" " * len(line) for line in text.split("\n")])


def _blanked(text: str) -> str:
    """Returns a comment or a string as blanks, the latter with its quotes."""
    quote = text[0]
    if quote not in "\"'`" or len(text) == 1:
        return _blank(text)
    return quote + _blank(text[1:-1]) + ("\n" if text[-1] == "\n" else quote)


def _with_code(lexis: Lexis, text: str) -> str:
    assert lexis.interpolation is not None
    pieces: list[str] = []
    end = 0
    for match in lexis.interpolation.finditer(text):
        if match.lastindex is None:  # `$name`: the name follows
            name = lexis.name.match(text, match.end())
            start, stop = match.end(), match.end() if name is None else name.end()
        else:
            start, stop = match.span(1)
        pieces += [_blank(text[end:start]), lexis.unread.sub(lambda inner: _blanked(inner[0]), text[start:stop])]
        end = stop
    pieces.append(_blank(text[end:]))
    return "".join(pieces)


_CALL: Final = re.compile(r"!?(?:\s*+(?:::)?<[^<>(){};]*+(?:<[^<>(){};]*+>[^<>(){};]*+)*+>)?[ \t]*+\(")
_FLAT_ARGUMENTS: Final = re.compile(r"!?[ \t]*+\(([^()\[\]{}]*+)\)")
_WRITE: Final = re.compile(r"[ \t]*+(?:[-+*/%&|^]|<<|>>|\?\?|\|\||&&)?=(?![=>~])")
_BEFORE_CALL: Final = frozenset("(!<: \t")
_BEFORE_WRITE: Final = frozenset("=-+*/%&|^<>? \t")
_AFTER_BLANK: Final = frozenset("(<:=-+*/%&|^>? \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029")
"""What stands behind a name and a blank where it can be a call or a write."""

_CASE: Final = re.compile(r"\s*+case ")


class _File:
    """One file, as long as its uses are collected."""

    def __init__(self, lexis: Lexis, text: str, symbols: Sequence[Symbol]) -> None:
        self._lexis = lexis
        self._symbols = symbols
        # Patterns of declarations begin with the line end before, and every name has a character before and behind it.
        self._text = f"\n{readable(lexis, text)}\n"
        self._line_starts = list(accumulate([len(line) + 1 for line in self._text.split("\n")]))
        """Where lines begin, from line 1; then the length of the text and more."""
        self._function_of = self._functions(len(self._line_starts) + 1)
        self._outer = self._outer_functions()
        self._variables: dict[int, dict[str, str]] = {}
        self._openings: dict[str, dict[int, int]] = {}
        self._cases: tuple[int, bool] = (0, False)
        self._braces = _Enclosing(self._text)
        self._read_parameters()
        self._read_declarations()

    def uses(self) -> tuple[NameUses, ...]:
        lexis, text, starts = self._lexis, self._text, self._line_starts
        keywords = lexis.keywords
        supertypes = self._supertypes()
        defined_on: dict[int, set[str]] = {}
        for symbol in self._symbols:
            # The head of an `impl` names a type that is defined elsewhere.
            if symbol.kind not in ("impl", "use"):
                defined_on.setdefault(symbol.line_start, set()).add(symbol.name)
        nothing: set[str] = set()
        found: dict[str, list[Use]] = {}
        line, next_start, n_found = 0, 0, 0
        function = -1
        scopes: tuple[dict[str, str], ...] = ()
        receivers: dict[str, str] = {}
        defined = nothing
        previous, previous_start, end = "", 0, 0
        name = ""
        start = 0
        for match in lexis.name.finditer(text):
            previous, previous_start, previous_end = name, start, end
            name = match[0]
            start, end = match.span()
            if name in keywords:
                continue
            if start >= next_start:
                line = bisect_right(starts, start, line)
                next_start = starts[line]
                defined = defined_on.get(line, nothing)
                if self._function_of[line] != function:
                    function = self._function_of[line]
                    scopes = self._scopes(function)
                    receivers = {}
            if name in defined and start not in supertypes:
                defined.discard(name)
                continue
            before = text[start - 1]
            if before == "\n" and lexis.defines_at_line_start:
                continue
            receiver = ""
            if before in ".>:":
                if (
                    before == "."
                    and previous_end == start - 1
                    and text[previous_start - 1] in _BEFORE_PLAIN
                    and previous.isidentifier()
                    and len(previous) <= MAX_RECEIVER
                ):  # `previous.name`: what `_expression_before` would find, sooner
                    expression = previous if previous not in keywords or self._is_receiver(previous) else UNKNOWN
                else:
                    operator = self._operator(start)
                    expression = self._expression_before(operator) if operator >= 0 else ""
                if expression:
                    known = receivers.get(expression)
                    if known is None:
                        known = receivers[expression] = self._substituted(expression, line) or UNKNOWN
                    receiver = known
            if not receiver and scopes:
                for scope in scopes:
                    if name in scope:
                        break
                else:
                    scope = None
                if scope is not None:
                    continue
            usage: Usage = "read"
            arity = -1
            after = text[end]
            may_follow = after not in " \t" or text[end + 1] in _AFTER_BLANK
            if start in supertypes:
                usage = "inherit"
            elif after == "(" or (after in _BEFORE_CALL and may_follow and _CALL.match(text, end)):
                usage = "call"
                flat = _FLAT_ARGUMENTS.match(text, end)
                if flat is not None:
                    arity = flat[1].count(",") + 1 if flat[1].strip() else 0
            elif before == "@":
                usage = "decorate"
            elif not receiver and after in "=:" and self._is_key(start, end, line):
                usage = "key"
                receiver = self._literal_type(start) if lexis.family in _TYPED_LITERALS else ""
            elif after in _BEFORE_WRITE and may_follow and _WRITE.match(text, end):
                usage = "write"
            use = Use(line, usage, receiver, arity)
            uses = found.get(name)
            if uses is None:
                found[name] = [use]
            else:
                uses.append(use)
            n_found += 1
            if n_found >= MAX_USES_PER_FILE:
                break
        return tuple(NameUses(name, tuple(found[name])) for name in sorted(found))

    # functions and their variables

    def _functions(self, n_lines: int) -> list[int]:
        """Returns for each line the innermost function that it is in, as an index of `symbols`, or -1."""
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

    def _variable(self, name: str, line: int) -> str | None:
        """Returns what is known of a variable of the functions around `line`; None where it is none."""
        function = self._function_of[line]
        while function >= 0:
            known = self._variables.get(function)
            if known is not None and name in known:
                return known[name]
            function = self._outer[function]
        return None

    def _scopes(self, function: int) -> tuple[dict[str, str], ...]:
        """Returns the variables of a function and of those around it, innermost first."""
        scopes: list[dict[str, str]] = []
        while function >= 0:
            known = self._variables.get(function)
            if known:
                scopes.append(known)
            function = self._outer[function]
        return tuple(scopes)

    def _read_parameters(self) -> None:
        for index, symbol in enumerate(self._symbols):
            if symbol.kind in FUNCTION_LIKE and "(" in symbol.signature:
                known = self._variables.setdefault(index, {})
                for name, type_ in parameters(symbol.signature, symbol.name, self._lexis):
                    known[name] = f"<{type_}>" if type_ else UNKNOWN

    def _read_declarations(self) -> None:
        starts, function_of = self._line_starts, self._function_of
        # `int f(` looks like the declaration of a variable; then a function that calls itself would not.
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
                    for name, type_ in _parameter_list(match[group], self._lexis):
                        known.setdefault(name, f"<{type_}>" if type_ else UNKNOWN)
                    continue
                type_ = (match["type"] or "").strip() if has_type else ""
                value = (match["value"] or "") if has_value else ""
                self._declare(function, line, match[group], type_, value)

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

    def _declare(self, function: int, line: int, written: str, type_: str, value: str) -> None:
        lexis = self._lexis
        if lexis.parameters == "type_first" and type_ in _NO_TYPES:  # `return x;`
            return
        known = self._variables.setdefault(function, {})
        names = [name for name in lexis.name.findall(written) if name not in lexis.keywords]
        for number, name in enumerate(names):
            expression = UNKNOWN
            if number == 0 and written.lstrip()[:1] not in ("{", "[", "("):
                if type_ and type_ not in ("auto", "var", "val", "let", "const"):
                    expression = _typed(type_)
                elif value:
                    expression = self._substituted(expression_of(value, lexis), line)
            if known.get(name, UNKNOWN) == UNKNOWN:
                known[name] = expression

    def _substituted(self, expression: str, line: int) -> str:
        """Returns the expression with what is known of the variable at its beginning."""
        first = _FIRST.match(expression)
        if first is None:
            return expression
        name = first[0]
        if name in self._lexis.own:
            return ("self" + expression[first.end() :])[:MAX_RECEIVER]
        if name in self._lexis.above:
            return ("super" + expression[first.end() :])[:MAX_RECEIVER]
        known = self._variable(name, line)
        if known is None:
            return expression
        whole = known + expression[first.end() :]
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN

    # heads of types

    def _supertypes(self) -> frozenset[int]:
        """Returns where the names of supertypes begin in the text."""
        text, starts, family = self._text, self._line_starts, self._lexis.family
        clause = _BASES.get(family)
        found: set[int] = set()
        heads: set[tuple[int, bool]] = set()
        for symbol in self._symbols:
            is_impl = symbol.kind == "impl"
            if clause is not None and (is_impl or symbol.kind in CLASS_LIKE):
                begin = starts[min(symbol.line_start, len(starts)) - 1]
                limit = begin + MAX_HEAD
                at = begin if is_impl else text.find(symbol.name, begin, limit)
                if at < 0 or (at, is_impl) in heads:
                    continue
                heads.add((at, is_impl))
                head = (_IMPL if is_impl else clause).match(text, at, limit)
                if head is not None:
                    for group in ("bases", "more"):
                        if group in head.re.groupindex and head[group] is not None:
                            found.update(self._names_outside_brackets(*head.span(group)))
            elif family == "go" and symbol.kind == "field":
                written = symbol.signature.lstrip("*").partition("[")[0]
                if written.rpartition(".")[2] == symbol.name:
                    begin = starts[min(symbol.line_start, len(starts)) - 1] + len(written) - len(symbol.name)
                    found.add(text.find(symbol.name, begin, begin + MAX_HEAD))
        return frozenset(found)

    def _names_outside_brackets(self, start: int, end: int) -> list[int]:
        """Returns where names begin between `start` and `end` that stand in no bracket, which may close one that is not there."""
        found: list[int] = []
        text, keywords = self._text, self._lexis.keywords
        depth = 0
        for match in islice(_brackets_and_names(self._lexis.name).finditer(text, start, end), MAX_HEAD_NAMES):
            character = match[0]
            if character in "<[({":
                depth += 1
            elif character in ">])}":
                depth -= character != ">" or text[match.start() - 1] not in "-="
                if depth < 0:  # it began in the parameters of the type
                    depth, found = 0, []
            elif depth == 0 and character not in keywords and text[match.end()] not in ".:\\=":
                found.append(match.start())
        return found

    # receivers

    def _is_key(self, start: int, end: int, line: int) -> bool:
        """Whether a name is that of an argument, or of a member in a literal."""
        text, pattern = self._text, self._lexis.keyword_argument
        if pattern is None or not pattern.match(text, end):
            return False
        at = start - 1
        while text[at] in " \t\r\n" and at > 0:
            at -= 1
        return text[at] in "{,(" and not self._begins_with_case(line)

    def _begins_with_case(self, line: int) -> bool:
        if self._cases[0] != line:
            self._cases = line, _CASE.match(self._text, self._line_starts[line - 1]) is not None
        return self._cases[1]

    def _literal_type(self, start: int) -> str:
        """Returns the type that stands before the bracket around a key, as a receiver; UNKNOWN where there is none."""
        text = self._text
        for at in self._braces.around(start):
            if start - at > MAX_LOOK_BACK:
                break
            found = _LITERAL_HEAD.search(text, max(at - MAX_RECEIVER, 0), at)
            if text[at] != "{":
                return (
                    f"<{found['type']}>" if text[at] == "(" and found is not None and self._lexis.family == "python" else UNKNOWN
                )
            if found is not None:
                name = found["type"].replace("::", ".")
                return f"<{name}>" if name.rpartition(".")[2] not in self._lexis.keywords else UNKNOWN
            if not text[max(at - MAX_RECEIVER, 0) : at].rstrip().endswith(("{", ",")):
                break
        return UNKNOWN

    def _is_receiver(self, keyword: str, is_called: bool = False) -> bool:
        """Whether a keyword can stand before a member, or before a call or subscript whose member is used."""
        lexis = self._lexis
        return keyword in lexis.own or keyword in lexis.above or (keyword in _PATH_ROOTS and not is_called)

    def _operator(self, start: int) -> int:
        """Returns the index of the last character before the member operator that ends at `start`, -1 where there is none."""
        text = self._text
        match text[start - 1]:
            case ".":
                if start > 1 and text[start - 2] == ".":
                    return -1
                return start - 2
            case ">":
                return start - 3 if text[start - 2 : start] == "->" else -1
            case ":":
                if text[start - 2 : start] == "::":
                    return start - 3
                return start - 2 if self._lexis.family == "lua" and text[start - 2 : start - 1].isalnum() else -1
        return -1

    def _expression_before(self, at: int) -> str:
        """Returns the expression whose last character is at `at`, UNKNOWN where it is of another form than a receiver."""
        text, lexis = self._text, self._lexis
        pieces: list[str] = []
        for _ in range(MAX_PIECES):
            while at > 0 and text[at] in " \t\n\r?!&":
                at -= 1
            character = text[at]
            if character in ")]":
                at = self._opening(at) - 1
                if at < 0:
                    return UNKNOWN
                pieces.append("()" if character == ")" else "[]")
                if text[at] == ">":
                    at = self._before_type_arguments(at) or at
                continue
            if character == ">" and not pieces:
                at = self._before_type_arguments(at)
                if not at:
                    return UNKNOWN
                continue
            if character in "\"'`":
                pieces.append(LITERAL)
                break
            stop = at
            while text[at].isalnum() or text[at] in "_$":
                at -= 1
            if at == stop:  # A parenthesis without a name before it holds an expression.
                return UNKNOWN
            name = text[at + 1 : stop + 1]
            if name in lexis.keywords and not self._is_receiver(name, bool(pieces) and pieces[-1] in ("()", "[]")):
                return UNKNOWN
            pieces.append(name)
            if lexis.family == "ruby" and text[at] == "@":
                pieces[-1] = "self." + name
                break
            before = self._operator(at + 1) if text[at] in ".>:" else -1
            if before < 0:
                break
            at = before
        else:
            return UNKNOWN
        whole = ""
        for piece in reversed(pieces):
            whole += piece if not whole or piece in ("()", "[]") else "." + piece
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN

    def _before_type_arguments(self, at: int) -> int:
        """Returns the index before the type arguments that end at `at`, 0 where they do not begin nearby."""
        opened = self._opening(at)
        if opened < 0:
            return 0
        return opened - 3 if self._text[opened - 2 : opened] == "::" else opened - 1

    def _opening(self, at: int) -> int:
        """Returns the index of the bracket that the one at `at` closes, -1 where it is too far away."""
        text = self._text
        closing = text[at]
        opening = _OPENINGS[closing]
        found = text.rfind(opening, max(at - MAX_LOOK_BACK + 1, 0), at)
        if found < 0 or text.find(closing, found, at) < 0:
            return found
        if closing not in self._openings:
            self._openings[closing] = _pairs(text, opening, closing)
        found = self._openings[closing].get(at, -1)
        return found if at - found < MAX_LOOK_BACK else -1


class _Enclosing:
    """The brackets that are open at a place in a text, for places that come in order. Any bracket closes any other."""

    def __init__(self, text: str) -> None:
        self._brackets = _BRACKETS.finditer(text)
        self._next = next(self._brackets, None)
        self._open: list[int] = []

    def around(self, at: int) -> Iterator[int]:
        """Gives the indexes of the brackets that are open before `at`, innermost first."""
        while self._next is not None and self._next.start() < at:
            if self._next[0] in "([{":
                self._open.append(self._next.start())
            elif self._open:
                self._open.pop()
            self._next = next(self._brackets, None)
        return reversed(self._open)


# The heads of thousands of types may overlap: from each place that a pattern tries, only one way on may be long.
_EXTENDS: Final = re.compile(r"[\w$]++(?:\s++|\s*+<.*?\s)(?:extends|implements|with)\b(?P<bases>[^{;]*+)", re.DOTALL)
_AFTER_COLON: Final = re.compile(
    r"\w++(?:\s*+<[^{;()]*?>)?(?:\s++final)?(?:\s*+\([^{;]*?\))?\s*+:(?!:)(?P<bases>[^{;\n]*(?:[,:]\s*\n[^{;\n]*)*)"
)
_BASES: Final = {
    "c": _AFTER_COLON,
    "csharp": _AFTER_COLON,
    "ecmascript": _EXTENDS,
    "jvm": re.compile(f"{_EXTENDS.pattern}|{_AFTER_COLON.pattern.replace('bases', 'more')}", re.DOTALL),
    "php": _EXTENDS,
    "python": re.compile(r"\w++(?:\[[^\]]*+\])?\s*+\((?P<bases>[^()]*+(?:\([^()]*+\)[^()]*+)*+)"),
    "ruby": re.compile(r"[\w:]++\s*+<(?!<)(?P<bases>[^\n;]*+)"),
    "rust": re.compile(r"\w++(?:\s*+<[^{;]*?>)?\s*+:(?!:)(?P<bases>[^{;]*?)(?=\bwhere\b|[{;])"),
    "swift": _AFTER_COLON,
}
"""From the name of a type to the supertypes that its head names, by family."""

_FLAT_PARAMETERS: Final = r"<(?:[^<>{;=-]++|[-=]>?)*+>"
_NESTED_PARAMETERS: Final = rf"<(?:[^<>{{;=-]++|[-=]>?|{_FLAT_PARAMETERS})*+>"
_IMPL: Final = re.compile(
    rf"[ \t]*+(?:unsafe\s++)?impl\b(?:\s*+<(?:[^<>{{;=-]++|[-=]>?|{_NESTED_PARAMETERS})*+>)?+\s++!?(?P<bases>[^{{;]*?)\sfor\s"
)

_TYPED_LITERALS: Final = frozenset({"go", "python", "rust", "zig"})
_LITERAL_HEAD: Final = re.compile(r"(?P<type>[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*)[ \t]?\Z")
_NO_TYPES: Final = words("return throw new delete else case goto typedef using namespace package import await yield in is as")
_PATH_ROOTS: Final = frozenset({"crate", "super", "self", "this", "base", "import"})
_FIRST: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_BEFORE_PLAIN: Final = frozenset(" \t\n\r()[]{},;=+-*/%&|^<~\"'`")
"""What stands before a name that is a whole expression."""

_OPENINGS: Final = {")": "(", "]": "[", ">": "<"}
_BRACKETS: Final = re.compile(r"[()\[\]{}]")


@cache
def _brackets_and_names(name: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(r"[<>\[\](){}]|" + name.pattern)


def _pairs(text: str, opening: str, closing: str) -> dict[int, int]:
    """Returns from the indexes of closing brackets to those of the opening ones."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer(f"[{re.escape(opening + closing)}]", text):
        if match[0] == opening:
            opened.append(match.start())
        elif opened:
            pairs[match.start()] = opened.pop()
    return pairs


def _typed(type_: str) -> str:
    type_ = " ".join(type_.split())
    return f"<{type_}>" if len(type_) < MAX_RECEIVER else UNKNOWN


_PREFIX: Final = re.compile(r"\s*+(?:(?:await|yield|mut|ref|const|try[?!]?|co_await)\b\s*+|[&*]++\s*+)*+(?P<new>new\b\s*+)?")
_PIECE: Final = re.compile(r"(?:\?\.|!\.|&?\.|->|::)\s*+((?:[^\W\d]|\$)[\w$]*+)")
_TYPE_ARGUMENTS: Final = re.compile(r"(?:::)?<[^<>(){};=]*+(?:<[^<>(){};]*+>[^<>(){};]*+)*+>(?=[({:])")
_PARENTHESES: Final = re.compile(r"[()]")
_SQUARE_BRACKETS: Final = re.compile(r"[\[\]]")
_END_OF_EXPRESSION: Final = re.compile(r"\s*+(?:$|[;,:{)]|\?(?!\.)|if\b|or\b|else\b|\?\?|!)")


def expression_of(value: str, lexis: Lexis) -> str:
    """Returns the expression at the beginning of `value`, UNKNOWN where it is of another form than a receiver."""
    prefix = _PREFIX.match(value)
    assert prefix is not None, "it matches nothing too"
    at = prefix.end()
    first = _FIRST.match(value, at)
    if first is None:
        return LITERAL if value[at : at + 1] in ("'", '"', "`") else UNKNOWN
    whole = first[0]
    if whole in lexis.keywords and whole not in lexis.own and whole not in lexis.above:
        return UNKNOWN
    at = first.end()
    is_new = bool(prefix["new"])
    for _ in range(MAX_PIECES):
        arguments = _TYPE_ARGUMENTS.match(value, at)
        if arguments is not None:
            at = arguments.end()
        character = value[at : at + 1]
        if character in ("(", "["):
            if is_new:
                whole, is_new = f"<{whole}>", False
            else:
                whole += "()" if character == "(" else "[]"
            at = _closing(value, at)
            if at < 0:
                return whole
            continue
        if character == "{" and lexis.family in ("go", "rust"):
            return f"<{whole}>"
        if character in ("?", "!") and value[at + 1 : at + 2] not in (".", "?", "=", ":"):
            at += 1
            continue
        piece = _PIECE.match(value, at)
        if piece is None:
            break
        whole += "." + piece[1]
        at = piece.end()
    if is_new:
        return f"<{whole}>"
    if len(whole) > MAX_RECEIVER or not _END_OF_EXPRESSION.match(value, at):
        return UNKNOWN
    return whole


def _closing(text: str, at: int) -> int:
    """Returns the index behind the bracket that closes the one at `at`, -1 where the text ends before."""
    opening = text[at]
    closing = ")" if opening == "(" else "]"
    end = text.find(closing, at)
    if end < 0 or text.find(opening, at + 1, end) < 0:
        return end + 1 or -1
    depth = 0
    for match in (_PARENTHESES if opening == "(" else _SQUARE_BRACKETS).finditer(text, at):
        depth += 1 if match[0] == opening else -1
        if not depth:
            return match.end()
    return -1


def parameters(signature: str, name: str, lexis: Lexis) -> Iterator[tuple[str, str]]:
    """Gives the parameters in a signature with their types as they are written, '' where there is none; a receiver of Go too."""
    if lexis.parameters == "go" and signature.startswith("func ("):
        end = signature.find(")")
        yield from _parameter_list(signature[6:end], lexis)
    at = signature.find(name)
    at = signature.find("(", at + len(name) if at >= 0 else 0)
    if at < 0:
        return
    end = _closing(signature, at)
    yield from _parameter_list(signature[at + 1 : end - 1 if end > 0 else None], lexis)


_NAME_FIRST: Final = re.compile(
    r"\s*+(?:@\w+(?:\([^()]*\))?\s++)*+"
    r"(?:(?:mut|ref|val|var|private|public|protected|readonly|override|inout|vararg|out|const|final|implicit)\s++)*+[*&.]*+"
    r"(?P<label>[\w$']++\s++)?(?P<name>[\w$']++)\??\s*+(?::\s*+(?P<type>[^=]++)|\s*+)(?:=.*)?$"
)
_TYPE_FIRST: Final = re.compile(r"\s*+(?P<type>.*?[\s*&>\])])?\.{0,3}(?P<name>\$?[^\W\d]\w*)\s*+(?:\[[^\]]*\])?\s*+(?:=.*)?$")


def _parameter_list(written: str, lexis: Lexis) -> Iterator[tuple[str, str]]:
    pieces = [piece for piece in _split(written) if len(piece) <= MAX_PARAMETER]
    match lexis.parameters:
        case "go":
            names: list[str] = []
            for piece in pieces:
                words = piece.split(None, 1)
                if not words:
                    continue
                names.append(words[0])
                if len(words) == 2:
                    yield from ((name, words[1].removeprefix("...")) for name in names)
                    names = []
        case "type_first":
            for piece in pieces:
                found = _TYPE_FIRST.match(piece)
                if found is not None and found["name"] not in lexis.keywords:
                    type_ = _MODIFIERS.sub("", found["type"] or "").strip()
                    yield found["name"], type_
        case "name_first":
            for piece in pieces:
                if piece.lstrip()[:1] in ("{", "["):  # taken apart: names, and no types that could be told
                    written_names = piece[: max(piece.rfind("}"), piece.rfind("]")) + 1] if ":" in piece else piece
                    yield from ((name, "") for name in lexis.name.findall(written_names))
                    continue
                found = _NAME_FIRST.match(piece)
                if found is not None:
                    yield found["name"], (found["type"] or "").strip()


_MODIFIERS: Final = re.compile(
    r"\b(?:final|const|volatile|struct|enum|union|register|static|ref|out|in|params|this|readonly)\b\s*|@\w+\s*"
)


_ANY_BRACKET: Final = frozenset("([{<>}])")


def _split(written: str) -> Iterator[str]:
    """Gives the parts between commas that stand in no bracket."""
    if _ANY_BRACKET.isdisjoint(written):
        pieces = written.split(",")
        yield from pieces if pieces[-1].strip() else pieces[:-1]
        return
    depth, start = 0, 0
    for index, character in enumerate(written):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and written[index - 1 : index] not in ("-", "=")):
            depth -= 1
        elif character == "," and depth <= 0:
            yield written[start:index]
            start = index + 1
    if written[start:].strip():
        yield written[start:]
