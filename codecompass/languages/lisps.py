"""The Lisps: Clojure, Common Lisp and Emacs Lisp. One rule reads the first two words of a form."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    RuleFunction,
    leading_comment,
    lines_of,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE_LINES, any_of
from codecompass.languages.words import word_set

_SYMBOL: Final = r"[^\s()\[\]{}\"';`,@^#][^\s()\[\]{}\"';`,]*"
_META: Final = r"\^(?:\{[^}]*\}|[^\s{]+)\s+"
"""What is said of the name after it, in Clojure."""
_METHOD: Final = re.compile(rf"\((?:{_META})*(?P<name>{_SYMBOL})\s+\[")
_WORD: Final = re.compile(rf"\(\s*(?P<word>{_SYMBOL})\s")
_FORM: Final = re.compile(
    rf"\(\s*(?P<word>{_SYMBOL})\s+(?P<shape>(?:\^\{{[^}}]*\}}\s+|\^[^\s{{]+\s+|['#:(])*)(?P<name>{_SYMBOL})"
)
_HEAD_CHARACTERS: Final = 1_000

_BLOCKS: Final = word_set(
    "comment do eval-and-compile eval-when eval-when-compile if let let* letrec progn unless when when-not with-eval-after-load",
)
"""Forms whose own forms may be definitions."""

_WITH_FIELDS: Final = word_set("defclass defrecord defstruct deftype cl-defstruct define-condition")


def forms(kinds: Mapping[str, SymbolKind], read: Callable[[str, str], Iterator[tuple[str, str, str]]]) -> RuleFunction:
    """Returns the rule for a form: `kinds` by the word that it begins with; `read` returns the (module, name, alias) that a form
    with a word imports, from its word and text."""

    def form(node: Node, context: RuleContext) -> Iterator[Found]:
        text = context.source[node.start_byte : min(node.end_byte, node.start_byte + _HEAD_CHARACTERS)].decode("utf-8", "replace")
        match = _FORM.match(text)
        word = "" if match is None else match["word"].rpartition("/")[2].rpartition(":")[2]
        if match is not None and word in kinds:
            yield from _define(kinds[word], word, match, node, context)
        elif context.enclosing in CLASS_LIKE and "defprotocol" in kinds:
            method = _METHOD.match(text)
            if method is not None:
                yield Definition(method["name"], "method", node, signature=text.partition("\n")[0])
        elif (first := _WORD.match(text)) is not None and first["word"] in _BLOCKS:
            yield Descend(node)
        if word in ("defsystem", "defpackage", "import", "load", "load-file", "ns", "require", "use-package"):
            for module, name, alias in read(word, context.text(node)):
                yield Import(*lines_of(node), module, name, alias)

    return form


def _define(kind: SymbolKind, word: str, match: re.Match[str], node: Node, context: RuleContext) -> Iterator[Found]:
    end = match.end()
    children = node.named_children
    after = next((each for each in children if each.start_byte > node.start_byte + end and "str" not in each.type), None)
    if after is not None and kind in ("fn", "macro", "method"):
        end = min(max(end, after.end_byte - node.start_byte), len(match.string))
    eol = match.string.find("\n", end)
    signature = match.string[: eol if eol >= 0 else None]
    strings = [
        each for each in [*children, *(children[0].named_children if children else [])] if each.type in ("str_lit", "string")
    ]
    comment = leading_comment(node, context)
    comment = comment.partition("\n")[2] if comment.startswith("#!") else comment
    doc = comment or (context.text(strings[0]) if strings and kind != "test" else "")
    members = tuple(_fields(node, context)) if word in _WITH_FIELDS else ()
    enters = kind in CLASS_LIKE or word in _BLOCKS or (kind in FUNCTION_LIKE and word.startswith("define"))
    yield Definition(match["name"], kind, node, (node,) if enters else (), signature=signature, doc=doc, members=members)


def _fields(node: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields the fields of a structure, which are the names in the last list before any option; constructors come first."""
    word = _FORM.match(context.text(node)[:_HEAD_CHARACTERS])
    form = "" if word is None else word["word"].rpartition("/")[2]
    children = node.named_children[2:]
    if form in ("defclass", "define-condition"):
        children = children[1:]
    lists = [each for each in children if each.type in ("list_lit", "vec_lit", "list")]
    if form in ("cl-defstruct", "defstruct"):
        found = [each for each in children if "str" not in each.type]
    else:
        found = lists[0].named_children if lists else []
    for field in found:
        name = re.match(_SYMBOL, re.sub(rf"^(?:{_META})+", "", context.text(field)[:200].lstrip("([ ")))
        if name is not None and name[0][0] not in ":&":
            yield Definition(name[0], "field", field)


_KEYWORD: Final = r":(?<![\w:]:)[\w\-.+*?!<>/]++"


def lisp_words(family: str, special: str, comment: str = r";[^\n]*+") -> Callable[[], LexicalRules]:
    def rules() -> LexicalRules:
        return LexicalRules(
            family=family,
            comments_and_strings=any_of(
                comment, r"#\|.*?(?:\|#|\Z)", r"\\[^\s()]", DOUBLE_LINES, r":(?<![\w:]:)[\w\-.+*?!<>/]++"
            ),
            name=re.compile(r"[^\W\d][\w\-+*?!<>=%&$]*|[*+<>=][\w\-+*?!<>=%&$]+"),
            keywords=word_set("let let* if cond when unless do and or not nil t fn lambda quote set! setq", special),
            call_marks="(",
            member_marks="",
            own=frozenset(),
            above=frozenset(),
        )

    return rules


