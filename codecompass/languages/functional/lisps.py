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
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE_LINES, any_of
from codecompass.languages.words import word_set

_SYMBOL: Final = r"[^\s()\[\]{}\"';`,@^#][^\s()\[\]{}\"';`,]*"
_META: Final = r"\^(?:\{[^}]*\}|[^\s{]+)\s+"
"""What is said of the name after it, in Clojure."""
_METHOD: Final = re.compile(rf"\((?:{_META})*(?P<name>{_SYMBOL})\s+\[")
_WORD: Final = re.compile(rf"\(\s*(?P<word>{_SYMBOL})\s")
_FORM: Final = re.compile(
    rf"\(\s*(?P<word>{_SYMBOL})\s+(?P<shape>(?:\^\{{[^}}]*\}}\s+|\^[^\s{{]+\s+|['#:(])*)(?:(?<=\()setf\s+)?(?P<name>{_SYMBOL}|\"[^\"\\]+\")"
)
_OTHER_DEFINER: Final = re.compile(r"(?:[\w-]+-)?def(?:ine|un|macro|subst|type|var|method|handler|advice)?(?:-[a-z][\w-]*)?\*?")
_NO_DEFINER: Final = word_set(
    "def-edebug-spec defadvice define-abbrev define-coding-system-alias define-key define-key-after define-keymap",
    "gv-define-setter gv-define-simple-setter",
)
_AUTOLOAD: Final = re.compile(r"^;;;###autoload.*\n?", re.MULTILINE)
_CAN_BE_STRINGS: Final = word_set("define-package defpackage defsystem describe it xit deftest test def-test def-suite")
_HEAD_CHARACTERS: Final = 1_000

_BLOCKS: Final = word_set(
    "comment do eval-and-compile eval-when eval-when-compile flet if labels let let* letrec macrolet progn symbol-macrolet",
    "unless use-package when when-not with-eval-after-load",
)
"""Forms whose own forms may be definitions."""

_WITH_FIELDS: Final = word_set("defclass defrecord defstruct deftype cl-defstruct define-condition")


def forms(
    kinds: Mapping[str, SymbolKind], read: Callable[[str, str], Iterator[tuple[str, str, str]]], *, has_others: bool = False
) -> RuleFunction:
    """Returns the rule for a form: `kinds` by the word that it begins with; `read` returns the (module, name, alias) that a form
    with a word imports, from its word and text. `has_others`: other words like `define-thing` are macros that define too."""

    def form(node: Node, context: RuleContext) -> Iterator[Found]:
        text = context.source[node.start_byte : min(node.end_byte, node.start_byte + _HEAD_CHARACTERS)].decode("utf-8", "replace")
        match, first = _FORM.match(text), _WORD.match(text)
        word = "" if first is None else first["word"].rpartition("/")[2].rpartition(":")[2]
        kind = kinds.get(word)
        if kind is None and has_others and context.enclosing is None and word not in _NO_DEFINER:
            is_definer = _OTHER_DEFINER.fullmatch(word) is not None and node.parent is not None and node.parent.parent is None
            kind = ("fn" if word[-3:] == "fun" else "macro" if "macro" in word else "var") if is_definer else None
        if match is not None and kind is not None and (match["name"][0] != '"' or word in _CAN_BE_STRINGS):
            yield from _define(kind, word, match, node, context)
        elif context.enclosing in CLASS_LIKE and "defprotocol" in kinds:
            method = _METHOD.match(text)
            if method is not None:
                yield Definition(method["name"], "method", node, signature=text.partition("\n")[0])
        elif word in _BLOCKS:
            yield Descend(node)
        if word in ("define-package", "defsystem", "defpackage", "import", "load", "load-file", "ns", "require", "use-package"):
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
    comment = leading_comment(node, context)
    comment = comment.partition("\n")[2] if comment.startswith("#!") else _AUTOLOAD.sub("", comment)
    start = node.start_byte + len(match.string[: match.end()].encode())
    doc = comment or _text_about(kind, word, start, node, context)
    members = tuple(_fields(node, context)) if word in _WITH_FIELDS else ()
    enters = kind in CLASS_LIKE or word in _BLOCKS or word == "describe"
    yield Definition(
        match["name"].strip('"'), kind, node, (node,) if enters else (), signature=signature, doc=doc, members=members
    )


