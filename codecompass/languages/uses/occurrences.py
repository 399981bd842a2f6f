"""Finds the uses of names in a file, each with its receiver as far as the text gives it.

    text -> text without comments and strings -> names that are not local variables -> uses by name

The expressions of local variables replace them in receivers.

Resolves nothing: that needs the other files (`query.binding`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Final

from codecompass.languages.records import FUNCTION_LIKE, NameUses, Symbol, Usage, Use
from codecompass.languages.uses.arguments import count_arguments, described, split_arguments
from codecompass.languages.uses.expressions import (
    CALLBACKS,
    FIRST_NAME,
    IMPLICIT_PARAMETER,
    LITERAL,
    MAX_LOOK_BACK,
    MAX_RECEIVER,
    MEMBER,
    UNKNOWN,
    VARIABLE,
    Receivers,
    expression_of,
    named_results,
    parameter_list,
    parameters,
    split_outside_brackets,
    typed,
    with_member,
)
from codecompass.languages.uses.lexical_rules import LEXICAL_RULES, SHELL, Declaration, LexicalRules
from codecompass.languages.uses.narrowing import Narrowing, end_of_block, narrowings
from codecompass.languages.uses.shell_words import WordRole, shell_words
from codecompass.languages.uses.supertypes import supertype_names
from codecompass.languages.words import word_set

MAX_USES_PER_FILE: Final = 200_000
MAX_CONDITIONS: Final = 2_000
"""Conditions of a file that are read for what they say of a type."""

MAX_NARROWINGS: Final = 300
"""Places of a file where something else is known of the values that begin with one name."""


def occurrences(language: str, text: str, symbols: Sequence[Symbol]) -> tuple[NameUses, ...]:
    """Returns the uses of names in `text`, by name; empty for a language without lexical rules. `symbols` are its definitions."""
    lexical_rules = LEXICAL_RULES.get(language)
    if lexical_rules is None:
        return ()
    return _File(lexical_rules, text, symbols).uses()


def described_calls(language: str, text: str, symbols: Sequence[Symbol], name: str) -> tuple[str, ...]:
    """Returns what is known of the arguments (see `arguments.py`) in each use of `name`, in the order in which `occurrences`
    returns its uses; '' where nothing is.

    Only a question about overloads needs them: to read them in every file would take a fifth of the time that the uses take.
    """
    lexical_rules = LEXICAL_RULES.get(language)
    return () if lexical_rules is None else _File(lexical_rules, text, symbols, described=name).descriptions()


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
_CALLS: Final = {
    "go": re.compile(r"\[[^\[\](){}\n]*+(?>(?:\[[^\[\]\n]*+\][^\[\](){}\n]*+)*)\]\("),  # `name[T](`
    "rust": re.compile(r"![ \t]*+[\[{]"),  # a macro
}
"""By family: what follows the name in a call that `_CALL` does not match."""

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

_PACKAGE_LINE: Final = re.compile(r"\n[ \t]*+(?P<what>package|import)[ \t][^\n]*+")
_CASE: Final = re.compile(r"\s*+case ")


class _File:
    """Collects the uses of one file."""

    def __init__(self, lexical_rules: LexicalRules, text: str, symbols: Sequence[Symbol], described: str = "") -> None:
        self._rules = lexical_rules
        self._symbols = symbols
        self._described = described
        """The only name whose uses are read, with what is known of the arguments; '' for all names without that."""
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
        marker = _NAMING_STRINGS.get(lexical_rules.family, "")
        written = f"\n{text}\n" if marker and marker in text else ""
        self._variables = LocalVariables(lexical_rules, self._text, written, self._starts, symbols)
        self._receivers = Receivers(lexical_rules, self._text, written)
        self._cases: tuple[int, bool] = (0, False)
        self._openings: list[tuple[int, int]] = []
        """By use of the described name: where its arguments begin, 0 if it has none, and the function around it."""

    def descriptions(self) -> tuple[str, ...]:
        """Returns what is known of the arguments in each use of the described name."""
        self.uses()
        return tuple(self._arguments(opening, function) if opening else "" for opening, function in self._openings)

    def uses(self) -> tuple[NameUses, ...]:
        lexical_rules, text, starts = self._rules, self._text, self._starts
        keywords, keyword_argument = lexical_rules.keywords, lexical_rules.keyword_argument
        roles, described, has_messages = self._roles, self._described, lexical_rules.has_messages
        end_of_packages = self._end_of_packages()
        special_call = _CALLS.get(lexical_rules.family)
        supertypes = supertype_names(lexical_rules, text, starts, self._symbols)
        defined_on = self._names_defined_by_line()
        turns = self._turns(defined_on)
        next_turn = 0
        is_narrowed = self._variables.is_narrowed
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
            if described and name != described:
                continue
            start = match.start()
            if name in keywords and (text[start - 1] != "." or name == "await" or not self._receivers.is_member(name, start)):
                continue
            if start >= next_turn:
                line = bisect_right(starts, start, line)
                next_turn = starts[turns[bisect_right(turns, line)] - 1]
                defined = defined_on.get(line, [])
                if self._variables.function_of[line] != function:
                    function = self._variables.function_of[line]
                    variables = self._variables.visible(function)
                    receivers = {}
            is_set = False
            if name in defined and start not in supertypes:
                defined.remove(name)
                is_set = text[start - 1] == "." and lexical_rules.family == "ecmascript"
                if not is_set:
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
            if start < end_of_packages and (after == "." or text[start - 1] == ".") and self._is_of_package(start, end):
                continue
            receiver = ""
            if before in ".>:":
                if chained is not None and previous is chained and before == "." and previous.end() == start - 1:
                    expression = chain
                else:
                    expression = self._receivers.before(start, previous)
                if expression:
                    if after == ".":
                        chained, chain = match, with_member(expression, name)
                    receiver = (is_narrowed and self._variables.narrowed(expression, start)) or receivers.get(expression, "")
                    if not receiver:
                        receiver = receivers[expression] = self._variables.substituted(expression, function) or UNKNOWN
            is_message = False
            if has_messages and before in "] )\n\t":
                message = self._receivers.of_message(start, end)
                if message is None:
                    continue
                is_message = message != ""
                receiver = message and (self._variables.expression_at(message, start, function) or UNKNOWN)
            if not receiver and name in variables:
                continue
            if is_set and receiver[:1] != "<":
                continue  # a member that only this statement defines
            line = bisect_right(starts, start, line)
            usage: Usage = "read"
            arity, opening = -1, 0
            may_follow = after not in " \t" or text[end + 1] in _AFTER_BLANK
            if start in supertypes:
                usage = "inherit"
            elif is_message:
                usage = "call"
            elif after == "(" or (not has_messages and after in _BEFORE_CALL and may_follow and _CALL.match(text, end)):
                usage = "call"
                if lexical_rules.has_overloads:
                    opening = text.index("(", end)
                    arity = count_arguments(text, opening, lexical_rules)
                elif receiver and (flat := _FLAT_ARGUMENTS.match(text, end)) is not None:
                    # Only members of unknown receivers are compared by it.
                    arity = flat[1].count(",") + 1 if flat[1].strip() else 0
            elif after in "[!" and special_call is not None and special_call.match(text, end):
                usage = "call"
            elif before == "@":
                usage = "decorate"
            elif before == "<" and lexical_rules.has_markup and name[0].isupper() and text[start - 2] in _BEFORE_TAG:
                usage = "call"
            elif not receiver and after in "=:" and keyword_argument is not None and self._is_key(start, end, line):
                usage = "key"
                receiver = self._receivers.literal_type(start)
            elif after in _BEFORE_WRITE and may_follow and _WRITE.match(text, end):
                usage = "write"
            if described:
                self._openings.append((opening, function))
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

    def _end_of_packages(self) -> int:
        """Returns the index after the last line that names a package and not what is in it; 0 if there is none."""
        if self._rules.family != "jvm":
            return 0
        return max((match.end() for match in _PACKAGE_LINE.finditer(self._text)), default=0)

    def _is_of_package(self, start: int, end: int) -> bool:
        """Whether the name is a part of the name of a package in a declaration of it, or in an import."""
        line = self._text.rfind("\n", max(start - MAX_LOOK_BACK, 0), start)
        found = _PACKAGE_LINE.match(self._text, line) if line >= 0 else None
        return found is not None and (found["what"] == "package" or (self._text[end] == "." and self._text[start].islower()))

    def _arguments(self, opening: int, function: int) -> str:
        """Returns what is known of the arguments of the call whose parenthesis is at `opening`."""
        arguments = split_arguments(self._text, opening, self._rules)
        return described(arguments or (), self._rules, lambda expression: self._variables.substituted(expression, function))

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
_NAMING_STRINGS: Final = {"lua": "require", "python": "cast("}
"""By family: what a text has in which strings name modules or types."""

_WITH_NAMING_STRING: Final = ("require", "pcall(require", "cast(", "typing.cast(", "t.cast(")
_WRAPPED: Final = re.compile(r"(?:Some|Ok)\((?:mut |ref |&)?(\w+)\)")
_FLAT_NAMES: Final = re.compile(r"\s*[\[(]?\s*(?:(?:mut|ref)\s+)?[\w$]+(?:\s*,\s*(?:(?:mut|ref)\s+)?[\w$]+)*\s*,?\s*[\])]?\s*")
_BEFORE_INITIALIZER: Final = re.compile(
    r"\b(?:const|let|var)\s+[\w$]+\s*:\s*(?P<maker>[\w$.]+)<(?P<made>[\w$.]+)>\s*=\s*(?P=maker)\([^()]*,\s*\Z"
)
"""What precedes a function that initializes what a maker makes: `const Job: Maker<Job> = Maker("Job", (job) => ..`."""

_IMPLICIT: Final = {"jvm": IMPLICIT_PARAMETER, "swift": "$0"}
_IMPLICIT_NAME: Final = {"jvm": re.compile(r"it\b(?<=\bit)"), "swift": re.compile(r"\$0")}
_BLOCK_GIVEN: Final = re.compile(r"\.\w++(?:\([^()\n]*+\))?[ \t]*+\{(?!\s*+(?:\(?[\w, :]*+\)?\s*+(?:->|in\b)))")
"""A block without named parameters that is given to a method."""

_PLAIN: Final = str.maketrans("", "", "*& ")
"""Removes what the head of a function says more of a parameter than a declaration does."""

_AFTER_VALUE: Final = frozenset({"", ".", "(", "[", "#"})
_FIELD: Final = re.compile(r"self\.(\w+)")
_OPENS_CALLBACK: Final = ("(", "{", ",", "async", "move", " do")
_BEFORE_CALLBACK: Final = re.compile(
    r"[.:>](?P<method>[\w$]+\??)\s*(?:<[^<>()]*>)?[ \t]*(?:\(\s*(?:async\s+|move\s+)?|(?:\([^()\n]*\))?[ \t]*(?:\{|do)\s*)"
    r"(?:async\s+|move\s+)?\Z"
)
"""What precedes the parameters of a function that is given to a method."""
_NOTHING: Final[Mapping[str, str]] = {}


class LocalVariables:
    """The variables of each function. `text` is without comments and contents of strings; line 1 begins at `starts[0]`.
    `written` is the same text with them if strings of it name modules or types, else empty."""

    def __init__(
        self, lexical_rules: LexicalRules, text: str, written: str, starts: Sequence[int], symbols: Sequence[Symbol]
    ) -> None:
        self._rules = lexical_rules
        self._text = text
        self._written = written
        self._starts = starts
        self._symbols = symbols
        self.function_of: Final = self._functions(len(starts) + 1)
        """By line, 1-based: the index in `symbols` of the innermost function around it, or -1."""
        self._outer = self._outer_functions()
        self._variables: dict[int, dict[str, str]] = {}
        self._fields: dict[tuple[int, str], str] = {}
        """By type and name: the expressions for variables of the instance."""
        self._narrowings: dict[str, list[Narrowing]] = {}
        """By the first name of the value."""
        for each in islice(narrowings(lexical_rules, text), MAX_CONDITIONS):
            self._add(each)
        self._receivers = Receivers(lexical_rules, text, written)
        self._read_parameters()
        self._read_declarations()
        self._read_implicit_parameters()

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
                own = parameters(symbol.signature, symbol.name, self._rules)
                for name, type_ in (*own, *named_results(symbol.signature, symbol.name, self._rules)):
                    known[name] = typed(type_) if type_ else UNKNOWN

    def _read_declarations(self) -> None:
        # `int f(` looks like the declaration of a variable `f`, which would hide the calls of `f` in its own body.
        heads = {(symbol.line_start, symbol.name) for symbol in self._symbols if symbol.kind in FUNCTION_LIKE}
        found = [(match, declaration) for declaration in self._rules.declarations for match in self._declarations(declaration)]
        # In the order of the text, because a value may begin with a variable that is declared before it.
        for match, declaration in sorted(found, key=lambda each: each[0].start()):
            groups = declaration.pattern.groupindex
            if "field" in groups:
                self._read_field(match)
                continue
            group = "parameters" if "parameters" in groups else "names"
            line = bisect_right(self._starts, match.start(group))
            function = self.function_of[line]
            has_type, has_value = "type" in groups, "value" in groups
            if (line, match[group]) in heads:
                continue
            written = list(parameter_list(match[group], self._rules)) if group == "parameters" else []
            if not has_type and not has_value and not (written and written[0][1]):
                first = self._rules.name.search(match[group])
                if first is not None:
                    at = match.start()
                    self._declare_given(at + (self._text[at] == "{"), first[0], function)
            if function < 0:
                self._note_parameters(written, match.end())
                continue
            if group == "parameters":
                known = self._variables.setdefault(function, {})
                for name, type_ in written:
                    known.setdefault(name, typed(type_) if type_ else UNKNOWN)
                continue
            type_ = (match["type"] or "").strip() if has_type else ""
            if type_ and self._text.startswith("[", match.end()) and self._is_array(type_):
                type_ += "[]"
            value = (match["value"] or "") if has_value else ""
            if self._written and value.startswith(_WITH_NAMING_STRING) and (value[0] != "p" or "," in match["names"]):
                value = self._written[match.start("value") : match.end("value")]
            block = value.find("{")
            since = match.start("value") + block if block >= 0 else match.end()
            span = match.start(), match.start() if declaration.is_loop else since
            self._declare(function, match[group], type_, value, span, is_loop=declaration.is_loop)

    def _is_array(self, type_: str) -> bool:
        """Whether what is declared with a type and a bracket after its name is an array."""
        return self._rules.parameters == "type_first" and type_ not in _NO_TYPES

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

    def _read_field(self, match: re.Match[str]) -> None:
        line = bisect_right(self._starts, match.start("field"))
        key = self._owner_of(line), match["field"]
        if self._fields.get(key, UNKNOWN) == UNKNOWN:
            self._fields[key] = self.substituted(expression_of(match["value"], self._rules), self.function_of[line])

    def _owner_of(self, line: int) -> int:
        """Returns the index of the type around the function on a line; -1 if there is none."""
        function = self.function_of[line] if line < len(self.function_of) else -1
        return self._symbols[function].parent if function >= 0 else -1

    def _declare_given(self, at: int, name: str, function: int) -> None:
        """Declares the first parameter of a function whose parameters begin at `at`, if it is given to a method that calls it
        with the elements of a collection: it is `jobs.each{}` in `jobs.each(job => ..)`."""
        before = self._text[max(at - MAX_RECEIVER, 0) : at].rstrip()
        if not before.endswith(_OPENS_CALLBACK) or len(self._narrowings.get(name, ())) >= MAX_NARROWINGS:
            return
        found = _BEFORE_CALLBACK.search(self._text, max(at - MAX_RECEIVER, 0), at)
        if found is None or found["method"] not in CALLBACKS:
            made = _BEFORE_INITIALIZER.search(self._text[max(at - MAX_LOOK_BACK, 0) : at]) if before[-1] == "," else None
            if made is not None:
                self._note(name, typed(made["made"]), at, end_of_block(self._text, at))
            return
        start = found.start("method")
        receiver = self._receivers.before(start, None)
        whole = self.expression_at(receiver, start, function) if receiver else UNKNOWN
        if whole != UNKNOWN and len(whole) < MAX_RECEIVER - len(found["method"]) - 3:
            self._note(name, f"{whole}.{found['method']}{{}}", at, end_of_block(self._text, at))

    def _read_implicit_parameters(self) -> None:
        """Reads what the parameter is that a block does not name: `it` of Kotlin, `$0` of Swift."""
        name = _IMPLICIT.get(self._rules.family, "")
        if not name or _IMPLICIT_NAME[self._rules.family].search(self._text) is None:
            return
        for match in _BLOCK_GIVEN.finditer(self._text):
            line = bisect_right(self._starts, match.start())
            self._declare_given(match.end(), name, self.function_of[line])

    def _note_parameters(self, parameters: Sequence[tuple[str, str]], at: int) -> None:
        """Declares the parameters of a function outside of all named ones, in its body."""
        typed_ones = [(name, type_) for name, type_ in parameters if type_]
        block = self._text.find("{", at, at + MAX_RECEIVER) if typed_ones else -1
        line = self._text.find("\n", at, at + MAX_LOOK_BACK) if typed_ones else -1
        end = end_of_block(self._text, block + 1) if 0 <= block < line else line
        for name, type_ in typed_ones:
            self._note(name, typed(type_), at, end)

    def _note(self, name: str, expression: str, start: int, end: int) -> None:
        self._add(Narrowing(name, expression, start, end))

    def _add(self, narrowing: Narrowing) -> None:
        known = self._narrowings.setdefault(narrowing.value.partition(".")[0], [])
        if len(known) < MAX_NARROWINGS:
            known.append(narrowing)

    def _set(self, name: str, expression: str, at: int, function: int) -> None:
        """Sets what a variable is; of a second declaration it holds from there on."""
        known = self._variables.setdefault(function, {})
        first = known.get(name, UNKNOWN)
        if first == UNKNOWN:
            known[name] = expression
        elif expression != UNKNOWN and expression.translate(_PLAIN) != first.translate(_PLAIN):
            last = min(self._symbols[function].line_end, len(self._starts) - 1)
            self._note(name, expression, at, self._starts[last])

    def _declare(self, function: int, written: str, type_: str, value: str, span: tuple[int, int], *, is_loop: bool) -> None:
        lexical_rules = self._rules
        if lexical_rules.parameters == "type_first" and type_ in _NO_TYPES:  # `return x;`
            return
        if is_loop:
            self._declare_elements(function, written, value, span)
            return
        if written[:1] == "{" and value and lexical_rules.family == "ecmascript":
            self._declare_members(
                function, written, self.expression_at(expression_of(value, lexical_rules), span[0], function), span[1]
            )
            return
        wrapped = _WRAPPED.fullmatch(written) if lexical_rules.family == "rust" else None
        if wrapped is not None:
            written = wrapped[1]
        elif lexical_rules.family == "rust" and written[:1] != "(" and "(" in written:  # `Kind::Job(job)`
            written, type_, value = written[written.find("(") :], "", ""
        names = [
            name
            for name in lexical_rules.name.findall(written)
            if name not in lexical_rules.keywords or name in lexical_rules.soft
        ]
        whole = UNKNOWN
        if type_ and type_ not in ("auto", "var", "val", "let", "const"):
            whole = typed(type_) if type_.lstrip("[]*") != "struct" else LITERAL  # members of a type without a name
        elif value:
            whole = self.expression_at(expression_of(value, lexical_rules), span[0], function)
        for name, expression in zip(names, self._items(written, names, value, whole, span[0], function), strict=True):
            self._set(name, expression, span[1], function)

    def _items(self, written: str, names: Sequence[str], value: str, whole: str, at: int, function: int) -> list[str]:
        """Returns the expression for each of the names that are assigned a value together."""
        if len(names) < 2 and written.lstrip()[:1] not in ("{", "[", "("):
            return [whole] * len(names)
        if _FLAT_NAMES.fullmatch(written) is None:
            return [UNKNOWN] * len(names)
        values = list(split_outside_brackets(value)) if value else []
        if len(values) == len(names) > 1:
            return [self.expression_at(expression_of(each, self._rules), at, function) for each in values]
        if whole == UNKNOWN or len(values) > 1 or len(whole) > MAX_RECEIVER - 3:
            return [UNKNOWN] * len(names)
        if self._rules.family == "go" and not whole.endswith("()"):  # `value, ok := ..`
            return [whole, *[UNKNOWN] * (len(names) - 1)]
        if self._rules.family == "lua" and value.startswith("pcall"):  # `ok, module = pcall(require, ..)`
            return [UNKNOWN, whole, *[UNKNOWN] * (len(names) - 2)]
        return [f"{whole}#{number}" for number in range(len(names))]

    def _declare_elements(self, function: int, written: str, value: str, span: tuple[int, int]) -> None:
        """Declares the variables of a loop over `value`; of two the first is a key or a number."""
        names = [name for name in self._rules.name.findall(written) if name not in self._rules.keywords]
        value = value.strip().removeprefix("await ")
        if value.startswith("enumerate("):
            value = value.removeprefix("enumerate(")
        elif len(names) == 2 and self._rules.family == "python":
            value = value.partition(".items()")[0] if ".items()" in value else ""
        is_known = bool(value) and len(names) < 3
        expression = self.expression_at(expression_of(value, self._rules), span[0], function) if is_known else UNKNOWN
        for name in names:
            is_element = name == names[-1] and expression != UNKNOWN and (len(names) > 1 or self._rules.family != "go")
            self._set(
                name, f"{expression}[]" if is_element and len(expression) < MAX_RECEIVER - 2 else UNKNOWN, span[1], function
            )

    def _declare_members(self, function: int, written: str, expression: str, at: int) -> None:
        """Declares the variables of `{ a, b: c } = expression`."""
        for found in MEMBER.finditer(written):
            name = found["local"] or found["name"]
            self._set(name, with_member(expression, found["name"]) if not found["rest"] else UNKNOWN, at, function)

    def expression_at(self, expression: str, at: int, function: int) -> str:
        """Returns what an expression is at index `at` of the text: with what a condition or a later declaration says about a
        value at its beginning, or else with the variable at its beginning replaced."""
        return self.narrowed(expression, at) or self.substituted(expression, function)

    @property
    def is_narrowed(self) -> bool:
        """Whether `narrowed` returns anything for any expression."""
        return bool(self._narrowings)

    def narrowed(self, expression: str, at: int) -> str:
        """Returns the expression with what holds around index `at` alone about a value at its beginning; '' if nothing does."""
        if not self._narrowings or (first := FIRST_NAME.match(expression)) is None or first[0] not in self._narrowings:
            return ""
        best: Narrowing | None = None
        for each in self._narrowings[first[0]]:
            is_inside = each.start <= at < each.end and expression.startswith(each.value)
            if is_inside and expression[len(each.value) :][:1] in _AFTER_VALUE and (best is None or best.start <= each.start):
                best = each
        if best is None:
            return ""
        whole = best.expression + expression[len(best.value) :]
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN

    def substituted(self, expression: str, function: int) -> str:
        """Returns the expression with a variable of `function` at its beginning replaced by the variable's expression."""
        first = FIRST_NAME.match(expression)
        if first is None:
            return expression
        name = first[0]
        if self._fields and name == "self" and (field := _FIELD.match(expression)) is not None:
            value = self._fields.get((self._symbols[function].parent if function >= 0 else -1, field[1]), UNKNOWN)
            if value != UNKNOWN and not value.startswith("self."):
                whole = value + expression[field.end() :]
                return whole if len(whole) <= MAX_RECEIVER else UNKNOWN
        if name in self._rules.own:
            return ("self" + expression[first.end() :])[:MAX_RECEIVER]
        if name in self._rules.above:
            return ("super" + expression[first.end() :])[:MAX_RECEIVER]
        known = self._known(name, function)
        if known is None:
            return expression
        whole = known + expression[first.end() :]
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN
