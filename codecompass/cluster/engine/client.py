"""The client of OpenSearch, the search engine that holds an organisation's indexes. All calls block.

Every call has a deadline. Nodes that do not answer are skipped; if none answers, `EngineUnavailable` is raised. Writers wait
while the engine is busy or its disk is full, up to the client's patience. Only features of the minimal distribution are used: no
scripts, no reindexing.
"""

import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
import opensearchpy
from msgspec import Struct
from opensearchpy.serializer import Serializer

from codecompass.cluster.engine.failures import Conflict, EngineRefused, EngineUnavailable, Missing, no_answer, reason_of, refusal
from codecompass.cluster.engine.login import EngineLogin, client_arguments
from codecompass.cluster.engine.schema import COPIES, FORMAT, IndexNames, JsonObject, index_bodies
from codecompass.errors import InvalidInput
from codecompass.remote.address import with_hidden_user
from codecompass.tracing import part
from codecompass.units import MINUTES, SECONDS

REQUEST_SECONDS: Final = 10 * SECONDS
WRITE_SECONDS: Final = 60 * SECONDS
"""Deadline of one bulk request; the engine may wait for a replica."""

PATIENCE_SECONDS: Final = 10 * MINUTES
"""How long a writer waits for an engine that accepts nothing: it is busy, lacks nodes, or its disk is full."""

COPIES_SECONDS: Final = 30 * SECONDS
"""How long to wait until each shard of a new index has its copy."""

FIRST_PAUSE_SECONDS: Final = 0.25 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 10 * SECONDS

MAX_LISTED: Final = 10_000
"""Documents of one page: the engine's own limit (`index.max_result_window`)."""

T = TypeVar("T")


class Document(Struct, frozen=True):
    """A document with its version: a compare-and-set succeeds only if both numbers are unchanged."""

    id: str
    source: bytes
    """JSON."""
    seq_no: int
    primary_term: int


class EngineHealth(Struct, frozen=True, kw_only=True):
    """The health that the engine reports for its nodes and our indexes."""

    status: str
    """`green`, `yellow` (a copy is missing) or `red` (data is missing)."""
    nodes: int
    shards: int
    """Active shards."""
    missing_shards: int
    """Shards without a node."""
    pending_tasks: int
    """Cluster-level changes that the engine's manager has not made yet."""


class _JsonBytes(Serializer):
    """Encodes and decodes with msgspec; the client would use `json`."""

    mimetype = "application/json"

    def loads(self, s: Any) -> Any:  # noqa: ANN401 (the client's signature)
        return msgspec.json.decode(s)

    def dumps(self, data: Any) -> Any:  # noqa: ANN401 (the client's signature)
        return data if isinstance(data, str | bytes) else msgspec.json.encode(data)


class Engine:
    """A client of the engine. Thread-safe. `urls` are those of some of its nodes."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        prefix: str = "codecompass",
        version: str = FORMAT,
        login: EngineLogin = EngineLogin(),  # noqa: B008 (frozen)
        timeout: float = REQUEST_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        """Opens no connection yet. Raises InvalidInput for an address that is not http or https, if there is none, and for a
        file of `login` that cannot be read."""
        for url in urls:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise InvalidInput(
                    f"the cluster's address must begin with http:// or https://, got: {with_hidden_user(url)!r}",
                    field="cluster_url",
                )
        if not urls:
            raise InvalidInput(
                "no address of the cluster. Pass --cluster-url, or set CODECOMPASS_CLUSTER_URL.", field="cluster_url"
            )
        self.names: Final = IndexNames(prefix, version)
        self._timeout = timeout
        self._patience = patience
        self._random = random.Random()
        self._closing = threading.Event()
        # It warns of every answer that is not 2xx, even of expected ones such as a missing document.
        logging.getLogger("opensearch").setLevel(logging.CRITICAL)
        self._client = opensearchpy.OpenSearch(
            list(urls),
            serializer=_JsonBytes(),
            timeout=timeout,
            max_retries=max(2, len(urls)),
            retry_on_timeout=True,
            retry_on_status=(502, 503, 504),
            pool_maxsize=32,
            dead_timeout=2,
            timeout_cutoff=3,
            ssl_show_warn=False,
            **client_arguments(login),
        )

    def stop_waiting(self) -> None:
        """Makes waiting writers fail, now and from now on. Writes that need not wait still succeed."""
        self._closing.set()

    def close(self) -> None:
        """Makes waiting writers fail and closes the connections."""
        self._closing.set()
        self._client.close()

    # the indexes and the engine's state

    def prepare(self) -> None:
        """Creates missing indexes; several processes may do so at once. Waits for an engine that is starting, and until the
        new indexes have their copies: before that, acknowledged writes would be lost with one node."""
        made = [self.patiently(partial(self._create, name, body)) for name, body in index_bodies(self.names).items()]
        if any(made):
            self._wait_for_copies()

    def _create(self, name: str, body: JsonObject) -> bool:
        """Creates an index if it is missing. Returns whether it was missing."""
        try:
            self._request("HEAD", f"/{name}")
        except Missing:
            pass
        else:
            return False
        try:
            self._request("PUT", f"/{name}", body, params={"wait_for_active_shards": "1"})
        except EngineRefused as error:
            if error.data.get("kind") != "resource_already_exists_exception":
                raise
        return True

    def _wait_for_copies(self) -> None:
        n_nodes = self._request("GET", "/_cluster/health")["number_of_data_nodes"]
        if n_nodes > COPIES:
            # If there is no room for a copy, because of a full disk, the index works without it.
            with contextlib.suppress(EngineUnavailable):
                params = {"wait_for_status": "green", "timeout": f"{COPIES_SECONDS:.0f}s"}
                self._request("GET", f"/_cluster/health/{self.names.all}", params=params, timeout=2 * COPIES_SECONDS)

    def health(self) -> EngineHealth:
        """Returns the health of the engine and of our indexes."""
        said = self._request("GET", f"/_cluster/health/{self.names.all}", params={"timeout": "1s", "level": "cluster"})
        return EngineHealth(
            status=said["status"],
            nodes=said["number_of_nodes"],
            shards=said["active_shards"],
            missing_shards=said["unassigned_shards"],
            pending_tasks=said["number_of_pending_tasks"],
        )

    def free_disk(self) -> float:
        """Returns the free part of the fullest disk of a node, from 0 to 1; 1.0 if no node has a disk."""
        said = self._request("GET", "/_nodes/stats/fs", params={"filter_path": "nodes.*.fs.total"})
        totals = [node["fs"]["total"] for node in said.get("nodes", {}).values() if "total" in node.get("fs", {})]
        return min((total["available_in_bytes"] / max(1, total["total_in_bytes"]) for total in totals), default=1.0)

    def told(self, path: str) -> JsonObject:
        """Returns the engine's answer to a GET of one of its interfaces about itself."""
        said: JsonObject = self._request("GET", path)
        return said

    # single documents

    def documents_of_any(self, pattern: str) -> list[tuple[str, Document]]:
        """Returns all documents of the indexes that a pattern matches, each with the name of its index."""
        params: dict[str, object] = {"allow_no_indices": "true", "expand_wildcards": "open"}
        body: JsonObject = {"query": {"match_all": {}}, "size": MAX_LISTED, "seq_no_primary_term": True}
        hits = self._request("POST", f"/{pattern}/_search", body, params=params, timeout=WRITE_SECONDS)["hits"]["hits"]
        return [(hit["_index"], _document(hit)) for hit in hits]

    def get(self, index: str, key: str) -> Document | None:
        """Returns the current state of a document, refreshed or not, or None if there is none."""
        try:
            found = self._request("GET", f"/{index}/_doc/{quote(key, safe='')}")
        except Missing:
            return None
        return _document(found)

    def get_many(self, index: str, keys: Sequence[str]) -> dict[str, JsonObject]:
        """Returns the contents of the documents `keys`, by key, without those that do not exist. Raises EngineUnavailable if one
        cannot be read now."""
        return {each["_id"]: each["_source"] for each in self._many(index, keys)}

    def get_documents(self, index: str, keys: Sequence[str]) -> list[Document]:
        """Returns the current states of the documents `keys`, without those that do not exist. Raises EngineUnavailable as
        `get_many` does."""
        return [_document(each) for each in self._many(index, keys)]

    def _many(self, index: str, keys: Sequence[str]) -> list[JsonObject]:
        if not keys:
            return []
        said = self._request("POST", f"/{index}/_mget", {"ids": list(keys)})
        for each in said["docs"]:
            if "error" in each:
                raise EngineUnavailable(f"the search engine could not read ({reason_of(each)}). Ask again in a moment.")
        return [each for each in said["docs"] if each.get("found")]

    def put(self, index: str, key: str, source: bytes, *, expected: Document | None) -> Document:
        """Writes a document if it is still `expected` (None: if it does not exist), and returns it.

        Raises Conflict otherwise. After a conflict the document is read: if it has our content, our write succeeded and only its
        answer was lost.
        """
        params: dict[str, object] = {"op_type": "create"}
        if expected is not None:
            params = {"if_seq_no": expected.seq_no, "if_primary_term": expected.primary_term}
        try:
            said = self._request("PUT", f"/{index}/_doc/{quote(key, safe='')}", source, params=params)
        except Conflict:
            # The client repeats a request that got no answer, and the first attempt may have been executed.
            now = self.get(index, key)
            if now is None or now.source != msgspec.json.encode(msgspec.json.decode(source)):
                raise
            return now
        return Document(key, source, said["_seq_no"], said["_primary_term"])

    def delete(self, index: str, key: str, *, expected: Document | None = None) -> None:
        """Deletes a document, if it exists. Raises Conflict if it is no longer `expected`, if that is given."""
        params = {} if expected is None else {"if_seq_no": expected.seq_no, "if_primary_term": expected.primary_term}
        try:
            self._request("DELETE", f"/{index}/_doc/{quote(key, safe='')}", params=params)
        except Missing:
            pass

    def documents(self, index: str, query: JsonObject, limit: int = MAX_LISTED) -> list[Document]:
        """Returns the documents that a query finds, as of the last refresh, in no particular order."""
        body = {"query": query, "size": min(limit, MAX_LISTED), "seq_no_primary_term": True}
        hits = self.search(index, body)["hits"]["hits"]
        return [_document(hit) for hit in hits]

    # search

    def search(self, index: str, body: JsonObject) -> JsonObject:
        """Returns the engine's answer to a search.

        Raises EngineUnavailable if a shard did not answer: a partial answer is never returned.
        """
        params: dict[str, object] = {"allow_partial_search_results": "false"}
        said: JsonObject = self._request("POST", f"/{index}/_search", body, params=params)
        if said.get("timed_out"):
            raise EngineUnavailable("the search engine was too slow. Ask again, or for less.")
        return said

    # writing

    def refresh(self, index: str, *, is_patient: bool = True) -> None:
        """Makes earlier writes visible to searches. Raises EngineUnavailable: after one attempt unless `is_patient`."""

        def attempt() -> None:
            self._request("POST", f"/{index}/_refresh", timeout=WRITE_SECONDS)

        if is_patient:
            self.patiently(attempt)
        else:
            attempt()

    def write(self, index: str, actions: Sequence[bytes]) -> None:
        """Sends one bulk request, and sends rejected actions again while the client's patience lasts."""
        left = list(actions)

        def attempt() -> None:
            params = {"timeout": "30s"}
            said = self._request("POST", f"/{index}/_bulk", b"".join(left), params=params, timeout=WRITE_SECONDS)
            if not said["errors"]:
                left.clear()
                return
            refused: list[bytes] = []
            failure: JsonObject = {}
            for action, item in zip(left, said["items"], strict=True):
                result = next(iter(item.values()))
                # 404 without an error: the document to delete does not exist. 409: the document to create exists.
                is_gone = result["status"] == 404 and "error" not in result
                if result["status"] >= 300 and result["status"] != 409 and not is_gone:
                    refused.append(action)
                    failure = result
            left[:] = refused
            if refused:
                raise refusal(failure["status"], failure)

        self.patiently(attempt)

    def patiently(self, work: Callable[[], T]) -> T:
        """Returns the result of `work`, retried while it raises EngineUnavailable and the client's patience lasts, after pauses
        that double."""
        began, pause = time.monotonic(), FIRST_PAUSE_SECONDS
        while True:
            try:
                return work()
            except EngineUnavailable:
                if time.monotonic() - began + pause > self._patience:
                    raise
            if self._closing.wait(pause * (0.5 + self._random.random())):
                raise EngineUnavailable("the client of the search engine was closed. Start again.")
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _request(
        self,
        method: Literal["GET", "PUT", "POST", "HEAD", "DELETE"],
        path: str,
        body: JsonObject | bytes | None = None,
        *,
        params: Mapping[str, object] | None = None,
        timeout: float | None = None,
    ) -> Any:  # noqa: ANN401 (JSON)
        arguments = {**(params or {}), "request_timeout": timeout or self._timeout}
        try:
            with part("engine", {"db.system.name": "opensearch", "db.operation.name": _operation(method, path)}, kind="client"):
                said = self._client.transport.perform_request(method, path, params=arguments, body=body)
        except opensearchpy.exceptions.ConnectionError as error:
            raise EngineUnavailable(no_answer(error, timeout or self._timeout)) from error
        except opensearchpy.exceptions.TransportError as error:
            info = error.info if isinstance(error.info, dict) else {}
            raise refusal(error.status_code, info) from error
        if method == "HEAD" and said is False:
            raise Missing
        return said


def _operation(method: str, path: str) -> str:
    """Returns what a request asks the engine for, without the index and the document: `POST _search`."""
    return f"{method} {next((each for each in path.split('/') if each.startswith('_')), 'index')}"


def _document(found: JsonObject) -> Document:
    return Document(found["_id"], msgspec.json.encode(found["_source"]), found["_seq_no"], found["_primary_term"])
