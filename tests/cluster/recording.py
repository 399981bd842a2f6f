"""An engine client that records what is asked."""

from codecompass.cluster.engine import Engine


class RecordingEngine(Engine):
    """Records all requests, and can leave documents out of answers as a copy does that is behind."""

    def __init__(self, urls, **options):
        super().__init__(urls, **options)
        self.requests: list[tuple[str, str, object]] = []
        self.is_behind = 0
        """For how many more requests for texts."""

    def _request(self, method, path, body=None, **options):
        self.requests.append((method, path.split("/")[-1] if "/_doc/" not in path else "_doc", body))
        said = super()._request(method, path, body, **options)
        if self.is_behind and path.endswith("_msearch") and b'"stored_fields":["text"]' in body:
            self.is_behind -= 1
            for answer in said["responses"]:
                answer["hits"]["hits"] = []
                answer["hits"].get("total", {})["value"] = 0
        return said

    def sent(self, kind: str) -> list[object]:
        """Returns the bodies of the requests of a kind since the last call, and forgets all."""
        found = [body for _, path, body in self.requests if path == kind]
        self.requests.clear()
        return found

    def numbers_of_searches(self) -> list[int]:
        """Returns how many searches were in each request for searches since the last call, and forgets all."""
        found = [1 if kind == "_search" else body.count(b"\n") // 2 for _, kind, body in self.requests if kind.endswith("search")]
        self.requests.clear()
        return found
