"""JavaScript, with JSX; CommonJS and ECMAScript modules."""

from codecompass.store.languages.base import Language
from codecompass.store.languages.ecmascript import SCRIPT_RULES
from codecompass.store.languages.ecmascript_modules import module_of, note_exports
from codecompass.store.languages.ecmascript_scopes import doc_comment
from codecompass.store.languages.ecmascript_tests import TESTS

JAVASCRIPT = Language(
    name="javascript",
    grammar="javascript",
    extensions=(".js", ".cjs", ".es6", ".jsx", ".mjs"),
    filenames=("Jakefile",),
    interpreters=("node", "nodejs", "qjs"),
    rules=SCRIPT_RULES,
    comment_marks=(b"//", b"/*"),
    tests=TESTS,
    module=module_of,
    before=note_exports,
    doc=doc_comment,
)
