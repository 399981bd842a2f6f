"""Fills an engine with generated repositories, each a copy of a real one with its own words (`copies.py`).

Documents of a real repository are made once, as a publication makes them, from texts and symbols with a mark after each changed
word. A copy replaces the mark and the ids in them, so that only the engine limits the writing speed. A copy has:

- text: documents, routed by its id, refreshed once, as a worker does at the end of a publication;
- facts: the blocks of the real repository's own files, under its id, so definitions in them keep their original names. The counts
  of words are the copy's: blocks with a mark are replaced and packed again;
- a manifest with the averages of its documents, and a repository document with one head.
"""

import secrets
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.copies import MARK, RARE, changed, marked, suffix, words_in
from codecompass.cluster.documents import DocumentMaker, write_documents
from codecompass.cluster.engine import Engine
from codecompass.cluster.manifests import (
    TERMS_FILE,
    Averages,
    BlockFile,
    Manifest,
    Piece,
    block_document,
    block_id,
    block_key,
    read_blocks,
)
from codecompass.cluster.publishing import facts_files
from codecompass.cluster.repositories import RefHead, Repository
from codecompass.cluster.schema import SCORED
from codecompass.store.epochs import compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from codecompass.store.rows import SymbolRow
from codecompass.store.schema import CHUNK_RECORD, PARSER_VERSION, SCHEMA_VERSION
from codecompass.store.snapshot import IndexMeta, Snapshot
from codecompass.store.term_counts import write_term_counts

REPO_MARK: Final = "5e1fb0c5d2a7496e"
PIECE_MARK: Final = "90c47be1a6f3d2587be1c09d"

GROUP: Final = "thirty"
"""The group of the first IN_GROUP repositories, which a question may name."""

IN_GROUP: Final = 30
SAMPLES: Final = 40


class Real(Struct, frozen=True):
    """A real repository whose index can be copied."""

    name: str
    project_id: str
    files: int


class _Block(Struct, frozen=True):
    key: bytes
    document: bytes
    raw: bytes = b""
    """The content, if a mark is in it."""


class Template(Struct, frozen=True, kw_only=True):
    """Everything in a copy, with marks in place of what differs."""

    real: Real
    meta: IndexMeta
    actions: tuple[bytes, ...]
    averages: Averages
    files: tuple[tuple[str, int, tuple[_Block, ...]], ...]
    """The name, size in bytes and blocks of each."""
    names: tuple[str, ...]
    """Some names of definitions that are changed."""
    lines: tuple[str, ...]
    """Some lines with a changed word."""


class Copy(Struct, frozen=True):
    """A generated repository in the engine."""

    number: int
    repo_id: str
    name: str
    template: Template

    def own(self, text: str) -> str:
        """Returns a text of the template as it is in this copy."""
        return text.replace(MARK, suffix(self.number))


def real_repositories(home: HomeLayout) -> list[Real]:
    """Returns the repositories of a home that are indexed and can be copied, by name."""
    found = []
    with open_registry(home) as registry:
        for project in registry.projects():
            layout = home.project(project.project_id)
            if compatibility(layout).status == "compatible":
                index = WorkspaceIndex(layout, project.project_id)
                with index.snapshot() as snapshot:
                    if snapshot.meta.completeness == "complete" and snapshot.meta.file_count:
                        found.append(Real(project.root.name, project.project_id, snapshot.meta.file_count))
                index.close()
    return sorted(found, key=lambda each: each.name)


def template_of(home: HomeLayout, real: Real) -> Template:
    """Makes the template for copies of a real repository."""
    index = WorkspaceIndex(home.project(real.project_id), real.project_id)
    try:
        with index.snapshot() as snapshot, tempfile.TemporaryDirectory() as scratch:
            maker = DocumentMaker(REPO_MARK, PIECE_MARK)
            words = changed(_rare_words(snapshot))
            names: list[str] = []
            lines: list[str] = []
            actions = tuple(_marked_documents(snapshot, maker, words, names, lines))
            terms = Path(scratch) / TERMS_FILE
            write_term_counts(terms, maker.tally.counts())
            paths = {**facts_files(home.project(real.project_id)), TERMS_FILE: terms}
            files = tuple((name, path.stat().st_size, tuple(_blocks(path))) for name, path in sorted(paths.items()))
            rng = Random(real.name)
            return Template(
                real=real,
                meta=snapshot.meta,
                actions=actions,
                averages=_averages(actions),
                files=files,
                names=tuple(rng.sample(names, min(SAMPLES, len(names)))),
                lines=tuple(rng.sample(lines, min(SAMPLES, len(lines)))),
            )
    finally:
        index.close()


def _rare_words(snapshot: Snapshot) -> Iterator[str]:
    counts = Counter[str]()
    for file_id in snapshot.facts.contents():
        for chunk in snapshot.text.file_chunks(file_id):
            counts.update(words_in(chunk.text))
    return (word for word, n in counts.items() if n <= RARE)


def _marked_documents(
    snapshot: Snapshot, maker: DocumentMaker, words: frozenset[str], names: list[str], lines: list[str]
) -> Iterator[bytes]:
    ids = tuple(snapshot.facts.contents())
    for start in range(0, len(ids), 500):
        for file in snapshot.facts.indexed_files(ids[start : start + 500]).values():
            chunks = [replace(chunk, text=marked(chunk.text, words)) for chunk in snapshot.text.file_chunks(file.id)]
            symbols = [_marked_symbol(symbol, words) for symbol in snapshot.facts.symbols_in_file(file.id)]
            names += (symbol.name for symbol in symbols if symbol.name.endswith(MARK) and symbol.kind in ("function", "class"))
            for chunk in chunks:
                lines += (line for each in chunk.text.splitlines() if MARK in each and 20 <= len(line := each.strip()) <= 100)
            yield from maker.of_file(file, chunks, symbols)