def _clojure_imports(word: str, text: str) -> Iterator[tuple[str, str, str]]:
    listed = re.compile(
        r"[\[(]([a-z][\w.\-*+!?']*)(?:\s+:as(?:-alias)?\s+([\w.\-]+))?(?:\s+:(?:refer|only)\s+(?:[\[(]([^\])]*)[\])]|:all))?"
    )
    for block in re.finditer(r"\(:?(?:require|use|require-macros)\b(?P<list>(?:[^()]|\([^()]*\))*)", text):
        for module, alias, names in listed.findall(re.sub(r"\s([a-z][\w\-]*(?:\.[\w\-]+)+)(?=[\s)]|$)", r" [\1]", block["list"])):
            for name in names.split() or [""]:
                yield module, name, alias
    yield from _imported_classes(text)


def _imported_classes(text: str) -> Iterator[tuple[str, str, str]]:
    """`(:import (java.time Instant Duration) java.io.File)`."""
    for block in re.finditer(r"\(:import\b(?P<list>(?:[^()]|\([^()]*\))*)", text):
        for package, names, alone in re.findall(r"[(\[]([\w.]+)\s+([\w$][\w\s$]*)[)\]]|([\w.]+)", block["list"]):
            for name in names.split() or [""]:
                yield f"{package}.{name}" if name else alone, "", ""


def _quoted_imports(word: str, text: str) -> Iterator[tuple[str, str, str]]:
    if word in ("require", "load", "load-file"):
        for module in re.findall(r"['\"]([\w\-./]+)", text)[:1]:
            yield module, "", ""
    elif word == "defpackage":
        for used in re.findall(r"\(:(?:use|import-from)\s+([^()]*)\)", text):
            for name in re.findall(r"[:\"]([\w\-./]+)", used):
                yield name, "", ""


_NAMESPACE: Final = re.compile(rf"^\(ns\s+(?:{_META})*({_SYMBOL})".encode(), re.MULTILINE)


def _namespace(_path: str, _root: Node, source: bytes) -> tuple[str, ...]:
    found = _NAMESPACE.search(source)
    return () if found is None else (found[1].decode("utf-8", "replace"),)


def _kinds(**words: str) -> dict[str, SymbolKind]:
    return {word: kind for kind, listed in words.items() for word in listed.split()}  # type: ignore[misc]


_DISPLAY: Final = Display(line_comment=";")

CLOJURE = Language(
    grammar="clojure",
    rules={
        "list_lit": forms(
            _kinds(
                fn="defn defn- defmulti defmethod definline",
                macro="defmacro",
                var="def defonce",
                const="defconst",
                module="ns",
                struct="defrecord deftype",
                interface="defprotocol definterface",
                test="deftest defspec",
                impl="extend-type extend-protocol",
            ),
            _clojure_imports,
        ),
        "read_cond_lit": DESCEND,
        "splicing_read_cond_lit": DESCEND,
    },
    separator="/",
    module=_namespace,
    imports=plain_imports(
        endings=(".clj", ".cljc", ".cljs"), separator=".", path_of=lambda item: item.spec.replace("-", "_"), is_anywhere=True
    ),
    uses=lisp_words("clojure", "def defn defn- defmacro ns loop recur true false"),
    display=_DISPLAY,
)
COMMONLISP = Language(
    grammar="commonlisp",
    rules={
        "list_lit": forms(
            {
                "defclass": "class",
                "defstruct": "struct",
                "define-condition": "class",
                "defpackage": "module",
                "deftype": "type",
                "defmacro": "macro",
                "define-compiler-macro": "macro",
                "deftest": "test",
                "defmethod": "method",
                "defconstant": "const",
                **dict.fromkeys(("defvar", "defparameter", "defglobal"), "var"),
                **dict.fromkeys(("defun", "defgeneric", "defsetf"), "fn"),
            },
            _quoted_imports,
        )
    },
    imports=plain_imports(endings=("", ".lisp")),
    uses=lisp_words("commonlisp", "defun defmacro defmethod defclass defvar defparameter"),
    display=Display(line_comment=";", lexer="common-lisp"),
)
EMACSLISP = Language(
    grammar="elisp",
    rules=dict.fromkeys(
        ("list", "function_definition", "macro_definition", "special_form"),
        forms(
            {
                **dict.fromkeys(("defvar", "defvar-local", "defcustom", "defgroup", "defface", "defvar-keymap"), "var"),
                **dict.fromkeys(("defun", "defsubst", "cl-defun", "cl-defgeneric", "cl-defmethod", "defalias"), "fn"),
                **dict.fromkeys(("define-obsolete-function-alias", "define-obsolete-variable-alias", "defvaralias"), "fn"),
                **dict.fromkeys(("define-minor-mode", "define-derived-mode", "define-globalized-minor-mode"), "fn"),
                **dict.fromkeys(("transient-define-prefix", "transient-define-suffix", "define-inline", "define-advice"), "fn"),
                **dict.fromkeys(("defmacro", "cl-defmacro"), "macro"),
                "defconst": "const",
                "cl-defstruct": "struct",
                "defclass": "class",
                "define-error": "type",
                "ert-deftest": "test",
            },
            _quoted_imports,
        ),
    ),
    imports=plain_imports(endings=(".el", "")),
    uses=lisp_words("emacslisp", "defun defmacro defvar defcustom defconst"),
    display=Display(line_comment=";", lexer="emacs-lisp"),
)
