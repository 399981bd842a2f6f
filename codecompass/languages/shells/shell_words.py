"""Finds the words of a shell script that can be names: commands, arguments, variables and assignments.

Unlike in other languages, strings nest (`A="$(f "two")"`), and whether a word is the name of a function depends on where it
stands: a command can stand at the start of a line, after `;`, `|`, `&&`, `then`, in `$(..)` and backticks anywhere, in the text
of `trap` and `eval`. One pass from left to right, in time that grows with the length of the text.
"""

import re
from typing import Final

from codecompass import lazy
from codecompass.languages.uses.lexical_rules import ScriptWords, WordRole
from codecompass.languages.words import word_set

MAX_DEPTH: Final = 60
"""Substitutions and strings within each other; what is deeper is blank."""

MAX_UNCLOSED: Final = 20
"""Here-documents without an end, for each of which the rest of the text is searched."""


def shell_words(text: str) -> ScriptWords:
    """Returns the names in a script."""
    scanner = _Scanner(text)
    scanner.commands(0, "", 0)
    return ScriptWords(scanner.kept(), scanner.roles)


_NOT_A_BREAK: Final = lazy.pattern(r"[^\n]")
_LITERAL: Final = lazy.pattern(r"[^\s;&|()<>\"'`$\\]+")
_NAME: Final = lazy.pattern(r"[^\W\d][\w:.-]*\Z")
_VARIABLE: Final = lazy.pattern(r"[^\W\d]\w*")
_ASSIGNMENT: Final = lazy.pattern(r"(?P<name>[^\W\d]\w*)(?P<index>\[[^\]\n]{0,200}\])?(?P<operator>\+?=)")
_HERE_DOCUMENT: Final = lazy.pattern(r"<<(?P<dash>-?)[ \t]*(?P<quote>\\|'|\"|)(?P<mark>[\w.-]+)")
_REDIRECTION: Final = lazy.pattern(r"[<>]+[&|]?[ \t]*")
_NO_PARAMETERS: Final = lazy.pattern(r"\([ \t]*\)")
_IN_STRING: Final = lazy.pattern(r"[^\"\\$`]+")
_IN_EXPANSION: Final = lazy.pattern(r"[^}\"\\$`]+")
_IN_ARITHMETIC: Final = lazy.pattern(r"[^()$`\w]+|\d\w*")

