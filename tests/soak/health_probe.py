"""Requests /health repeatedly, from a separate process: python -m tests.soak.health_probe PORT

Ends when stdin is closed, and prints the response times: JSON with n, p50, p95 and max, in milliseconds.
"""

import http.client
import json
import select
import sys
import time

PAUSE_SECONDS = 0.03


def probe(port):
    took = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
        began = time.perf_counter()
        connection.request("GET", "/health")
        answer = connection.getresponse()
        body = json.loads(answer.read())
        took.append((time.perf_counter() - began) * 1000)
        assert answer.status == 200, answer.status
        assert body["status"] in ("ready", "indexing", "warming"), body
    return sorted(took)


if __name__ == "__main__":
    times = probe(int(sys.argv[1]))
    figures = {"n": len(times), "p50": times[len(times) // 2], "p95": times[int(len(times) * 0.95)], "max": times[-1]}
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))
