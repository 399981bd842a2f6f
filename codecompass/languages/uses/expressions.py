"""Reads expressions and parameters from text: forwards from a value or signature, backwards from a member (`Receivers`). Resolves
no names.

Expressions are abbreviated in a notation that `query.binding` resolves:

    self.pool        a member of the instance                       <Session>.pool   x.pool, with x declared as a Session
    pair()#1.pool    a member of the second item of a tuple           jobs.each{}.run  of what a method gives to its callback
    open_it().pool   a member of the result of a function           ?.pool           a member of an unknown value
    pkg.sub          a member of a module, a type, or a variable of the file
    "a.b".run        a member of the module that Lua's `require` returns for a name

Files may be hostile: every search around a name is bounded in characters, or done once for the whole file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.words import word_set

UNKNOWN: Final = "?"
LITERAL: Final = '""'
VARIABLE: Final = "$"
"""Marks a variable of a shell script, whose names are not those of functions; UNKNOWN marks the argument of a command there."""

IMPLICIT_PARAMETER: Final = "it"
"""The parameter of a block of Kotlin that names none."""

MAX_RECEIVER: Final = 120
"""Characters of an expression; a longer one is UNKNOWN."""

MAX_PIECES: Final = 20
"""Names, calls and subscripts of an expression."""

MAX_CHAIN: Final = 80
"""Names, calls and subscripts that are looked back over; calls of one method in a row count once."""

MAX_PARAMETER: Final = 400
"""Characters of one parameter with its type and default; a longer one is not read."""

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

FIRST_NAME: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*")


def typed(type_: str) -> str:
    """Returns the expression for a value of `type_`, a type as written; UNKNOWN if it is too long."""
    type_ = " ".join(type_.split())
    return f"<{type_}>" if len(type_) < MAX_RECEIVER else UNKNOWN


def with_member(expression: str, name: str) -> str:
    """Returns the expression for the member `name` of `expression`; UNKNOWN if it gets too long."""
    if expression == UNKNOWN:
        return UNKNOWN
    n_pieces = expression.count(".") + expression.count("()") + expression.count("[]") + 2
    whole = f"{expression}.{name}"
    return whole if n_pieces <= MAX_PIECES and len(whole) <= MAX_RECEIVER else UNKNOWN


_PREFIX: Final = re.compile(r"\s*+(?>(?:(?:await|yield|mut|ref|const|try[?!]?|co_await)\b\s*+|[&*]++\s*+)*)(?P<new>new\b\s*+)?")
_PIECE: Final = re.compile(r"(?:\?\.|!\.|&?\.|->|::)\s*+((?:[^\W\d]|\$)[\w$]*+)")
_TYPE_ARGUMENTS: Final = re.compile(r"(?:::)?<[^<>(){};=]*+(?>(?:<[^<>(){};]*+>[^<>(){};]*+)*)>(?=[({:])")
_PARENTHESES: Final = re.compile(r"[()]")
_SQUARE_BRACKETS: Final = re.compile(r"[\[\]]")
_END_OF_EXPRESSION: Final = re.compile(r"\s*+(?:$|[;,:{}\])]|\?(?!\.)|if\b|or\b|else\b|\?\?|!)")


def expression_of(value: str, rules: LexicalRules) -> str:
    """Returns the expression at the beginning of `value`; UNKNOWN if it does not have the form of a receiver."""
    known = _cast(value, rules) or (_go_value(value) if rules.family == "go" else "")
    if known:
        return known
    prefix = _PREFIX.match(value)
    assert prefix is not None, "it matches the empty string, too"
    at = prefix.end()
    first = FIRST_NAME.match(value, at)
    if first is None:
        return LITERAL if value[at : at + 1] in ("'", '"', "`") else UNKNOWN
    whole = first[0]
    if whole in rules.keywords and whole not in rules.own and whole not in rules.above and whole not in rules.soft:
        return UNKNOWN
    at = first.end()
    required = REQUIRED.match(value) if rules.family == "lua" and whole in ("require", "pcall") else None
    if required is not None:
        whole, at = f'"{required["module"]}"', required.end()
    is_new = bool(prefix["new"])
    for _ in range(MAX_PIECES):
        arguments = _TYPE_ARGUMENTS.match(value, at)
        if arguments is not None:
            at = arguments.end()
            whole += arguments[0] * is_new
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
        if character == "{" and rules.family in ("go", "rust"):
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


REQUIRED: Final = re.compile(
    r"(?:require\s*+(?:\(\s*+)?|pcall\(\s*+require\s*+,\s*+)(?P<quote>[\"'])(?P<module>[\w./-]++)(?P=quote)(?:\s*+\))?"
)
"""A call of Lua that returns a module by its name, or as the second of two results."""

_WRITTEN_TYPE: Final = r"(?P<type>[^\W\d][\w.]*+(?>(?:::\w++)*)(?:<[\w., <>?]{0,60}>)?(?:\[\])?)"
_CAST_BEFORE: Final = re.compile(rf"\s*+\((?:const )?{_WRITTEN_TYPE}[ *&]*+\)[ ]?(?=[\w(])")
_NAMED_CAST: Final = re.compile(
    rf"\s*+(?:(?:static|dynamic|reinterpret|const)_cast|(?:std::)?make_(?:unique|shared))<(?:const )?{_WRITTEN_TYPE}[ *&]*+>\("
)
_FUNCTION_CAST: Final = re.compile(
    r"\s*+(?:\w+\.)?cast\(\s*+[\"']?(?P<type>(?:[A-Z][\w.]*+|[\w.]++(?=\[))(?:\[[\w.\[\], |]{1,60}\])?)[\"']?\s*+,"
)
_ANGLE_CAST: Final = re.compile(rf"\s*+<{_WRITTEN_TYPE}>\s*+(?=[\w$\[{{]|\((?![^()]*+\)\s*+(?::[^=]*+)?=>))")
_CAST_AFTER: Final = re.compile(rf"\s*+[\w.$\[\]]++(?:\([^()]*+\))?\s++as[?!]?\s++{_WRITTEN_TYPE}\??\s*+(?=$|[;,){{|&?:]|else\b)")
_MEMBER_CAST: Final = re.compile(
    rf"\s*+\w++(?>(?:\.\w++)*)\.(?:\(\*?{_WRITTEN_TYPE}\)|asInstanceOf\[(?P<other>[\w.]++)\])\s*+(?=$|[;,){{])"
)

_CASTS: Final[Mapping[str, Sequence[tuple[str, re.Pattern[str]]]]] = {
    "c": (("(", _CAST_BEFORE), ("<", _NAMED_CAST)),
    "csharp": (("(", _CAST_BEFORE), ("as", _CAST_AFTER)),
    "ecmascript": (("as", _CAST_AFTER),),
    "go": ((".(", _MEMBER_CAST),),
    "jvm": (("(", _CAST_BEFORE), ("as", _CAST_AFTER), ("asInstanceOf", _MEMBER_CAST)),
    "python": (("cast(", _FUNCTION_CAST),),
    "swift": (("as", _CAST_AFTER),),
}
"""By family: the forms of an expression that states its own type, each with a text without which it cannot match."""


def _cast(value: str, rules: LexicalRules) -> str:
    """Returns the expression for a value that is cast to a type; '' if it is not."""
    forms = _CASTS.get(rules.family, ())
    if rules.family == "ecmascript" and not rules.has_markup and value.lstrip()[:1] == "<":
        forms = (("<", _ANGLE_CAST),)
    for mark, form in forms:
        found = form.match(value) if mark in value else None
        if found is not None:
            return typed(found["type"] or found["other"])
    return ""


_GO_VALUE: Final = re.compile(
    r"\s*+&?(?P<made>(?:make|new)\()?(?P<type>(?>(?:\[[\w.]*+\]|map\[[\w.*]++\]|chan\s++|\*)*)[\w.]++)(?P<after>[{,()])"
)
_GO_TABLE: Final = re.compile(r"\s*+&?(?>(?:\[[\w.]*+\]|map\[[\w.*]++\]|\*)*)struct\b")
_GO_RECEIVED: Final = re.compile(r"\s*+<-\s*+(?P<channel>\w++(?>(?:\.\w++)*))\s*+(?:$|[;{])")


def _go_value(value: str) -> str:
    """Returns the expression for a literal, an allocation or a received value; '' for anything else."""
    if _GO_TABLE.match(value):
        return LITERAL  # members of a type without a name are nobody else's
    received = _GO_RECEIVED.match(value)
    if received is not None:
        return received["channel"] + "[]"
    found = _GO_VALUE.match(value)
    if found is None:
        return ""
    is_literal = found["after"] == "{" and found["type"].startswith(("[", "map["))
    return typed(found["type"]) if is_literal or found["made"] else ""


def _closing(text: str, at: int) -> int:
    """Returns the index after the bracket that closes the one at `at`; -1 if none does."""
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


def parameters(signature: str, name: str, rules: LexicalRules) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written or '') for the parameters in a signature, including the receiver of a Go method."""
    if rules.parameters == "go" and signature.startswith("func ("):
        end = signature.find(")")
        yield from parameter_list(signature[6:end], rules)
    if rules.has_messages and signature[:1] in ("-", "+"):
        yield from ((found["name"], found["type"].strip()) for found in _LABELLED.finditer(signature))
        return
    at = signature.find(name)
    at = signature.find("(", at + len(name) if at >= 0 else 0)
    if at < 0:
        return
    end = _closing(signature, at)
    yield from parameter_list(signature[at + 1 : end - 1 if end > 0 else None], rules)


