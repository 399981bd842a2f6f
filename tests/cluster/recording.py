"""An engine client that records what is asked."""

from codecompass.cluster.engine.client import Engine


class RecordingEngine(Engine):
    """Records all requests."""

    def __init__(self, urls, **options):
        super().__init__(urls, **options)
        self.requests: list[tuple[str, str, object]] = []

    def _request(self, method, path, body=None, **options):
        self.requests.append((method, path.split("/")[-1] if "/_doc/" not in path else "_doc", body))
        return super()._request(method, path, body, **options)
