import json

import pytest
from msgspec import Raw

from codecompass.transport.mcp.client import MAX_PENDING, ClientRefused, ClientRequests
from codecompass.transport.mcp.jsonrpc import Response


class Sent:
    can_push = True

    def __init__(self):
        self.ids = []

    async def send(self, frame):
        self.ids.append(json.loads(frame.body)["id"])

    def finish(self):
        pass


async def test_answers_find_their_request_in_any_order():
    requests, out = ClientRequests(), Sent()
    pending = [await requests.send(out, "roots/list") for _ in range(3)]
    for id_ in reversed(out.ids):
        assert requests.settle(Response(id_, result=Raw(f'"{id_}"'.encode())))

    assert [json.loads(bytes(await each.wait(1))) for each in pending] == out.ids
    assert not requests.settle(Response(out.ids[0], result=Raw(b"{}")))


@pytest.mark.parametrize(
    ("error", "said"), [(b'{"code":-1,"message":"no"}', "no"), (b"5", "malformed error"), (b"[" * 5000, "malformed error")]
)
async def test_an_error_is_a_refusal_whatever_stands_in_it(error, said):
    requests, out = ClientRequests(), Sent()
    pending = await requests.send(out, "roots/list")
    requests.settle(Response(out.ids[0], error=Raw(error)))

    with pytest.raises(ClientRefused, match=said):
        await pending.wait(1)


async def test_a_client_that_never_answers_does_not_fill_the_memory():
    requests, out = ClientRequests(), Sent()
    for _ in range(MAX_PENDING + 5):
        await requests.send(out, "roots/list")

    known = [requests.settle(Response(id_, result=Raw(b"{}"))) for id_ in out.ids]

    assert known == [False] * 5 + [True] * MAX_PENDING


@pytest.mark.parametrize("id_", [1, "srv-2", "1"])
async def test_an_id_of_somebody_else_is_not_ours(id_):
    requests, out = ClientRequests(), Sent()
    await requests.send(out, "roots/list")

    assert not requests.settle(Response(id_, result=Raw(b"{}")))