def _text_about(kind: SymbolKind, word: str, start: int, node: Node, context: RuleContext) -> str:
    """Returns the string after the byte at `start` that says what is defined; of two one is the value, or the title of a mode."""
    children = [*node.named_children, *(node.named_children[0].named_children if node.named_children else [])]
    after = [each for each in children if each.start_byte >= start]
    strings = [each for each in after if each.type in ("str_lit", "string")]
    is_value = kind in ("const", "var")
    if kind == "test" or not strings or (is_value and len(after) == 1) or word.startswith("define-obsolete"):
        return ""
    is_second = word in _WITH_TITLE or (is_value and word not in _DOC_FIRST)
    return context.text(strings[1 if is_second and len(strings) > 1 else 0])


_WITH_TITLE: Final = word_set("define-derived-mode define-compilation-mode")
_DOC_FIRST: Final = word_set("def defonce defgroup defvar-keymap")


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
    elif word == "use-package":
        yield re.split(r"[\s)]", text.partition(word)[2].strip())[0], "", ""
    elif word == "defsystem":
        for name in re.findall(r"\(:file\s+\"([^\"]+)\"", text):
            yield name, "", ""
    else:
        for clause, names in re.findall(r"\(:(use|use-reexport|mix|import-from)\s+([^()]*)\)", text):
            for name in re.findall(r"[\w\-./]+", names)[: 1 if clause == "import-from" else None]:
                yield name, "", ""


_NAMESPACE: Final = re.compile(rf"^\(ns\s+(?:{_META})*({_SYMBOL})".encode(), re.MULTILINE)


def _namespace(_path: str, _root: Node, source: bytes) -> tuple[str, ...]:
    found = _NAMESPACE.search(source)
    return () if found is None else (found[1].decode("utf-8", "replace"),)


def _conditional(node: Node, context: RuleContext) -> Iterator[Found]:
    """`#+sbcl (defun ..)`; `#+nil` and `#+(or)` are comments."""
    if re.match(r"#\+\s*(?:nil\b|:?ignore\b|\(\s*or\s*\))", context.text(node)[:20]) is None:
        yield Descend(node)


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
                **dict.fromkeys(("defpackage", "define-package", "defsystem"), "module"),
                "deftype": "type",
                **dict.fromkeys(("defmacro", "define-compiler-macro", "define-modify-macro", "define-symbol-macro"), "macro"),
                **dict.fromkeys(("deftest", "define-test", "def-test", "test", "def-suite"), "test"),
                "defmethod": "method",
                **dict.fromkeys(("defconstant", "define-constant"), "const"),
                **dict.fromkeys(("defvar", "defparameter", "defglobal"), "var"),
                **dict.fromkeys(("defun", "defgeneric", "defsetf", "defalias", "define-setf-expander"), "fn"),
            },
            _quoted_imports,
            has_others=True,
        ),
        "include_reader_macro": _conditional,
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
                **dict.fromkeys(("cl-defsubst", "iter-defun", "define-prefix-command", "define-generic-mode"), "fn"),
                **dict.fromkeys(("define-compilation-mode", "evil-define-command", "evil-define-operator"), "fn"),
                **dict.fromkeys(("define-widget", "cl-deftype"), "type"),
                **dict.fromkeys(("ert-deftest", "describe", "it", "xit"), "test"),
            },
            _quoted_imports,
            has_others=True,
        ),
    ),
    imports=plain_imports(endings=(".el", "")),
    uses=lisp_words("emacslisp", "defun defmacro defvar defcustom defconst"),
    display=Display(line_comment=";", lexer="emacs-lisp"),
)
