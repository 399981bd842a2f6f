"""Fills an organisation with repositories from indexes that are there: real ones, and generated ones, which are copies of them.

The files of a real index are written to the store of segments once. A copy has a manifest that refers to those objects, so that a
thousand copies take the disk of one; a server fetches, checks and keeps the files of each copy separately, as they are of another
repository. What a copy has of its own is its summary of words, from which repositories are selected: `copies.py` says which words
of a real index are in the summary of which copy.
"""

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bench.copies import RARE, Owners, suffix, words_in
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.indexing.publishing import NO_STAMP, WORDS, NewGeneration, publish
from codecompass.cluster.repositories.manifests import Manifest, SegmentFile
from codecompass.cluster.repositories.repository import RefHead, Repository
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.store.epochs import compatibility, require_compatible
from codecompass.store.facts_record import digest_of
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.registry import open_registry
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_reader import TextReader
from codecompass.store.word_summary import summary_of

GROUP: Final = "thirty"
"""The group of the first IN_GROUP repositories, which a question may name."""

IN_GROUP: Final = 30
MAX_LINE: Final = 100
MIN_LINE: Final = 20
MIN_NAME: Final = 6


class Real(Struct, frozen=True):
    """A real repository whose index can be published and copied."""

    name: str
    project_id: str
    files: int


class Sample(Struct, frozen=True):
    """A text of a real repository that one copy has, to ask for, and the word in it that the others do not have."""

    text: str
    word: str
    owner: int
    """The number of that copy among those of the real repository."""


class Template(Struct, frozen=True, kw_only=True):
    """What the copies of a real repository share."""

    real: Real
    manifest: Manifest
    owners: Owners
    names: tuple[Sample, ...]
    """Names of definitions that one copy has."""
    lines: tuple[Sample, ...]
    """Lines with one word that one copy has, and no other such word."""

    @property
    def n_bytes(self) -> int:
        """The size of its files, which each copy has in a store of copies that share nothing."""
        return sum(file.size for file in self.manifest.segments)

    @property
    def n_summary(self) -> int:
        """The size of its summary of words."""
        return sum(file.size for file in self.manifest.segments if file.name == WORDS)


class Copy(Struct, frozen=True):
    """A generated repository: copy `turn` of its template, and `number` among all."""

    number: int
    turn: int
    template: Template

    @property
    def repo_id(self) -> str:
        """Its id, the same in each run."""
        return repository_id(f"copy:{self.number}")

    @property
    def name(self) -> str:
        """Its name in the organisation."""
        return f"{self.template.real.name}/copy-{self.number}"


def repository_id(seed: str) -> str:
    """Returns the id of a generated repository, the same in each run."""
    return Random(seed).randbytes(8).hex()


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


class Filler:
    """Writes repositories to an engine and a store of segments. Threads may share it."""

    def __init__(self, engine: Engine, store: SegmentStore, home: HomeLayout) -> None:
        self._engine = engine
        self._store = store
        self._home = home

    def publish(self, real: Real) -> Manifest:
        """Publishes a real repository under its own name, as a worker does."""
        repo_id = repository_id(real.name)
        manifest = self._written(real, repo_id)
        self._put(repo_id, f"real/{real.name}", manifest, ("everyone",))
        return manifest

    def template(self, real: Real, n_copies: int) -> Template:
        """Writes the objects that the copies of a real repository share, of which there will be `n_copies` at most."""
        manifest = self._written(real, repository_id(f"template:{real.name}"))
        owners = Owners(n_copies)
        index = WorkspaceIndex(self._home.project(real.project_id), real.project_id)
        try:
            with index.snapshot() as snapshot:
                names, lines = samples(snapshot, owners)
        finally:
            index.close()
        return Template(real=real, manifest=manifest, owners=owners, names=names, lines=lines)

    def write(self, copy: Copy) -> None:
        """Writes what a copy has of its own, and makes it visible."""
        template, generation = copy.template, secrets.token_hex(12)
        with tempfile.TemporaryDirectory(prefix="filling-") as scratch:
            summary = Path(scratch) / WORDS
            layout = self._home.project(template.real.project_id)
            summary.write_bytes(copied_summary(layout, template.owners, copy.turn, suffix(copy.number)))
            digest, size = digest_of(summary), summary.stat().st_size
            own = SegmentFile(WORDS, size, digest, f"{copy.repo_id}/{generation}/{digest.hex()}")
            self._store.put(own.key, summary)
        shared = tuple(file for file in template.manifest.segments if file.name != WORDS)
        manifest = replace(
            template.manifest,
            generation=generation,
            repo_id=copy.repo_id,
            made_at=time.time(),
            segments=(*shared, own),
        )
        self._create(self._engine.names.manifests, generation, manifest.packed())
        groups = ("everyone", GROUP) if copy.number < IN_GROUP else ("everyone",)
        self._put(copy.repo_id, copy.name, manifest, groups)

    def _written(self, real: Real, repo_id: str) -> Manifest:
        published = publish(
            self._engine,
            self._store,
            NewGeneration(
                repo_id=repo_id,
                generation=secrets.token_hex(12),
                layout=self._home.project(real.project_id),
                project_id=real.project_id,
            ),
        )
        return published.manifest

    def _put(self, repo_id: str, name: str, manifest: Manifest, groups: tuple[str, ...]) -> None:
        """Makes a generation visible."""
        now, meta, commit = time.time(), manifest.meta, secrets.token_hex(20)
        head = RefHead(
            generation=manifest.generation,
            commit=commit,
            published_at=now,
            file_count=meta.file_count,
            symbol_count=meta.symbol_count,
            source_bytes=meta.source_bytes,
            made_by=(SCHEMA_VERSION, PARSER_VERSION),
        )
        repository = Repository(
            repo_id=repo_id,
            name=name,
            url=f"https://git.example.org/{name}",
            groups=groups,
            added_at=now,
            changed_at=now,
            done_changes=1,
            polls=1,
            heads={"main": head},
            default_ref="main",
            seen={"main": commit},
        )
        self._create(self._engine.names.repositories, repo_id, msgspec.json.encode(repository))

    def _create(self, index: str, key: str, document: bytes) -> None:
        self._engine.patiently(lambda: self._engine.put(index, key, document, expected=None))


def copied_summary(layout: ProjectLayout, owners: Owners, turn: int, letters: str) -> bytes:
    """Returns the summary of words of copy `turn` of the index in `layout`."""
    index = WorkspaceIndex(layout, layout.project_id)
    try:
        with index.snapshot() as snapshot:
            text = _CopiedText(layout.text(require_compatible(layout).epoch, snapshot.meta.generation))
            text.own = partial(owners.own, turn=turn, letters=letters)
            return summary_of(replace(snapshot, text=text), NO_STAMP)
    finally:
        index.close()


class _CopiedText(TextReader):
    """The text index of a real repository, with the words of a copy: `own` returns what it has in place of a rare word."""

    own: Callable[[str], str]

    def words_of(self, field: str) -> Sequence[tuple[str, int]]:
        """See `TextReader`."""
        return [(self.own(word) if count <= RARE else word, count) for word, count in super().words_of(field)]


def samples(snapshot: Snapshot, owners: Owners) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """Returns names of definitions, and lines, that exactly one copy has by its summary."""
    text = snapshot.text
    assert isinstance(text, TextReader)
    names = [
        Sample(name, name, owner)
        for name, count in text.words_of("name")
        if count <= RARE and len(name) >= MIN_NAME and name.isidentifier() and (owner := owners.owner(name)) is not None
    ]
    rare = {word for word, count in text.words_of("body") if count <= RARE}
    lines: list[Sample] = []
    for file in _files(snapshot):
        for chunk in snapshot.text.file_chunks(file):
            for each in chunk.text.splitlines():
                line = each.strip()
                if MIN_LINE <= len(line) <= MAX_LINE and "_" not in line:
                    found = words_in(line) & rare
                    if len(found) == 1 and (owner := owners.owner(word := next(iter(found)))) is not None:
                        lines.append(Sample(line, word, owner))
    return tuple(names), tuple(lines)


def _files(snapshot: Snapshot) -> Iterator[int]:
    ids = list(snapshot.facts.contents())
    Random(snapshot.project_id).shuffle(ids)
    return iter(ids)