def named_results(signature: str, name: str, rules: LexicalRules) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written) for the results of a Go function that have names."""
    if rules.parameters != "go":
        return
    at = signature.find("(", signature.find(name) + len(name))
    end = _closing(signature, at) if at >= 0 else -1
    if end > 0 and signature[end:].startswith(" ("):
        yield from parameter_list(signature[end + 2 :].rstrip(" {").removesuffix(")"), rules)


def parameter_pieces(signature: str, name: str) -> list[str] | None:
    """Returns the parameters in a signature as written; None if it has none or does not show all of them."""
    at = signature.find(name + "(")
    if at < 0:
        at = signature.find("(", max(signature.find(name), 0))
        at -= len(name)
    opening = at + len(name)
    end = _closing(signature, opening) if 0 <= opening < len(signature) and signature[opening] == "(" else -1
    return None if end < 0 else [piece.strip() for piece in split_outside_brackets(signature[opening + 1 : end - 1])]


_NAME_FIRST: Final = re.compile(
    r"\s*+(?>(?:@\w+(?:\([^()]*\))?\s++)*)"
    r"(?:(?:mut|ref|val|var|private|public|protected|readonly|override|inout|vararg|out|const|final|implicit)\s\s*+)*+[*&.]*+"
    r"(?P<label>[\w$']++\s++)?(?P<name>[\w$']++)\??\s*+(?::\s*+(?P<type>[^=]++)|\s*+)(?:=.*)?$"
)
_TYPE_FIRST: Final = re.compile(
    r"\s*+(?P<type>.*?[\s*&>\])])?\.{0,3}(?P<name>\$?[^\W\d]\w*)\s*+(?P<array>\[[^\]]*\])?\s*+(?:=.*)?$"
)


def parameter_list(written: str, rules: LexicalRules) -> Iterator[tuple[str, str]]:
    """Yields (name, type as written or '') for the parameters in `written`, the text between the parentheses."""
    pieces = [piece for piece in split_outside_brackets(written) if len(piece) <= MAX_PARAMETER]
    match rules.parameters:
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
                if found is not None and found["name"] not in rules.keywords:
                    type_ = _MODIFIERS.sub("", found["type"] or "").strip()
                    yield found["name"], type_ + "[]" * (found["array"] is not None)
        case "name_first":
            for piece in pieces:
                if piece.lstrip()[:1] == "{" and (pattern := _PATTERN.match(piece)) is not None:
                    yield from _members_of(pattern["members"], pattern["type"].strip())
                    continue
                if piece.lstrip()[:1] in ("{", "["):  # A destructuring pattern binds names, whose types are unknown.
                    written_names = piece[: max(piece.rfind("}"), piece.rfind("]")) + 1] if ":" in piece else piece
                    yield from ((name, "") for name in rules.name.findall(written_names))
                    continue
                found = _NAME_FIRST.match(piece)
                if found is not None:
                    yield found["name"], (found["type"] or "").strip()


_LABELLED: Final = re.compile(r":[ ]?\((?P<type>(?>(?:[^()]++|\([^()]*+\))*))\)[ ]?(?P<name>\w++)")
"""A parameter of a method of Objective-C, `:(T)name`."""

_PATTERN: Final = re.compile(
    r"\s*+(?P<members>\{[^{}]*+\})\s*+:\s*+(?P<type>[\w$.]++(?:<[^=]*+>)?|\{[^{}]*+\})\s*+(?:=.*)?$", re.DOTALL
)
MEMBER: Final = re.compile(r"[{,]\s*(?P<rest>\.\.\.)?(?P<name>[\w$]+)(?:\s*:\s*(?P<local>[\w$]+))?\s*(?=[,}=])")
"""A member in a pattern `{ a, b: c, ...d }`."""

_PROPERTY: Final = re.compile(r"[{;,\n]\s*(?:readonly\s+)?(?P<name>[\w$]+)\??\s*:\s*(?P<type>[^;,\n}]+)")


def _members_of(members: str, type_: str) -> Iterator[tuple[str, str]]:
    """Yields (name, type) for the names that a pattern binds to members of a value of `type_`."""
    own = {found["name"]: found["type"].strip() for found in _PROPERTY.finditer(type_)} if type_.startswith("{") else None
    for found in MEMBER.finditer(members):
        name = found["name"]
        member = own.get(name, "") if own is not None else f'{type_}["{name}"]'
        yield found["local"] or name, "" if found["rest"] else member


_MODIFIERS: Final = re.compile(
    r"\b(?:final|const|volatile|struct|enum|union|register|static|ref|out|in|params|this|readonly)\b\s*|@\w+\s*"
)

_ANY_BRACKET: Final = frozenset("([{<>}])")


def split_outside_brackets(written: str) -> Iterator[str]:
    """Yields the parts between the commas outside brackets."""
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


MAX_LOOK_BACK: Final = 2_000
"""Characters between a bracket and the one that closes it."""

_TYPED_LITERALS: Final = frozenset({"go", "python", "rust", "zig"})
_DOTTED_NAME: Final = re.compile(r"[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*\Z")
_PLAIN_RECEIVER: Final = re.compile(r"[^\W\d]\w*+(?>(?:(?:\.|->)\w++|\[\w++\])*)")
_MADE: Final = re.compile(r"\[\s*+\w++\s++(?:alloc|new)\s*+\]")
"""`[T alloc]`, a value of the type T."""

_PATH_ROOTS: Final = frozenset({"crate", "super", "self", "this", "base", "import"})
_NEVER_MEMBERS: Final = frozenset({"base", "class", "new", "super", "this"})
"""Keywords that keep their meaning after a dot."""

_WORD_BEFORE: Final = re.compile(r"[^\W\d]\w*\Z")
_BEFORE_VALUE: Final = frozenset({"return", "await", "yield", "throw", "in", "not", "and", "or", "else"})
_WITH_LISTS: Final = frozenset({"ecmascript", "python", "ruby", "rust", "swift"})
"""Families in which a square bracket begins a list where no expression ends before it."""
_WITH_NUMBERED_FIELDS: Final = frozenset({"rust", "swift"})
"""Families in which the items of a tuple are members with a number: `pair.0`."""

_BEFORE_COLON: Final = frozenset("_)]\"'")
_SCALA_CAST: Final = "asInstanceOf"
_OPENINGS: Final = {")": "(", "]": "[", ">": "<"}
_BRACKETS: Final = re.compile(r"\([^()\[\]{}]*+\)|[()\[\]{}]")
_BRACKET: Final = re.compile(r"[()\[\]{}]")
_BEFORE_PLAIN: Final = frozenset(" \t\n\r()[]{},;=+-*/%&|^<~\"'`")
"""Characters that can precede a name that is a whole expression."""


class Receivers:
    """Finds receivers in one file. `text` is without comments and contents of strings, and begins and ends with a line break;
    `written` is the same text with them if strings of it name modules or types, else empty."""

    def __init__(self, rules: LexicalRules, text: str, written: str) -> None:
        self._rules = rules
        self._text = text
        self._written = written
        self._pairs: dict[str, dict[int, int]] = {}
        self._open_brackets: list[int] = []
        self._seen_brackets = 0
        """Index up to which brackets have been read."""

    def before(self, start: int, previous: re.Match[str] | None) -> str:
        """Returns the receiver of the name at `start`: '' if it has none, UNKNOWN if it does not have the form of a receiver.

        `previous` is the last name before it.
        """
        text = self._text
        if previous is not None and text[start - 1] == "." and previous.end() == start - 1:
            # `name.member`: gives the result of `_ending_at`, faster.
            name = previous[0]
            if text[previous.start() - 1] in _BEFORE_PLAIN and name.isidentifier() and len(name) <= MAX_RECEIVER:
                return name if name not in self._rules.keywords or self._is_receiver(name) else UNKNOWN
        at = self._before_operator(start)
        return self._ending_at(at) if at >= 0 else ""

    def of_message(self, start: int, end: int) -> str | None:
        """Returns the receiver of the message whose selector begins with the name from `start` to `end`; '' if the name is none
        of a selector, None if it is a later part of one, or the label of a parameter.

        Must be called for the names in the order of the text.
        """
        text = self._text
        is_label = text[end] == ":" and text[end + 1] != ":"
        if not is_label and text[end] not in "] \n":
            return ""
        at = next(self._brackets_around(start), -1)
        if at < 0 or text[at] != "[" or start - at > MAX_LOOK_BACK:
            return None if is_label and text[end + 1] == "(" else ""
        receiver = text[at + 1 : start].strip()
        if _PLAIN_RECEIVER.fullmatch(receiver):
            return receiver
        if _MADE.fullmatch(receiver):
            return typed(receiver[1:].split()[0])
        first, last = receiver[:1], receiver[-1:]
        if (first, last) in (("[", "]"), ("(", ")")) and self._opening(at + 1 + text[at + 1 : start].rstrip().rfind(last)) == (
            at + 1 + text[at + 1 : start].find(first)
        ):
            return UNKNOWN
        return None if is_label else ""

    def literal_type(self, start: int) -> str:
        """Returns `<T>` for the type T of the literal with the key at `start`: UNKNOWN if the type is not written, '' in a
        language without such literals.

        Must be called for the keys in the order of the text.
        """
        text, family = self._text, self._rules.family
        if family not in _TYPED_LITERALS:
            return ""
        if family == "python":
            return self._called_type(start)
        for at in self._brackets_around(start):
            if text[at] != "{" or start - at > MAX_LOOK_BACK:
                break
            name = self._name_before(at)
            if name:
                name = name.replace("::", ".")
                return f"<{name}>" if name.rpartition(".")[2] not in self._rules.keywords else UNKNOWN
            if not text[max(at - MAX_RECEIVER, 0) : at].rstrip().endswith(("{", ",")):
                break
        return UNKNOWN

    def _called_type(self, start: int) -> str:
        text = self._text
        at = text.rfind("(", max(start - MAX_LOOK_BACK, 0), start)
        if at >= 0 and _BRACKET.search(text, at + 1, start) is not None:
            at = next(self._brackets_around(start), -1)
        if at < 0 or text[at] != "(" or start - at > MAX_LOOK_BACK:
            return UNKNOWN
        name = self._name_before(at)
        return f"<{name}>" if name else UNKNOWN

    def _name_before(self, end: int) -> str:
        """Returns the dotted name that ends at `end`, or one blank before it; '' if there is none."""
        text = self._text
        if text[end - 1] in " \t":
            end -= 1
        begin, limit = end, max(end - MAX_RECEIVER, 0)
        while begin > limit and (text[begin - 1].isalnum() or text[begin - 1] in "_.:"):
            begin -= 1
        found = _DOTTED_NAME.search(text, begin, end)
        return found[0] if found is not None else ""

    def _brackets_around(self, at: int) -> Iterator[int]:
        """Yields the indexes of the brackets open at `at`, innermost first. Any closing bracket closes any other."""
        text, open_brackets = self._text, self._open_brackets
        for match in _BRACKETS.finditer(text, self._seen_brackets, at):
            start = match.start()
            if match.end() - start > 1:  # both of a pair
                continue
            if text[start] in "([{":
                open_brackets.append(start)
            elif open_brackets:
                open_brackets.pop()
        self._seen_brackets = at
        return reversed(open_brackets)

    def _is_receiver(self, keyword: str, is_called: bool = False) -> bool:
        """Whether a keyword can be a receiver; with `is_called`, whether a call or subscript of it can."""
        rules = self._rules
        return (
            keyword in rules.own
            or keyword in rules.above
            or keyword == IMPLICIT_PARAMETER
            or (not is_called and (keyword in _PATH_ROOTS or keyword in rules.built_in or keyword in rules.soft))
        )

    def is_member(self, keyword: str, start: int) -> bool:
        """Whether the keyword at `start` is the name of a member there: `map.get`, `z.number()`, `promise.catch`."""
        return self._text[start - 1] == "." and self._text[start - 2] != "." and keyword not in _NEVER_MEMBERS

    def _before_operator(self, start: int) -> int:
        """Returns the index of the last character before the member operator that ends at `start`; -1 if there is no operator."""
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
                before = text[start - 2 : start - 1]
                return start - 2 if self._rules.family == "lua" and (before.isalnum() or before in _BEFORE_COLON) else -1
        return -1

    def _ending_at(self, at: int) -> str:
        """Returns the expression whose last character is at `at`; UNKNOWN if it does not have the form of a receiver."""
        text, rules = self._text, self._rules
        pieces: list[str] = []
        for _ in range(MAX_CHAIN):
            if len(pieces) > MAX_PIECES:
                return UNKNOWN
            while at > 0 and text[at] in " \t\n\r?!&":
                at -= 1
            character = text[at]
            if character in ")]":
                closed = at
                at = self._opening(at) - 1
                if at < 0:
                    return UNKNOWN
                if character == ")" and not pieces and text[at] == "." and rules.family == "go":  # `value.(*Type)`
                    pieces.append(typed(text[at + 2 : closed].lstrip("*")))
                    break
                if character == ")" and not pieces and self._begins_value(at):
                    whole = expression_of(text[at + 2 : closed], rules)
                    if whole == UNKNOWN:
                        return UNKNOWN
                    pieces.append(whole)
                    break
                if self._written and character == ")" and (named := self._required(closed) or self._cast_to(at, closed)):
                    pieces.append(named)
                    break
                if character == "]" and not pieces and text[at + 1 - len(_SCALA_CAST) : at + 1] == _SCALA_CAST:
                    pieces.append(typed(text[at + 2 : closed]))
                    break
                if character == "]" and rules.family in _WITH_LISTS and self._begins_value(at):
                    pieces.append(LITERAL)
                    break
                pieces.append("()" if character == ")" else "[]")
                if text[at] == ">":
                    end = at
                    at = self._before_type_arguments(at) or at
                    if len(pieces) == 1 and text[max(at - MAX_RECEIVER, 0) : at + 1].endswith("_cast"):
                        pieces[-1] = typed(text[at + 2 : end])
                        break
                continue
            if character == ">" and not pieces:
                at = self._before_type_arguments(at)
                if not at:
                    return UNKNOWN
                continue
            if character in "\"'`":
                pieces.append(self._required(at) or LITERAL)
                break
            stop = at
            while text[at].isalnum() or text[at] in "_$":
                at -= 1
            if at == stop:  # A parenthesis without a name before it holds an expression.
                return UNKNOWN
            name = text[at + 1 : stop + 1]
            if name[0].isdigit():
                if text[at] == "." and name.isdecimal() and rules.family in _WITH_NUMBERED_FIELDS and not text[at - 1].isdigit():
                    pieces.append(f"#{name}")
                    at -= 1
                    continue
                pieces.append(LITERAL)
                break
            if (
                name in rules.keywords
                and not self._is_receiver(name, bool(pieces) and pieces[-1] in ("()", "[]"))
                and not (name in rules.soft and pieces[-1:] == ["[]"])
                and not self.is_member(name, at + 1)
            ):
                return UNKNOWN
            pieces.append(name)
            if pieces[-4:] == ["()", name, "()", name]:
                del pieces[-2:]  # `add(x).add(y)` is what `add(x)` is
            if rules.family == "ruby" and text[at] == "@":
                pieces[-1] = "self." + name
                break
            before = self._before_operator(at + 1) if text[at] in ".>:" else -1
            if before < 0:
                break
            at = before
        else:
            return UNKNOWN
        whole = ""
        for piece in reversed(pieces):
            whole += piece if not whole or piece[0] in "([#" else "." + piece
        return whole if len(whole) <= MAX_RECEIVER else UNKNOWN

    def _required(self, at: int) -> str:
        """Returns the expression for the module of a `require` whose last character is at `at`; '' if there is none."""
        if not self._written:
            return ""
        begin = self._text.rfind("require", max(at - MAX_RECEIVER, 0), at)
        found = REQUIRED.fullmatch(self._written, begin, at + 1) if begin >= 0 else None
        return f'"{found["module"]}"' if found is not None else ""

    def _cast_to(self, at: int, closed: int) -> str:
        """Returns the expression for what a call of Python's `cast` returns; '' if the name that ends at `at` is another."""
        if self._text[max(at - 3, 0) : at + 1] != "cast" or self._text[at - 4].isalnum() or self._text[at - 4] == "_":
            return ""
        return _cast(self._written[at - 3 : closed + 1], self._rules)

    def _begins_value(self, at: int) -> bool:
        """Whether the bracket after `at` begins a value, because no expression ends at `at`."""
        text = self._text
        limit = max(at - MAX_RECEIVER, 0)
        while at > limit and text[at] in " \t":
            at -= 1
        if text[at] in "=([{,;:&|?!\n":
            return True
        word = _WORD_BEFORE.search(text, limit, at + 1)
        return word is not None and word[0] in _BEFORE_VALUE

    def _before_type_arguments(self, at: int) -> int:
        """Returns the index before the type arguments that end at `at`; 0 if they do not begin nearby."""
        opened = self._opening(at)
        if opened < 0:
            return 0
        return opened - 3 if self._text[opened - 2 : opened] == "::" else opened - 1

    def _opening(self, at: int) -> int:
        """Returns the index of the bracket that the one at `at` closes; -1 if it is too far away."""
        text = self._text
        closing = text[at]
        opening = _OPENINGS[closing]
        found = text.rfind(opening, max(at - MAX_LOOK_BACK + 1, 0), at)
        if found < 0 or text.find(closing, found, at) < 0:
            return found
        if closing not in self._pairs:
            self._pairs[closing] = _pairs(text, opening, closing)
        found = self._pairs[closing].get(at, -1)
        return found if at - found < MAX_LOOK_BACK else -1


def _pairs(text: str, opening: str, closing: str) -> dict[int, int]:
    """Returns the index of the opening bracket by the index of the closing one."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer(f"[{re.escape(opening + closing)}]", text):
        if match[0] == opening:
            opened.append(match.start())
        elif opened:
            pairs[match.start()] = opened.pop()
    return pairs
