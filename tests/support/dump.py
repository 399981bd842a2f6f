"""The contents of an index as comparable values: every table without row ids, and every document of the text index."""

import sqlite3

from codecompass.store.index import WorkspaceIndex
from codecompass.store.text_queries import FieldBoost, WordQuery

IGNORED_META = {"generation", "published_at", "commit"}

TABLES = {
    "files": (
        "SELECT path, status, reason, language, size, content_hash, line_count, chunk_count, symbol_count, is_parsed FROM files"
    ),
    "symbols": (
        "SELECT f.path, s.name, s.kind, s.qualified_name, s.line_start, s.line_end, s.ordinal, s.signature, s.visibility, s.doc, "
        "s.id_prefix, p.name, p.line_start "
        "FROM symbols s JOIN files f ON f.id = s.file_id LEFT JOIN symbols p ON p.id = s.parent_id"
    ),
    "imports": (
        "SELECT f.path, i.line_start, i.line_end, i.spec, i.name, i.alias, i.kind, i.tail, i.other_tail, i.target "
        "FROM imports i JOIN files f ON f.id = i.file_id"
    ),
    "row_languages": (
        "SELECT f.path, r.language, r.is_import, coalesce(s.name, i.spec) FROM row_languages r JOIN files f ON f.id = r.file_id "
        "LEFT JOIN symbols s ON s.id = r.row_id AND NOT r.is_import LEFT JOIN imports i ON i.id = r.row_id AND r.is_import"
    ),
    "path_tails": "SELECT t.tail, f.path FROM path_tails t JOIN files f ON f.id = t.file_id",
    "module_roots": (
        "SELECT f.path, r.ecosystem, r.prefix, r.directory, r.scope, r.rank FROM module_roots r JOIN files f ON f.id = r.file_id"
    ),
    "uses": "SELECT f.path, u.names FROM uses u JOIN files f ON f.id = u.file_id",
    "quarantine": "SELECT hex(content_hash), cause FROM quarantine",
}


def dump(index: WorkspaceIndex) -> dict[str, list]:
    """Returns the whole content of an index, independent of the jobs that built it."""
    with index.snapshot() as snapshot:
        connection: sqlite3.Connection = snapshot.facts._connection
        content = {name: sorted(connection.execute(sql).fetchall(), key=repr) for name, sql in TABLES.items()}
        content["meta"] = sorted(item for item in snapshot.facts.meta().items() if item[0] not in IGNORED_META)
        paths = dict(snapshot.facts.paths())
        content["text"] = [
            (path, chunk.line_start, chunk.line_end, chunk.text)
            for file_id, path in sorted(paths.items(), key=lambda item: item[1])
            for chunk in snapshot.text.file_chunks(file_id)
        ]
        content["orphan symbols"] = connection.execute(
            "SELECT name FROM symbols WHERE file_id NOT IN (SELECT id FROM files)"
        ).fetchall()
        content["document count"] = [(snapshot.text.document_count,)]
        return content


def hits(index: WorkspaceIndex, word: str) -> dict[str, list]:
    """Returns the hits for one word in every searched field, as sorted lists without scores."""
    with index.snapshot() as snapshot:
        paths = dict(snapshot.facts.paths())

        def query(*fields: str) -> list[WordQuery]:
            return [WordQuery(word, tuple(FieldBoost(field, 1.0) for field in fields))]

        chunks = snapshot.text.search_chunks(query("body", "parts", "path_words"), 10_000)
        symbols = snapshot.facts.symbols_by_id(
            [hit.symbol_id for hit in snapshot.text.search_symbols(query("name_words", "signature", "doc", "name"), 10_000)]
        )
        files = snapshot.text.search_files(query("file_words"), 10_000)
        return {
            "chunks": sorted((paths[hit.file_id], hit.line_start, hit.line_end) for hit in chunks),
            "symbols": sorted((row.path, row.line_start, row.name) for row in symbols.values()),
            "files": sorted(paths[hit.file_id] for hit in files),
            "prefix": sorted(
                (row.path, row.line_start, row.name)
                for row in snapshot.facts.symbols_by_id(snapshot.text.prefix_symbols(word, 10_000)).values()
            ),
        }
