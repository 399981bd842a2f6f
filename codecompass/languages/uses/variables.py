"""The variables of each function: what each is, as an expression, in which part of the text. Resolves no names."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from codecompass import lazy
from codecompass.languages.records import FUNCTION_LIKE, Symbol
from codecompass.languages.uses.expressions import FIRST_NAME, LITERAL, MAX_RECEIVER, UNKNOWN, expression_of, typed, with_member
from codecompass.languages.uses.lexical_rules import Declaration, LexicalRules
from codecompass.languages.uses.narrowing import Narrowing, end_of_block, narrowings
from codecompass.languages.uses.parameters import MEMBER, named_results, parameter_list, parameters, split_outside_brackets
from codecompass.languages.uses.receivers import MAX_LOOK_BACK, Receivers
from codecompass.languages.words import word_set

MAX_CONDITIONS: Final = 2_000
"""Conditions of a file that are read for what they say of a type."""

MAX_NARROWINGS: Final = 300
"""Places of a file where something else is known of the values that begin with one name."""

CALLBACKS: Final = word_set(
    "forEach map filter find findLast findIndex some every flatMap sort then tap forEachOrdered anyMatch allMatch noneMatch "
    "mapToInt mapToObj ifPresent peek removeIf each each_with_index select reject detect any? all? none? collect find_all "
    "sort_by group_by min_by max_by partition sum foreach exists forall count takeWhile dropWhile any all none first "
    "firstOrNull last single associateBy associateWith groupBy sortedBy sumOf maxByOrNull minByOrNull mapNotNull onEach "
    "also let for_each filter_map flat_map take_while skip_while and_then is_some_and position max_by_key min_by_key "
    "inspect compactMap contains allSatisfy Where Select SelectMany Any All First FirstOrDefault Single SingleOrDefault "
    "OrderBy OrderByDescending ForEach Count Sum Max Min GroupBy ToDictionary"
)
"""Methods that call a function with each element of a collection, or with the value of a wrapper."""

_NO_TYPES: Final = word_set("return throw new delete else case goto typedef using namespace package import await yield in is as")
_FLAT_NAMES: Final = lazy.pattern(r"\s*[\[(]?\s*(?:(?:mut|ref)\s+)?[\w$]+(?:\s*,\s*(?:(?:mut|ref)\s+)?[\w$]+)*\s*,?\s*[\])]?\s*")
_BEFORE_INITIALIZER: Final = lazy.pattern(
    r"\b(?:const|let|var)\s+[\w$]+\s*:\s*(?P<maker>[\w$.]+)<(?P<made>[\w$.]+)>\s*=\s*(?P=maker)\([^()]*,\s*\Z"
)
"""What precedes a function that initializes what a maker makes: `const Job: Maker<Job> = Maker("Job", (job) => ..`."""

_BLOCK_GIVEN: Final = lazy.pattern(r"\.\w++(?:\([^()\n]*+\))?[ \t]*+\{(?!\s*+(?:\(?[\w, :]*+\)?\s*+(?:->|in\b)))")
"""A block without named parameters that is given to a method."""

_PLAIN: Final = str.maketrans("", "", "*& ")
"""Removes what the head of a function says more of a parameter than a declaration does."""

_AFTER_VALUE: Final = frozenset({"", ".", "(", "[", "#"})
_FIELD: Final = lazy.pattern(r"self\.(\w+)")
_OPENS_CALLBACK: Final = ("(", "{", ",", "async", "move", " do")
_BEFORE_CALLBACK: Final = lazy.pattern(
    r"[.:>](?P<method>[\w$]+\??)\s*(?:<[^<>()]*>)?[ \t]*(?:\(\s*(?:async\s+|move\s+)?|(?:\([^()\n]*\))?[ \t]*(?:\{|do)\s*)"
    r"(?:async\s+|move\s+)?\Z"
)
"""What precedes the parameters of a function that is given to a method."""
_NOTHING: Final[Mapping[str, str]] = {}


def narrowed(expression: str, narrowings: Iterable[Narrowing], at: int) -> str:
    """Returns the expression with what the last of its `narrowings` around index `at` says; '' if none is around it."""
    best: Narrowing | None = None
    for each in narrowings:
        if each.start <= at < each.end and (best is None or best.start <= each.start):
            best = each
    if best is None:
        return ""
    whole = best.expression + expression[len(best.value) :]
    return whole if len(whole) <= MAX_RECEIVER else UNKNOWN


class LocalVariables:
    """The variables of each function. `text` is without comments and contents of strings; line 1 begins at `starts[0]`.
    `written` is the same text with them if strings of it name modules or types, else empty."""

    def __init__(
        self,
        rules: LexicalRules,
        text: str,
        written: str,
        starts: Sequence[int],
        symbols: Sequence[Symbol],
        lines: Sequence[int] | None = None,
    ) -> None:
        """`lines`, ascending, are those that will be asked about; None for all."""
        self._rules = rules
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
        for each in islice(narrowings(rules, text), MAX_CONDITIONS):
            self._add(each)
        self.receivers: Final = Receivers(rules, text, written)
        """What it knows of brackets is shared with the uses. `of_message` and `literal_type` have not been called."""
        # In the order of the text, because a value may begin with a variable that is declared before it.
        found = sorted(
            ((match, declaration) for declaration in rules.declarations for match in self._declarations(declaration)),
            key=lambda each: each[0].start(),
        )
        left_out = frozenset[int]() if lines is None else self._left_out(found, lines)
        self._read_parameters(left_out)
        self._read_declarations(found, left_out)
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

    def _left_out(self, found: Sequence[tuple[re.Match[str], Declaration]], lines: Sequence[int]) -> frozenset[int]:
        """Returns the functions whose variables cannot matter in `lines`: they are not around one of them, and declare no field
        and no parameter of a block, which may be read as longer than the function."""
        declared = Counter[str]()
        wanted = set(lines)
        for match, declaration in found:
            groups = declaration.pattern.groupindex
            group = next(name for name in ("field", "parameters", "names") if name in groups)
            if group == "field" or not ("type" in groups or "value" in groups):
                wanted.add(bisect_right(self._starts, match.start(group)))
            else:
                declared.update(self._rules.name.findall(match[group]))
        if any(n + len(self._narrowings.get(name, ())) > MAX_NARROWINGS for name, n in declared.items()):
            return frozenset()  # which ones are too many depends on all of them
        ordered = sorted(wanted)
        left_out = []
        for index, symbol in enumerate(self._symbols):
            at = bisect_left(ordered, symbol.line_start)
            if at == len(ordered) or ordered[at] > symbol.line_end:
                left_out.append(index)
        return frozenset(left_out)

    def _read_parameters(self, left_out: frozenset[int]) -> None:
        for index, symbol in enumerate(self._symbols):
            if symbol.kind in FUNCTION_LIKE and "(" in symbol.signature and index not in left_out:
                known = self._variables.setdefault(index, {})
                own = parameters(symbol.signature, symbol.name, self._rules)
                for name, type_ in (*own, *named_results(symbol.signature, symbol.name, self._rules)):
                    known[name] = typed(type_) if type_ else UNKNOWN

    def _read_declarations(self, found: Sequence[tuple[re.Match[str], Declaration]], left_out: frozenset[int]) -> None:
        strings = self._rules.naming_strings if self._written else None
        # `int f(` looks like the declaration of a variable `f`, which would hide the calls of `f` in its own body.
        heads = {(symbol.line_start, symbol.name) for symbol in self._symbols if symbol.kind in FUNCTION_LIKE}
        for match, declaration in found:
            groups = declaration.pattern.groupindex
            if "field" in groups:
                self._read_field(match)
                continue
            group = "parameters" if "parameters" in groups else "names"
            line = bisect_right(self._starts, match.start(group))
            function = self.function_of[line]
            if function in left_out:
                continue
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
            if strings is not None and value and strings.are_in(match["names"], value):
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
        receiver = self.receivers.before(start)
        whole = self.expression_at(receiver, start, function) if receiver else UNKNOWN
        if whole != UNKNOWN and len(whole) < MAX_RECEIVER - len(found["method"]) - 3:
            self._note(name, f"{whole}.{found['method']}{{}}", at, end_of_block(self._text, at))

    def _read_implicit_parameters(self) -> None:
        """Reads what the parameter is that a block does not name: `it` of Kotlin, `$0` of Swift."""
        implicit = self._rules.implicit_parameter
        if implicit is None or implicit.pattern.search(self._text) is None:
            return
        for match in _BLOCK_GIVEN.finditer(self._text):
            line = bisect_right(self._starts, match.start())
            self._declare_given(match.end(), implicit.name, self.function_of[line])

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
        elif expression != first and expression != UNKNOWN and expression.translate(_PLAIN) != first.translate(_PLAIN):
            last = min(self._symbols[function].line_end, len(self._starts) - 1)
            self._note(name, expression, at, self._starts[last])

    def _declare(self, function: int, written: str, type_: str, value: str, span: tuple[int, int], *, is_loop: bool) -> None:
        rules = self._rules
        if rules.parameters == "type_first" and type_ in _NO_TYPES:  # `return x;`
            return
        if is_loop:
            self._declare_elements(function, written, value, span)
            return
        if written[:1] == "{" and value and rules.binds_members:
            self._declare_members(function, written, self.expression_at(expression_of(value, rules), span[0], function), span[1])
            return
        if rules.bound_by_pattern is not None:
            written, type_, value = rules.bound_by_pattern(written, type_, value)
        names = [name for name in rules.name.findall(written) if name not in rules.keywords or name in rules.soft]
        whole = UNKNOWN
        if type_ and type_ not in ("auto", "var", "val", "let", "const"):
            whole = typed(type_) if type_.lstrip("[]*") != "struct" else LITERAL  # members of a type without a name
        elif value:
            whole = self.expression_at(expression_of(value, rules), span[0], function)
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
        of_language = None if self._rules.several_results is None else self._rules.several_results(value, whole, len(names))
        if of_language is not None:
            return of_language
        return [f"{whole}#{number}" for number in range(len(names))]

    def _declare_elements(self, function: int, written: str, value: str, span: tuple[int, int]) -> None:
        """Declares the variables of a loop over `value`; of two the first is a key or a number."""
        names = [name for name in self._rules.name.findall(written) if name not in self._rules.keywords]
        value = value.strip().removeprefix("await ")
        if value.startswith("enumerate("):
            value = value.removeprefix("enumerate(")
        elif len(names) == 2 and (pairs := self._rules.pairs):
            value = value.partition(pairs)[0] if pairs in value else ""
        is_known = bool(value) and len(names) < 3
        expression = self.expression_at(expression_of(value, self._rules), span[0], function) if is_known else UNKNOWN
        for name in names:
            is_element = name == names[-1] and expression != UNKNOWN and (len(names) > 1 or not self._rules.loops_over_keys)
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
        first = FIRST_NAME.match(expression)
        if first is None:
            return expression
        narrowings = self._narrowings.get(first[0])
        return (narrowings is not None and self.narrowed(expression, at)) or self._substituted(expression, first, function)

    @property
    def is_narrowed(self) -> bool:
        """Whether `narrowed` returns anything for any expression."""
        return bool(self._narrowings)

    def narrowed(self, expression: str, at: int) -> str:
        """Returns the expression with what holds around index `at` alone about a value at its beginning; '' if nothing does."""
        return narrowed(expression, self.narrowings_of(expression), at) if self._narrowings else ""

    def narrowings_of(self, expression: str) -> tuple[Narrowing, ...]:
        """Returns what holds somewhere about a value at the beginning of an expression."""
        first = FIRST_NAME.match(expression)
        return (
            ()
            if first is None
            else tuple(
                each
                for each in self._narrowings.get(first[0], ())
                if expression.startswith(each.value) and expression[len(each.value) :][:1] in _AFTER_VALUE
            )
        )

    def substituted(self, expression: str, function: int) -> str:
        """Returns the expression with a variable of `function` at its beginning replaced by the variable's expression."""
        first = FIRST_NAME.match(expression)
        return expression if first is None else self._substituted(expression, first, function)

    def _substituted(self, expression: str, first: re.Match[str], function: int) -> str:
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
