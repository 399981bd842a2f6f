"""Validates what we send against the protocol's official types: every frame of a connection, by its revision."""

import json
from functools import cache

from codecompass.transport.mcp import protocol

TASK_METHODS = {protocol.TASKS_GET, protocol.TASKS_CANCEL, protocol.TASKS_UPDATE}
TASK_STATUSES = {"working", "input_required", "completed", "cancelled", "failed"}


@cache
def methods():
    """Returns the official method tables. Imported late: the import takes half a second."""
    import mcp_types.methods

    return mcp_types.methods


@cache
def adapter(type_):
    from pydantic import TypeAdapter

    return TypeAdapter(type_)


class Judge:
    """Remembers the requests of a connection, and raises for a frame that no official client of its revision would accept."""

    def __init__(self):
        self.revision = protocol.ASSUMED_REVISION
        self.asked = {}

    def sent(self, message):
        """Records a message from the client."""
        if "id" not in message or "method" not in message:
            return
        meta = (message.get("params") or {}).get("_meta") or {}
        revision = meta.get(protocol.META_REVISION, self.revision)
        self.asked[(type(message["id"]), message["id"])] = (message["method"], revision)

    def received(self, frame: bytes):
        """Returns the message in the frame, validated."""
        assert b"\n" not in frame, "a frame is one line"
        message = json.loads(frame)
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            self._own(message)
        elif "error" in message:
            self._error(message)
        else:
            self._result(message)
        return message

    def _own(self, message):
        tables = methods()
        if "id" in message:
            table = tables.SERVER_REQUESTS
        elif message["method"] == protocol.TASK_STATUS:
            self._task(message["params"])
            return
        else:
            table = tables.SERVER_NOTIFICATIONS
        is_modern = protocol.META_SUBSCRIPTION in (message.get("params") or {}).get("_meta", {})
        revision = protocol.MODERN_REVISION if is_modern else self.revision
        adapter(table[(message["method"], revision)]).validate_python(message, by_name=False)

    def _error(self, message):
        error = message["error"]
        assert set(message) <= {"jsonrpc", "id", "error"}
        assert "id" not in message or isinstance(message["id"], int | str)
        assert isinstance(error["code"], int)
        assert error["message"]
        assert isinstance(error["data"]["code"], str)
        assert not -32099 <= error["code"] <= -32023
        assert not -32019 <= error["code"] <= -32000 or error["code"] == protocol.RESOURCE_NOT_FOUND

    def _result(self, message):
        method, revision = self.asked[(type(message["id"]), message["id"])]
        result = message["result"]
        if method == protocol.INITIALIZE:
            self.revision = revision = result["protocolVersion"]
        if result.get("resultType") == "task":
            assert method == protocol.TOOLS_CALL
            self._task(result)
        elif method in TASK_METHODS:
            assert result["resultType"] == "complete"
            if method == protocol.TASKS_GET:
                self._task(result)
                if result["status"] == "completed":
                    methods().validate_server_result(protocol.TOOLS_CALL, protocol.MODERN_REVISION, result["result"])
        else:
            methods().validate_server_result(method, revision, result)
            is_modern = revision == protocol.MODERN_REVISION
            assert ("resultType" in result) == is_modern
            assert not is_modern or result["_meta"][protocol.META_SERVER]["name"]

    def _task(self, task):
        assert task["taskId"]
        assert task["status"] in TASK_STATUSES
        assert task["createdAt"] <= task["lastUpdatedAt"]
        assert task["ttlMs"] > 0
        assert task["pollIntervalMs"] > 0
        assert ("result" in task) == (task["status"] == "completed")
        assert ("error" in task) == (task["status"] == "failed")
        assert ("inputRequests" in task) == (task["status"] == "input_required")
