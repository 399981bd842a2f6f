"""Blanks the comments and the contents of strings in a text, but not the code in strings."""

import re

from codecompass.languages.uses.lexical_rules import LexicalRules


def code_only(rules: LexicalRules, text: str) -> str:
    """Returns `text` with comments and the contents of strings blanked, equally long and with the same line breaks."""
    if rules.words is not None:
        return rules.words(text).text

    def replaced(match: re.Match[str]) -> str:
        found = match[0]
        if match.lastgroup == "body":
            return _document(rules, match)
        if found[0] in rules.literal_marks:
            return _as_string(blank(found) if rules.interpolation is None else _code_in(rules, found))
        if rules.interpolation is not None and match["code"] is not None:
            return _with_code(rules, found)
        return blanked(found)

    return rules.comments_and_strings.sub(replaced, text)


def blank(text: str) -> str:
    if "\n" not in text:
        return " " * len(text)
    return "\n".join([" " * len(line) for line in text.split("\n")])


def blanked(text: str) -> str:
    """Returns a comment or string blanked; a string keeps its quotes."""
    quote = text[0]
    if quote not in "\"'`" or len(text) == 1:
        return blank(text)
    return quote + blank(text[1:-1]) + ("\n" if text[-1] == "\n" else quote)


def _as_string(text: str) -> str:
    """Returns a blanked literal between quotes: a call whose only argument it is would otherwise be one without arguments."""
    return f'"{text[1:-1]}"' if len(text) > 1 and text[-1] != "\n" else text


def _document(rules: LexicalRules, match: re.Match[str]) -> str:
    """Returns a here document blanked: the code behind its mark goes on, the code in its lines is kept."""
    first = match.start("rest")
    mark = _as_string(" " * (first - match.start()))
    body = match["body"]
    shown = blank(body) if rules.interpolation is None else _code_in(rules, body)
    return mark + code_only(rules, match["rest"]) + shown + blank(match.string[match.end("body") : match.end()])


def _code_in(rules: LexicalRules, text: str) -> str:
    """Returns a text blanked except for the code in it."""
    assert rules.interpolation is not None
    pieces: list[str] = []
    end = 0
    for match in rules.interpolation.finditer(text):
        if match.lastindex is None:  # `$name`: the name follows
            name = rules.name.match(text, match.end())
            start, stop = match.end(), match.end() if name is None else name.end()
        else:
            start, stop = match.span(1)
        pieces += [
            blank(text[end:start]),
            rules.comments_and_strings.sub(lambda inner: blanked(inner[0]), text[start:stop]),
        ]
        end = stop
    pieces.append(blank(text[end:]))
    return "".join(pieces)


def _with_code(rules: LexicalRules, text: str) -> str:
    """Returns a string blanked except for its quotes and the code in it."""
    whole = _code_in(rules, text)
    quote = text[0]
    if quote not in "\"'`" or len(text) == 1:
        return whole
    return quote + whole[1:-1] + (quote if text[-1] == quote else whole[-1])
