"""Makes the engine's documents of a file, for its chunks, its symbols and its path, and writes documents in bulk.

Documents have the tokens of the embedded store. They are made in the caller's thread while earlier ones are being sent by others.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

import msgspec

from codecompass.cluster.engine import Engine
from codecompass.cluster.schema import SCORED
from codecompass.cluster.trigrams import trigrams
from codecompass.languages.records import Chunk
from codecompass.languages.words import ODD_WORD_MARK, WordSplitter, odd_words, split_identifier
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.schema import CHUNK_RECORD, FILE_RECORD, SYMBOL_RECORD, index_tokens, name_analyzer
from codecompass.store.snapshot import pack_chunk_key
from codecompass.store.term_counts import FIELDS as COUNTED
from codecompass.store.term_counts import TermTally
from codecompass.store.text_writer import SEARCHED_KINDS_EXCLUDED
from codecompass.units import MIB, SECONDS

BULK_BYTES: Final = 4 * MIB
"""Size of one bulk request. The engine's documentation advises 5 to 15 MB; with a heap of 512 MB it limits writes in progress to
51 MB."""

AT_ONCE: Final = 2
"""Requests in flight, so that the engine never waits for the next one."""

LOOK_SECONDS: Final = 0.5 * SECONDS


class DocumentMaker:
    """Makes the documents of one piece and counts their words. Not thread-safe."""

    def __init__(self, repo_id: str, piece: str) -> None:
        self._repo_id = repo_id
        self._piece = piece
        self._splitter = WordSplitter()
        self._names = name_analyzer()
        self.tally: Final = TermTally()
        """Word counts of the documents made so far."""

    def of_file(self, file: IndexedFile, chunks: Sequence[Chunk], symbols: Sequence[SymbolRow]) -> Iterator[bytes]:
        """Yields each document as two lines of a bulk request: the action and the document."""
        path_words = self._names.analyze(" ".join(split_identifier(file.path)))
        fields = {"file_words": path_words, "path_trigrams": trigrams(file.path)}
        yield self._action(FILE_RECORD, file, file.id, fields)
        for chunk in chunks:
            words = self._splitter.words_of_text(chunk.text)
            key = pack_chunk_key(file.id, chunk.line_start, chunk.line_end)
            fields = {
                "body": index_tokens(chunk.text),
                "parts": _tokens(words.parts),
                "pairs": words.pairs.split(),
                "path_words": path_words,
                **self._names_of(chunk.text, words.names),
            }
            yield self._action(CHUNK_RECORD, file, key, fields, text=chunk.text)
        by_id = {symbol.id: symbol for symbol in symbols}
        for symbol in symbols:
            if symbol.kind not in SEARCHED_KINDS_EXCLUDED:
                words_of_name = (*split_identifier(symbol.name), *split_identifier(_scope_name(by_id, symbol)))
                fields = {
                    "name_words": self._names.analyze(" ".join(words_of_name)),
                    "signature": index_tokens(symbol.signature),
                    "doc": index_tokens(symbol.doc),
                }
                yield self._action(SYMBOL_RECORD, file, symbol.id, fields, name=symbol.name.lower())

    def _names_of(self, text: str, names: str) -> dict[str, list[str]]:
        tokens = self._names.analyze(names)
        odd = odd_words(text) if ODD_WORD_MARK in tokens else []
        return {"names": tokens, "odd_trigrams": list(dict.fromkeys(group for word in odd for group in trigrams(word)))}

    def _action(self, record: str, file: IndexedFile, key: int, fields: Mapping[str, list[str]], **texts: str) -> bytes:
        document: dict[str, object] = {
            "repo_id": self._repo_id,
            "piece": self._piece,
            "record": record,
            "file_id": file.id,
            "key": key,
            "language": file.language,
            **texts,
        }
        self.tally.add("record", (record,))
        if "name" in texts:
            self.tally.add("name", (texts["name"],))
        for field, tokens in fields.items():
            if tokens:
                document[field] = " ".join(tokens)
                if field in COUNTED:
                    self.tally.add(field, tokens)
                if field in SCORED:
                    document[f"n_{field}"] = len(tokens)
        action = {"index": {"_id": f"{self._piece}{record}{key:x}"}}
        return msgspec.json.encode(action) + b"\n" + msgspec.json.encode(document) + b"\n"


def _tokens(words: str) -> list[str]:
    return index_tokens(words) if words else []


def _scope_name(symbols: Mapping[int, SymbolRow], symbol: SymbolRow) -> str:
    """Returns the name of the enclosing scope, skipping tests, as `text_writer.symbol_rows` does."""
    parent = symbols.get(symbol.parent_id) if symbol.parent_id is not None else None
    while parent is not None and parent.kind == "test":
        parent = symbols.get(parent.parent_id) if parent.parent_id is not None else None
    return "" if parent is None else parent.name


def write_documents(
    engine: Engine, index: str, actions: Iterable[bytes], *, routing: str = "", checkpoint: Callable[[], None] = lambda: None
) -> int:
    """Writes documents and returns their number. Each of `actions` is the lines of one bulk action, with their line breaks.

    Actions must be idempotent, because rejected ones are sent again, and independent of each other. `checkpoint` is called in the
    caller's thread, at least twice a second while waiting, and may raise.
    Raises EngineUnavailable after `Engine`'s patience, EngineRefused for a document that the engine rejects for good.
    """
    given_up = threading.Event()
    under_way: set[Future[None]] = set()
    n_written = 0

    def wait_for_all_but(n_left: int) -> None:
        checkpoint()
        while len(under_way) > n_left:
            done, _ = wait(under_way, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            checkpoint()
            under_way.difference_update(done)
            for each in done:
                each.result()

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="bulk") as threads:
        try:
            for batch in _batches(actions):
                wait_for_all_but(AT_ONCE - 1)
                under_way.add(threads.submit(engine.write, index, batch, routing=routing, is_given_up=given_up.is_set))
                n_written += len(batch)
            wait_for_all_but(0)
        finally:
            given_up.set()
    return n_written


def _batches(actions: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    n_bytes = 0
    for action in actions:
        batch.append(action)
        n_bytes += len(action)
        if n_bytes >= BULK_BYTES:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch
