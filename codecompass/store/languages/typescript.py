"""TypeScript, declaration files among it."""

from codecompass.store.languages.base import Language
from codecompass.store.languages.ecmascript import TYPED_RULES
from codecompass.store.languages.ecmascript_modules import module_of, note_exports
from codecompass.store.languages.ecmascript_scopes import doc_comment
from codecompass.store.languages.ecmascript_tests import TESTS
from codecompass.store.languages.typescript_preparation import prepare

TYPESCRIPT = Language(
    name="typescript",
    grammar="typescript",
    extensions=(".ts", ".cts", ".mts"),
    interpreters=("bun", "deno", "ts-node", "tsx"),
    rules=TYPED_RULES,
    comment_marks=(b"//", b"/*"),
    prepare=prepare,
    tests=TESTS,
    module=module_of,
    before=note_exports,
    doc=doc_comment,
)
