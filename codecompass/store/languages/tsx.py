"""TypeScript with JSX, which has a grammar of its own because `<T>x` means something else there."""

from codecompass.store.languages.base import Language
from codecompass.store.languages.ecmascript import TYPED_RULES
from codecompass.store.languages.ecmascript_modules import module_of, note_exports
from codecompass.store.languages.ecmascript_scopes import doc_comment
from codecompass.store.languages.ecmascript_tests import TESTS

TSX = Language(
    name="tsx",
    grammar="tsx",
    extensions=(".tsx",),
    rules=TYPED_RULES,
    comment_marks=(b"//", b"/*"),
    tests=TESTS,
    module=module_of,
    before=note_exports,
    doc=doc_comment,
)