def _marked_symbol(symbol: SymbolRow, words: frozenset[str]) -> SymbolRow:
    name, signature, doc = (marked(text, words) for text in (symbol.name, symbol.signature, symbol.doc))
    return replace(symbol, name=name, signature=signature, doc=doc)


class _Counted(Struct):
    record: str
    n_body: int = 0
    n_parts: int = 0
    n_pairs: int = 0
    n_path_words: int = 0
    n_name_words: int = 0
    n_signature: int = 0
    n_doc: int = 0
    n_file_words: int = 0


def _averages(actions: Sequence[bytes]) -> Averages:
    decode = msgspec.json.Decoder(_Counted).decode
    n_chunks, tokens = 0, dict.fromkeys(SCORED, 0)
    for action in actions:
        document = decode(action.split(b"\n")[1])
        n_chunks += document.record == CHUNK_RECORD
        for field in SCORED:
            tokens[field] += getattr(document, f"n_{field}")
    return Averages(len(actions), n_chunks, tuple(tokens.values()))


def _blocks(path: Path) -> Iterator[_Block]:
    for raw in read_blocks(path):
        is_own = path.name == TERMS_FILE and MARK.encode() in raw
        yield _Block(b"", b"", raw) if is_own else _Block(block_key(raw), block_document(REPO_MARK, raw))


class Filler:
    """Writes copies. Threads may share it; templates are made on first use and kept."""

    def __init__(self, engine: Engine, home: HomeLayout) -> None:
        self._engine = engine
        self._home = home
        self._lock = threading.Lock()
        self._templates: dict[str, Template] = {}
        self.template_seconds = 0.0

    def template(self, real: Real) -> Template:
        """Returns the template for copies of a real repository."""
        with self._lock:
            found = self._templates.get(real.name)
            if found is None:
                began = time.monotonic()
                found = self._templates[real.name] = template_of(self._home, real)
                self.template_seconds += time.monotonic() - began
                print(f"made documents of {real.name}: {len(found.actions):,}", file=sys.stderr, flush=True)
        return found

    def copy(self, number: int, template: Template) -> Copy:
        """Returns copy `number`, without writing it."""
        return Copy(number, repository_id(number), f"{template.real.name}/copy-{number}", template)

    def write(self, number: int, template: Template) -> Copy:
        """Writes copy `number`, and makes it visible."""
        names = self._engine.names
        copy = self.copy(number, template)
        repo_id, generation, commit = copy.repo_id, secrets.token_hex(12), secrets.token_hex(20)
        n_documents = write_documents(self._engine, names.text, own_actions(copy, generation), routing=repo_id)
        self._engine.refresh(names.text)
        files, blocks = own_files(copy)
        write_documents(
            self._engine,
            names.blocks,
            (b'{"index":{"_id":"%s"}}\n%s\n' % (block_id(repo_id, key).encode(), document) for key, document in blocks.items()),
        )
        now, meta = time.time(), template.meta
        manifest = Manifest(
            generation=generation,
            repo_id=repo_id,
            project_id=template.real.project_id,
            made_at=now,
            pieces=(Piece(generation, documents=n_documents),),
            files=files,
            averages=template.averages,
            meta=meta,
            schema_version=SCHEMA_VERSION,
            parser_version=PARSER_VERSION,
        )
        head = RefHead(
            generation=generation,
            commit=commit,
            published_at=now,
            file_count=meta.file_count,
            symbol_count=meta.symbol_count,
            source_bytes=meta.source_bytes,
            made_by=(SCHEMA_VERSION, PARSER_VERSION),
        )
        repository = Repository(
            repo_id=repo_id,
            name=copy.name,
            url=f"https://git.example.org/{copy.name}",
            groups=("everyone", GROUP) if number < IN_GROUP else ("everyone",),
            added_at=now,
            changed_at=now,
            done_changes=1,
            polls=1,
            heads={"main": head},
            default_ref="main",
            seen={"main": commit},
        )
        for index, key, document in (
            (names.manifests, generation, manifest.packed()),
            (names.repositories, repo_id, msgspec.json.encode(repository)),
        ):
            self._engine.patiently(lambda where=index, id_=key, what=document: self._engine.put(where, id_, what, expected=None))
        return copy


def repository_id(number: int) -> str:
    """Returns the id of copy `number`, the same in each run."""
    return Random(f"copy:{number}").randbytes(8).hex()


def own_actions(copy: Copy, generation: str) -> Iterator[bytes]:
    """Yields the documents of a copy, each with its action line."""
    replaced: Mapping[bytes, bytes] = {
        REPO_MARK.encode(): copy.repo_id.encode(),
        PIECE_MARK.encode(): generation.encode(),
        MARK.encode(): suffix(copy.number).encode(),
    }
    for action in copy.template.actions:
        for mark, own in replaced.items():
            action = action.replace(mark, own)
        yield action


def own_files(copy: Copy) -> tuple[tuple[BlockFile, ...], Mapping[bytes, bytes]]:
    """Returns the files of a copy, and the documents of their blocks by key."""
    repo_mark, repo_id = REPO_MARK.encode(), copy.repo_id.encode()
    documents: dict[bytes, bytes] = {}
    files = []
    for name, size, blocks in copy.template.files:
        keys = []
        for block in blocks:
            key, document = block.key, block.document.replace(repo_mark, repo_id, 1)
            if block.raw:
                raw = block.raw.replace(MARK.encode(), suffix(copy.number).encode())
                key, document = block_key(raw), block_document(copy.repo_id, raw)
            keys.append(key)
            documents[key] = document
        files.append(BlockFile(name, size, tuple(keys)))
    return tuple(files), documents