_BEFORE_COMMANDS: Final = word_set("if then elif else while until do time ! { coproc")
_DECLARING: Final = word_set("local export readonly declare typeset")
_TAKES_CODE: Final = word_set("trap eval")
_TAKES_COMMAND: Final = word_set("run")
"""Commands whose first argument after options is a command (Bats)."""
_NO_COMMANDS: Final = word_set("for select function case [[ fi done esac } in")
_QUOTED_NAME: Final = lazy.pattern(r"(?P<quote>['\"])(?P<name>[^\W\d]\w*[-_:][\w:-]*)(?P=quote)(?=[\s;&|)]|\Z)")
"""A whole string that can hardly be anything but the name of a function."""
_GLUED: Final = frozenset("\"'`$\\")


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[str] = []
        self._end = 0
        self.roles: dict[int, WordRole] = {}
        self._here_documents: list[tuple[str, bool, bool]] = []
        """Mark, whether tabs before it are allowed, whether it was quoted; of those that begin after the current line."""
        self._n_unclosed = 0

    def kept(self) -> str:
        """Returns the text in which all that was not kept is blank."""
        return "".join((*self._pieces, _NOT_A_BREAK.sub(" ", self._text[self._end :])))

    def _keep(self, start: int, end: int) -> None:
        if start < self._end:
            return
        self._pieces += [_NOT_A_BREAK.sub(" ", self._text[self._end : start]), self._text[start:end]]
        self._end = end

    def commands(self, at: int, closing: str, depth: int, *, are_commands: bool = True) -> int:
        """Reads commands up to `closing`, a character; returns the index after it, or that of the end of the text.

        Not `are_commands`: the words are the elements of an array.
        """
        text, end = self._text, len(self._text)
        if depth > MAX_DEPTH:
            found = text.find(closing, at) if closing else -1
            return end if found < 0 else found + 1
        cases: list[bool] = []
        """For each open `case` whether a pattern is read."""
        is_command, is_open, is_test, is_target, awaits_in = are_commands, False, False, False, False
        word = ""
        while at < end:
            character = text[at]
            in_pattern = bool(cases) and cases[-1]
            if character == closing and not (character == ")" and in_pattern):
                return at + 1
            match character:
                case " " | "\t" | "\r":
                    at, is_open = at + 1, False
                case "\n":
                    at = self._here_document_after(at + 1, depth) if self._here_documents else at + 1
                    is_command, is_open, is_target, word = are_commands and not in_pattern, False, False, ""
                case "#" if not is_open:
                    found = text.find("\n", at)
                    at = end if found < 0 else found
                case "\\":
                    following = text[at + 1 : at + 2]
                    is_open = is_open or (following != "\n" and not following.isalpha())
                    at += 1 if following.isalpha() else 2  # `\cd` is the command and not its alias.
                case "'" | '"' if word in _TAKES_CODE and not is_open:
                    at, word = self.commands(at + 1, character, depth + 1), ""
                case "'" | '"' if (quoted := _QUOTED_NAME.match(text, at)) is not None:
                    self._keep(*quoted.span("name"))
                    self.roles[quoted.start("name")] = "argument"
                    at, is_open, is_command, is_target = quoted.end(), True, False, False
                case "'":
                    found = text.find("'", at + 1)
                    at, is_open, is_command, is_target = (end if found < 0 else found + 1), True, is_command and is_open, False
                case '"':
                    at = self._string(at + 1, depth + 1)
                    is_open, is_command, is_target = True, is_command and is_open, False
                case "`":
                    at = self.commands(at + 1, "`", depth + 1)
                    is_open, is_command, is_target = True, is_command and is_open, False
                case "$":
                    at = self._dollar(at, depth + 1)
                    is_open, is_command, is_target = True, is_command and is_open, False
                case ";" | "&" | "|":
                    at += 1
                    if character == "&" and text[at : at + 1] == ">":
                        continue
                    if in_pattern:
                        continue
                    if character == ";" and text[at : at + 1] in (";", "&") and cases:
                        cases[-1] = True
                    is_command, is_open, word = are_commands and not is_test and not (cases and cases[-1]), False, ""
                case "<" | ">":
                    if text[at + 1 : at + 2] == "(":
                        at, is_open = self.commands(at + 2, ")", depth + 1), True
                        continue
                    document = _HERE_DOCUMENT.match(text, at) if text[at : at + 3] != "<<<" else None
                    if document is not None:
                        self._here_documents.append((document["mark"], bool(document["dash"]), bool(document["quote"])))
                        at = document.end() + (document["quote"] in ("'", '"'))
                        continue
                    redirection = _REDIRECTION.match(text, at)
                    at, is_open, is_target = (at + 1 if redirection is None else redirection.end()), False, True
                case "(":
                    if in_pattern:
                        at += 1
                        continue
                    parameters = _NO_PARAMETERS.match(text, at)
                    if parameters is not None:
                        at, is_command, is_open = parameters.end(), are_commands, False
                    elif is_open and text[at - 1] == "=":
                        at = self.commands(at + 1, ")", depth + 1, are_commands=False)
                    elif text.startswith("((", at):
                        at, is_command = self._arithmetic(at + 2, depth + 1), False
                    elif is_test:
                        at += 1
                    else:
                        at, is_command = self.commands(at + 1, ")", depth + 1), False
                case ")":
                    at, is_open = at + 1, False
                    if in_pattern:
                        cases[-1], is_command = False, are_commands
                    elif is_test:
                        continue
                case _:
                    literal = _LITERAL.match(text, at)
                    if literal is None:
                        at += 1
                        continue
                    start, at = at, literal.end()
                    if is_open or in_pattern:
                        if in_pattern and literal[0] == "esac" and not is_open:
                            cases.pop()
                            is_command = False
                        is_open = True
                        continue
                    is_open = True
                    if is_target:
                        is_target = False
                        continue
                    written = literal[0]
                    assigned = _ASSIGNMENT.match(written) if is_command or word in _DECLARING else None
                    if assigned is not None:
                        self._assign(start, assigned)
                    elif is_command:
                        if written in _BEFORE_COMMANDS:
                            is_open = False
                            continue
                        if word in _TAKES_COMMAND and written[0] == "-":
                            continue
                        is_command, word = written in _TAKES_COMMAND, written
                        if written == "case":
                            cases.append(False)
                            awaits_in = True
                        elif written == "esac" and cases:
                            cases.pop()
                        elif written == "[[":
                            is_test = True
                        elif written in _DECLARING:
                            self._keep(start, at)
                        elif written not in _NO_COMMANDS:
                            self._word(start, at, "command", closing)
                    elif awaits_in and written == "in":
                        awaits_in, cases[-1] = False, True
                    elif written == "]]":
                        is_test = False
                    elif written == "{":
                        is_command, is_open = are_commands, False
                    elif word in _DECLARING:
                        if written[0] == "-":
                            self._keep(start, at)
                            word = "" if "f" in written else word  # `export -f` names functions.
                        else:
                            self._word(start, at, "variable", closing)
                    elif word in _TAKES_CODE:
                        if written[0] != "-":
                            self._word(start, at, "command", closing)
                            word = ""
                    elif word not in ("for", "select", "case"):
                        self._word(start, at, "argument", closing)
        return end

    def _assign(self, start: int, assigned: re.Match[str]) -> None:
        name_end = start + assigned.end("name")
        if assigned["index"] is None:
            self._keep(start, start + assigned.end("operator"))
        else:
            self._keep(start, name_end)
        self.roles[start] = "assignment"

    def _word(self, start: int, end: int, role: WordRole, closing: str) -> None:
        """Keeps a word that is a name, unless a string or variable adjoins it."""
        following = self._text[end : end + 1]
        if _NAME.match(self._text, start, end) is None or (following in _GLUED and following != closing):
            return
        self._keep(start, end)
        self.roles[start] = role

    def _string(self, at: int, depth: int) -> int:
        """Reads the rest of a string in double quotes; returns the index after it."""
        text, end = self._text, len(self._text)
        while at < end:
            plain = _IN_STRING.match(text, at)
            if plain is not None:
                at = plain.end()
                continue
            match text[at]:
                case '"':
                    return at + 1
                case "\\":
                    at += 2
                case "$":
                    at = self._dollar(at, depth, is_quoted=True)
                case _:
                    at = self.commands(at + 1, "`", depth + 1)
        return end

    def _dollar(self, at: int, depth: int, *, is_quoted: bool = False) -> int:
        """Reads what begins with a `$`; returns the index after it."""
        text = self._text
        following = text[at + 1 : at + 2]
        if following == "(":
            if text[at + 2 : at + 3] == "(":
                return self._arithmetic(at + 3, depth)
            return self.commands(at + 2, ")", depth + 1)
        if following == "{":
            return self._expansion(at + 2, depth)
        if following == "'" and not is_quoted:
            end = at + 2
            while end < len(text) and text[end] != "'":
                end += 2 if text[end] == "\\" else 1
            return min(end + 1, len(text))
        name = _VARIABLE.match(text, at + 1)
        if name is None:
            return at + 1 if following == '"' or is_quoted else min(at + 2, len(text))
        self._keep(at, name.end())
        self.roles[at + 1] = "variable"
        return name.end()

    def _expansion(self, at: int, depth: int) -> int:
        """Reads the rest of `${..}`; returns the index after it."""
        text, end = self._text, len(self._text)
        while text[at : at + 1] in ("!", "#") and at < end:
            at += 1
        name = _VARIABLE.match(text, at)
        if name is not None:
            self._keep(at, name.end())
            self.roles[at] = "variable"
            at = name.end()
        while at < end:
            plain = _IN_EXPANSION.match(text, at)
            if plain is not None:
                at = plain.end()
                continue
            match text[at]:
                case "}":
                    return at + 1
                case "\\":
                    at += 2
                case '"':
                    at = self._string(at + 1, depth + 1) if depth < MAX_DEPTH else at + 1
                case "$":
                    at = self._dollar(at, depth + 1, is_quoted=True) if depth < MAX_DEPTH else at + 1
                case _:
                    at = self.commands(at + 1, "`", depth + 1)
        return end

    def _arithmetic(self, at: int, depth: int) -> int:
        """Reads the rest of `((..))`; returns the index after it."""
        text, end = self._text, len(self._text)
        n_open = 0
        while at < end:
            plain = _IN_ARITHMETIC.match(text, at)
            if plain is not None:
                at = plain.end()
                continue
            match text[at]:
                case "(":
                    n_open, at = n_open + 1, at + 1
                case ")":
                    n_open, at = n_open - 1, at + 1
                    if n_open < 0:
                        return at + (text[at : at + 1] == ")")
                case "$":
                    at = self._dollar(at, depth + 1, is_quoted=True) if depth < MAX_DEPTH else at + 1
                case "`":
                    at = self.commands(at + 1, "`", depth + 1)
                case _:
                    name = _VARIABLE.match(text, at)
                    if name is None:
                        at += 1
                        continue
                    self._keep(at, name.end())
                    self.roles[at] = "variable"
                    at = name.end()
        return end

    def _here_document_after(self, at: int, depth: int) -> int:
        """Reads the here-documents that begin at `at`, a start of a line; returns the index after them."""
        text, end = self._text, len(self._text)
        documents, self._here_documents = self._here_documents, []
        for mark, may_be_indented, is_quoted in documents:
            if self._n_unclosed > MAX_UNCLOSED:
                break
            indent = r"\t*+" if may_be_indented else ""
            closing = re.compile(rf"^{indent}{re.escape(mark)}$", re.MULTILINE).search(text, at)
            if closing is None:
                self._n_unclosed += 1
                continue
            if not is_quoted:
                self._substitutions(at, closing.start(), depth)
            at = max(closing.end(), self._end)
        return min(at, end)

    def _substitutions(self, at: int, end: int, depth: int) -> None:
        """Reads the substitutions in a here-document."""
        text = self._text
        while at < end:
            match text[at]:
                case "\\":
                    at += 2
                case "$":
                    at = self._dollar(at, depth + 1, is_quoted=True)
                case "`":
                    at = self.commands(at + 1, "`", depth + 1)
                case _:
                    following = _IN_DOCUMENT.match(text, at, end)
                    at = at + 1 if following is None else following.end()


_IN_DOCUMENT: Final = lazy.pattern(r"[^\\$`]+")
