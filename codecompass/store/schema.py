"""The formats on disk: versions, the SQLite tables of one index, the fields of its text index and their tokens.

Tokens are lower-case runs of letters and digits; in fields of words that were split before, everything between blanks. tantivy's
default analyzer of the first kind drops tokens of 40 bytes and more, such as long test names and hashes.
"""

from typing import Final

import tantivy

from codecompass.languages.words import MAX_MARK_BYTES, MAX_TOKEN_BYTES

SCHEMA_VERSION: Final = 10
PARSER_VERSION: Final = 20
REGISTRY_VERSION: Final = 4

FACTS_TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    status TEXT NOT NULL,          -- indexed | skipped
    reason TEXT NOT NULL,          -- why skipped, or why without symbols ('' if neither)
    language TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,     -- 0: changed too recently to be trusted, hash it again next time
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    blob_id BLOB NOT NULL,         -- git's id of the content, x'' where only a part of it was read
    line_count INTEGER NOT NULL,
    chunk_count INTEGER NOT NULL,
    symbol_count INTEGER NOT NULL,
    is_parsed INTEGER NOT NULL,    -- 0: text only so far, symbols still to come
    encoding TEXT NOT NULL,        -- '' for UTF-8
    long_lines INTEGER NOT NULL,   -- lines whose text is left out because they are too long
    role_rank INTEGER NOT NULL     -- of its path, and of what its text says (generated.py): product code 0, see path_roles.py
);
CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    parent_id INTEGER,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    qualified_name TEXT NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,      -- 0, 1.. among same-named symbols on one line
    signature TEXT NOT NULL,
    visibility TEXT NOT NULL,
    doc TEXT NOT NULL,
    id_prefix INTEGER NOT NULL     -- the first 16 bits of its symbol_id, see identity.py
);
CREATE TABLE imports (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    spec TEXT NOT NULL,
    name TEXT NOT NULL,
    alias TEXT NOT NULL,
    kind TEXT NOT NULL,
    tail TEXT NOT NULL,            -- what the target depends on: file or directory names, see imports
    other_tail TEXT NOT NULL,
    target TEXT NOT NULL           -- path of a file, path of a directory with '/' at its end, or '' (outside, unknown)
);
CREATE TABLE row_languages (       -- of definitions and imports in code of another family than their file's, see walk/regions.py
    file_id INTEGER NOT NULL,
    is_import INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    language TEXT NOT NULL,
    PRIMARY KEY (file_id, is_import, row_id)
) WITHOUT ROWID;
CREATE TABLE uses (                -- where a file uses names, see languages/packed_uses.py; no row where it uses none
    file_id INTEGER PRIMARY KEY,
    names BLOB NOT NULL
);
CREATE TABLE unread_uses (file_id INTEGER PRIMARY KEY);  -- files whose uses are still to be read
CREATE TABLE path_tails (tail TEXT NOT NULL, file_id INTEGER NOT NULL, PRIMARY KEY (tail, file_id)) WITHOUT ROWID;
CREATE TABLE module_roots (
    file_id INTEGER NOT NULL,      -- the go.mod, tsconfig.json, package.json, Cargo.toml .. that says it
    ecosystem TEXT NOT NULL,
    prefix TEXT NOT NULL,
    directory TEXT NOT NULL,
    scope TEXT NOT NULL,           -- directory below which it holds, with '/' at its end ('' for everywhere)
    rank INTEGER NOT NULL          -- place within its file
);
CREATE TABLE text_files (          -- of the text index that belongs to these facts, see integrity.py
    name TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    digest BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE quarantine (content_hash BLOB PRIMARY KEY, cause TEXT NOT NULL, path TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE hidden_files (file_id INTEGER PRIMARY KEY);  -- whose rows in base.db do not count, see overlay.py
"""

MANIFEST_INDEXES: Final = (
    "CREATE UNIQUE INDEX IF NOT EXISTS main.files_path ON files (path)",
    "CREATE INDEX IF NOT EXISTS main.files_order ON files (role_rank, path)",
)

SYMBOL_INDEXES: Final = (
    # With `id_prefix` in it a symbol_id is looked up by reading this index alone: an index of its own would be 2.5 % of all.
    "CREATE INDEX IF NOT EXISTS main.symbols_file ON symbols (file_id, line_start, id_prefix)",
    "CREATE INDEX IF NOT EXISTS main.symbols_name ON symbols (name COLLATE NOCASE)",
    "CREATE INDEX IF NOT EXISTS main.symbols_parent ON symbols (parent_id) WHERE parent_id IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS main.imports_file ON imports (file_id)",
    "CREATE INDEX IF NOT EXISTS main.imports_target ON imports (target) WHERE target != ''",
    "CREATE INDEX IF NOT EXISTS main.imports_tail ON imports (tail) WHERE tail != ''",
    "CREATE INDEX IF NOT EXISTS main.imports_other_tail ON imports (other_tail) WHERE other_tail != ''",
    "CREATE INDEX IF NOT EXISTS main.module_roots_file ON module_roots (file_id)",
)
"""Created when the first symbols are published: loading 200,000 symbols without the indexes takes 1.0 s instead of 1.4."""

CHUNK_RECORD: Final = "c"
SYMBOL_RECORD: Final = "s"
FILE_RECORD: Final = "f"


def text_schema() -> tantivy.Schema:
    """Returns the fields of the text index. One index, separate fields per kind of record.

    Fields are separate because term and length statistics are per field. `key` identifies the hit (see `pack_chunk_key`) and is a
    fast field, so that reading it loads no stored document. Only `body` is stored. The chunks of a file together are its whole
    text, so an answer shows text of the same generation in which it was found.
    """
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("record", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("file_id", indexed=True, fast=True)
    builder.add_unsigned_field("key", fast=True)
    builder.add_text_field("language", tokenizer_name="raw", index_option="basic")
    # chunks
    builder.add_text_field("body", stored=True, tokenizer_name=WORDS, index_option="freq")
    builder.add_text_field("names", tokenizer_name=NAMES, index_option="basic")
    builder.add_text_field("parts", tokenizer_name=WORDS, index_option="freq")
    builder.add_text_field("pairs", tokenizer_name=NAMES, index_option="freq")
    builder.add_text_field("path_words", tokenizer_name=NAMES, index_option="freq")
    # symbols
    builder.add_text_field("name", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("name_words", tokenizer_name=NAMES, index_option="freq")
    builder.add_text_field("signature", tokenizer_name=WORDS, index_option="freq")
    builder.add_text_field("doc", tokenizer_name=WORDS, index_option="freq")
    # files
    builder.add_text_field("file_words", tokenizer_name=NAMES, index_option="freq")
    return builder.build()


WORDS: Final = "words"
NAMES: Final = "names"
"""The names of the analyzers in the schema. An index stores only the names: a writer must register the analyzers."""


def word_analyzer() -> tantivy.TextAnalyzer:
    """Returns the analyzer to register as `WORDS`."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(MAX_TOKEN_BYTES))
        .filter(tantivy.Filter.lowercase())
        .build()
    )


def name_analyzer() -> tantivy.TextAnalyzer:
    """Returns the analyzer to register as `NAMES`."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        .filter(tantivy.Filter.remove_long(MAX_TOKEN_BYTES + MAX_MARK_BYTES))
        .filter(tantivy.Filter.lowercase())
        .build()
    )


def index_tokens(text: str) -> list[str]:
    """Returns the tokens that `word_analyzer` makes of `text`, in order: lower case, without those of 128 bytes and more."""
    return _WORD_ANALYZER.analyze(text)


_WORD_ANALYZER: Final = word_analyzer()
"""Kept, because making one takes longer than a short text. It never lets another thread run while it works."""
