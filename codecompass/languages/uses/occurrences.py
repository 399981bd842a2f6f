"""Finds the uses of names in a file, each with its receiver as far as the text gives it.

    text -> text without comments and strings -> names that are not local variables -> uses by name

The expressions of local variables replace them in receivers.

Resolves nothing: that needs the other files (`query.binding`).
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from codecompass.languages.records import NameUses, Symbol, Usage, Use
from codecompass.languages.uses.arguments import count_arguments, described, split_arguments
from codecompass.languages.uses.code_only import code_only
from codecompass.languages.uses.expressions import UNKNOWN, VARIABLE, typed, with_member
from codecompass.languages.uses.lexical_rules import LexicalRules, WordRole, lexical_rules
from codecompass.languages.uses.narrowing import Narrowing
from codecompass.languages.uses.receivers import BEFORE_PLAIN, MAX_LOOK_BACK
from codecompass.languages.uses.supertypes import supertype_names
from codecompass.languages.uses.variables import LocalVariables, narrowed

MAX_USES_PER_FILE: Final = 200_000


def occurrences(language: str, text: str, symbols: Sequence[Symbol]) -> tuple[NameUses, ...]:
    """Returns the uses of names in `text`, by name; empty for a language without lexical rules. `symbols` are its definitions."""
    rules = lexical_rules(language)
    if rules is None or (rules.is_skipped is not None and rules.is_skipped(text)):
        return ()
    return _File(rules, text, symbols, _Code(rules, text)).uses()


def occurrences_of(language: str, text: str, symbols: Sequence[Symbol], name: str) -> tuple[Use, ...]:
    """Returns what `occurrences` returns of one name, in a quarter of the time."""
    rules = lexical_rules(language)
    # The name of what serves a route may follow from that of the resource.
    is_served = any(symbol.kind == "route" and name in symbol.signature for symbol in symbols)
    if rules is None or not (is_served or name in text):
        return ()
    code = _Code(rules, text)
    # Words such as `slice` are in the comments of many files that do not use them.
    found = _File(rules, text, symbols, code, only=name).uses() if is_served or name in code.text else ()
    return found[0].uses if found else ()


def described_calls(language: str, text: str, symbols: Sequence[Symbol], name: str) -> tuple[str, ...]:
    """Returns what is known of the arguments (see `arguments.py`) in each use of `name`, in the order in which `occurrences`
    returns its uses; '' where nothing is.

    Only a question about overloads needs them: to read them in every file would take a fifth of the time that the uses take.
    """
    rules = lexical_rules(language)
    return () if rules is None else _File(rules, text, symbols, _Code(rules, text), only=name).descriptions()


_CALL: Final = re.compile(r"!?(?:\s*+(?:::)?<[^<>(){};]*+(?>(?:<[^<>(){};]*+>[^<>(){};]*+)*)>)?[ \t]*+\(")

_FLAT_ARGUMENTS: Final = re.compile(r"!?[ \t]*+\(([^()\[\]{}]*+)\)")
_WRITE: Final = re.compile(r"[ \t]*+(?:[-+*/%&|^]|<<|>>|\?\?|\|\||&&)?=(?![=>~])")
_BEFORE_CALL: Final = frozenset("(!<: \t")
_BEFORE_WRITE: Final = frozenset("=-+*/%&|^<>? \t")
_IN_USAGES: Final = _BEFORE_CALL | _BEFORE_WRITE | frozenset("[:")
"""What can follow a name that is not only read."""

_AFTER_BLANK: Final = frozenset("(<:=-+*/%&|^>? \t\r\n\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029")
"""What can follow a name and a blank in a call or a write."""

_BEFORE_TAG: Final = frozenset(" \t\r\n(){}[];,:?&|>=")
"""What can precede the `<` of a tag; after a name it compares, or begins arguments of a type."""

_BEFORE_SELECTOR: Final = "] )\n\t"

_OF_VARIABLES: Final[frozenset[WordRole]] = frozenset({"variable", "assignment"})
_SHELL_USES: Final[Mapping[WordRole, tuple[Usage, str]]] = {
    "command": ("call", ""),
    "argument": ("read", UNKNOWN),
    "variable": ("read", VARIABLE),
    "assignment": ("write", VARIABLE),
}
"""Usage and receiver of the words of a shell script."""

_CASE: Final = re.compile(r"\s*+case ")
_SERVED: Final = re.compile(r" -> (?:(?P<owner>[\w.:\\]+)(?:\.|#|::))?(?P<name>[^\W\d]\w*[?!]?)$")
"""What serves a route, at the end of its signature (`walk/registrations.py`)."""


class _Code:
    """The text of a file without what cannot use a name, such as comments, and of a shell script the roles of its words."""

    def __init__(self, rules: LexicalRules, text: str) -> None:
        self.roles: Mapping[int, WordRole] | None = None
        if rules.words is not None:
            words = rules.words(text)
            code, self.roles = words.text, words.roles
        else:
            code = code_only(rules, text)
        # Patterns of declarations begin with the line break before them, and every name needs a character before and after it.
        self.text = f"\n{code}\n"


class _File:
    """Collects the uses of one file."""

    def __init__(self, rules: LexicalRules, text: str, symbols: Sequence[Symbol], code: _Code, only: str = "") -> None:
        self._rules = rules
        self._symbols = symbols
        self._only = only
        """The only name whose uses are read, with where their arguments are; '' for all names without that."""
        self._roles = code.roles
        self._text = code.text
        self._starts = list(accumulate([len(line) + 1 for line in self._text.split("\n")]))
        """Where each line begins, line 1 first; the last item is beyond the end of the text."""
        strings = rules.naming_strings
        written = f"\n{text}\n" if strings is not None and strings.mark in text else ""
        lines = self._lines_of(only) if only else None
        self._variables = LocalVariables(rules, self._text, written, self._starts, symbols, lines)
        self._receivers = self._variables.receivers
        self._cases: tuple[int, bool] = (0, False)
        self._openings: list[tuple[int, int]] = []
        """By use of the only name: where its arguments begin, 0 if it has none, and the function around it."""

    def descriptions(self) -> tuple[str, ...]:
        """Returns what is known of the arguments in each use of the only name."""
        self.uses()
        return tuple(self._arguments(opening, function) if opening else "" for opening, function in self._openings)

    def uses(self) -> tuple[NameUses, ...]:
        rules, text, starts = self._rules, self._text, self._starts
        variables_of, receivers_of = self._variables, self._receivers
        keywords, keyword_argument = rules.keywords, rules.keyword_argument
        member_marks, call_marks = rules.member_marks, rules.call_marks
        roles, only, has_messages = self._roles, self._only, rules.has_messages
        end_of_packages, defining = self._end_of_packages(), rules.defining
        special_call, sets_members, defines_at_line_start = rules.special_call, rules.sets_members, rules.defines_at_line_start
        before_calls = frozenset(f"@<{call_marks}")
        supertypes = supertype_names(rules, text, starts, self._symbols)
        defined_on = self._names_defined_by_line()
        turns = self._turns(defined_on)
        next_turn = 0
        is_narrowed = variables_of.is_narrowed
        narrowings: dict[str, tuple[Narrowing, ...]] = {}
        """What is known somewhere of the value at the beginning of an expression."""
        found: defaultdict[str, list[Use]] = defaultdict(list)
        line, end_of_line, n_found = 0, 0, 0
        function = -1
        variables: Mapping[str, str] = {}
        skipped: frozenset[str] = keywords
        """Names that are no uses until `next_turn`, but after a member operator and the like."""
        unskipped = frozenset(f".{member_marks}{_BEFORE_SELECTOR if has_messages else ''}")
        receivers: dict[str, str] = {}
        plain: dict[str, str] = {}
        """The receivers that are a name alone, by name."""
        defined: list[str] = []
        name, start = "", 0
        chained = -1
        """Where a member begins that another may follow; `chain` is the expression that ends with it."""
        chain = ""
        for match in self._names_of(only) if only else rules.name.finditer(text):
            previous, previous_start = name, start
            name = match[0]
            start = match.start()
            before = text[start - 1]
            if name in skipped:
                if start < next_turn and before not in unskipped:
                    continue
                if name in keywords and (before != "." or name == "await" or not receivers_of.is_member(name, start)):
                    continue
            if only and name != only:
                continue
            if start >= next_turn:
                line = bisect_right(starts, start, line)
                end_of_line = starts[line]
                next_turn = starts[turns[bisect_right(turns, line)] - 1]
                defined = defined_on.get(line, [])
                if variables_of.function_of[line] != function:
                    function = variables_of.function_of[line]
                    variables = variables_of.visible(function)
                    receivers = {}
                skipped = keywords if roles is not None or defined else keywords.union(variables)
            is_set = False
            if defined and name in defined and start not in supertypes:
                defined.remove(name)
                is_set = sets_members and before == "."
                if not is_set:
                    continue
            if roles is not None:
                role = roles.get(start - 1)
                if role is not None and (role not in _OF_VARIABLES or name not in variables):
                    line = bisect_right(starts, start, line)
                    found[name].append(Use(line, *_SHELL_USES[role]))
                    n_found += 1
                    if n_found >= MAX_USES_PER_FILE:
                        break
                continue
            if (before == "\n" and defines_at_line_start) or (before == " " and defining and text.endswith(defining, 0, start)):
                continue
            end = match.end()
            after = text[end]
            if start < end_of_packages and (after == "." or before == ".") and self._is_of_package(start, end):
                continue
            receiver = ""
            if before in member_marks:
                is_adjacent = before == "." and previous_start + len(previous) == start - 1
                if is_adjacent and previous_start == chained:
                    expression = chain
                elif is_adjacent and text[previous_start - 1] in BEFORE_PLAIN:
                    expression = plain.get(previous, "")
                    if not expression:
                        expression = receivers_of.before(start, previous, previous_start)
                        if previous.isidentifier():
                            plain[previous] = expression
                else:
                    expression = receivers_of.before(start, previous, previous_start)
                if expression:
                    if after == ".":
                        chained, chain = start, with_member(expression, name)
                    if is_narrowed:
                        known = narrowings.get(expression)
                        if known is None:
                            known = narrowings[expression] = variables_of.narrowings_of(expression)
                        if known:
                            receiver = narrowed(expression, known, start)
                    if not receiver:
                        receiver = receivers.get(expression, "")
                        if not receiver:
                            receiver = receivers[expression] = variables_of.substituted(expression, function) or UNKNOWN
            is_message = False
            if has_messages and before in _BEFORE_SELECTOR:
                message = receivers_of.of_message(start, end)
                if message is None:
                    continue
                is_message = message != ""
                receiver = message and (variables_of.expression_at(message, start, function) or UNKNOWN)
            if not receiver and name in variables:
                continue
            if is_set and receiver[:1] != "<":
                continue  # a member that only this statement defines
            if start >= end_of_line:
                line = bisect_right(starts, start, line)
                end_of_line = starts[line]
            usage: Usage = "read"
            arity, opening = -1, 0
            if start in supertypes:
                usage = "inherit"
            elif is_message:
                usage = "call"
            elif before in before_calls or (after in _IN_USAGES and (after not in " \t" or text[end + 1] in _AFTER_BLANK)):
                # Most names are between characters that make them neither called nor written.
                may_follow = after not in " \t" or text[end + 1] in _AFTER_BLANK
                if after == "(" or (not has_messages and after in _BEFORE_CALL and may_follow and _CALL.match(text, end)):
                    usage = "call"
                    if rules.has_overloads:
                        opening = text.index("(", end)
                        arity = count_arguments(text, opening, rules)
                    elif receiver and (flat := _FLAT_ARGUMENTS.match(text, end)) is not None:
                        # Only members of unknown receivers are compared by it.
                        arity = flat[1].count(",") + 1 if flat[1].strip() else 0
                elif (after in "[!" and special_call is not None and special_call.match(text, end)) or before in call_marks:
                    usage = "call"
                elif before == "@":
                    usage = "decorate"
                elif before == "<" and rules.has_markup and name[0].isupper() and text[start - 2] in _BEFORE_TAG:
                    usage = "call"
                elif not receiver and after in "=:" and keyword_argument is not None and self._is_key(start, end, line):
                    usage = "key"
                    receiver = receivers_of.literal_type(start)
                elif after in _BEFORE_WRITE and may_follow and _WRITE.match(text, end):
                    usage = "write"
            if only:
                self._openings.append((opening, function))
            found[name].append(Use(line, usage, receiver, arity))
            n_found += 1
            if n_found >= MAX_USES_PER_FILE:
                break
        self._add_handlers(found)
        return tuple(NameUses(name, tuple(found[name])) for name in sorted(found))

    def _add_handlers(self, found: dict[str, list[Use]]) -> None:
        """Adds a call of what serves each route, unless its lines name that themselves."""
        routes = [symbol for symbol in self._symbols if symbol.kind == "route"]
        defined = {(symbol.name, symbol.line_start) for symbol in self._symbols} if routes else set()
        for symbol in routes:
            served = _SERVED.search(symbol.signature)
            if served is None or (self._only and served["name"] != self._only):
                continue
            name, lines = served["name"], range(symbol.line_start, symbol.line_end + 1)
            uses = found.setdefault(name, [])
            call = Use(symbol.line_start, "call", typed(served["owner"]) if served["owner"] else "")
            present = [index for index, use in enumerate(uses) if use.line in lines]
            if any((name, line) in defined for line in lines) or not present:
                at = bisect_right([use.line for use in uses], symbol.line_start)
                uses.insert(at, call)
                if self._only:
                    self._openings.insert(at, (0, -1))
            elif served["owner"] and not uses[present[0]].receiver:
                # The name alone, as that of an action: `only: :create`.
                uses[present[0]] = Use(uses[present[0]].line, "call", call.receiver)

    def _lines_of(self, only: str) -> list[int]:
        """Returns the lines that hold a text, ascending."""
        found = []
        line, at = 0, self._text.find(only)
        while at >= 0:
            line = bisect_right(self._starts, at, line)
            found.append(line)
            at = self._text.find(only, self._text.find("\n", at))
        return found

    def _names_of(self, only: str) -> Iterator[re.Match[str]]:
        """Yields the names in the lines that hold a text, in order: no name goes beyond its line."""
        text = self._text
        at = text.find(only)
        while at >= 0:
            end = text.find("\n", at)
            yield from self._rules.name.finditer(text, text.rfind("\n", 0, at) + 1, end)
            at = text.find(only, end)

    def _end_of_packages(self) -> int:
        """Returns the index after the last line that names a package and not what is in it; 0 if there is none."""
        pattern = self._rules.package_line
        return 0 if pattern is None else max((match.end() for match in pattern.finditer(self._text)), default=0)

    def _is_of_package(self, start: int, end: int) -> bool:
        """Whether the name is a part of the name of a package in a declaration of it, or in an import."""
        line, pattern = self._text.rfind("\n", max(start - MAX_LOOK_BACK, 0), start), self._rules.package_line
        found = pattern.match(self._text, line) if line >= 0 and pattern is not None else None
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
