"""The blocking client of REST interfaces: where its key goes, and what it makes of refusals."""

import time
from contextlib import closing
from email.utils import formatdate

import pytest

from codecompass.remote import rest
from codecompass.remote.address import parse_address
from codecompass.remote.rest import Answer, RestClient, ServiceBusy, ServiceFailed, is_safe
from tests.cluster.code_hosts import CodeHost, code_host


def get(host: CodeHost, path: str = "/repos", **headers: str) -> Answer:
    with closing(RestClient(parse_address(f"{host.site}/api"), headers)) as client:
        return client.get(path)


def test_the_next_page_is_that_of_the_relation_next():
    def link(value: str) -> str:
        return Answer(b"", {"link": value}).next_link

    assert link('<https://h/a?page=2>; rel="next", <https://h/a?page=9>; rel="last"') == "https://h/a?page=2"
    assert link('<https://h/a?page=1>; rel="prev",<https://h/a?page=3>; rel="next"') == "https://h/a?page=3"
    assert link('<https://h/a?page=9>; rel="last"') == ""
    assert link("garbage") == ""
    assert Answer(b"", {}).next_link == ""


def test_a_path_is_below_the_interface_and_one_connection_serves_several_requests():
    with (
        code_host("github", body=b"[]") as host,
        closing(RestClient(parse_address(f"{host.site}/api"), {"X-Key": "k"})) as client,
    ):
        for path in ("/a?b=c", f"{host.site}/other?d"):
            assert client.get(path).body == b"[]"

    assert host.asked == ["/api/a?b=c", "/other?d"]
    assert [each["x-key"] for each in host.sent] == ["k", "k"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "https://127.0.0.1/x", "http://user@127.0.0.1/x", "file:///x", "x"])
def test_nothing_is_sent_to_another_place(url):
    with code_host("github") as host, pytest.raises(ServiceFailed, match="another host"):
        get(host, url)

    assert host.asked == []


def test_a_redirect_is_a_failure():
    with code_host("github") as host:
        host.refusals = [(302, {"Location": f"{host.site}/elsewhere"})]
        with pytest.raises(ServiceFailed) as raised:
            get(host)

    assert raised.value.status == 302
    assert len(host.asked) == 1


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (429, {"Retry-After": "7"}, 7),
        (429, {}, rest.WAIT_SECONDS),
        (429, {"Retry-After": "soon"}, rest.WAIT_SECONDS),
        (429, {"Retry-After": "-5"}, 1),
        (429, {"Retry-After": "nan"}, rest.WAIT_SECONDS),
        (503, {"Retry-After": "999999"}, rest.LONGEST_WAIT_SECONDS),
        (403, {"Retry-After": "9"}, 9),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, 1),
    ],
)
def test_a_service_says_how_long_it_wants_no_requests(status, headers, seconds):
    with code_host("github") as host:
        host.refusals = [(status, headers)]
        with pytest.raises(ServiceBusy) as raised:
            get(host)

    assert raised.value.seconds == seconds


def test_a_reset_may_be_a_time():
    with code_host("github") as host:
        host.refusals = [(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{time.time() + 500:.0f}"})]
        with pytest.raises(ServiceBusy) as raised:
            get(host)

    assert 0 < raised.value.seconds <= 501


def test_what_is_forbidden_is_not_taken_for_a_rate_limit():
    with code_host("github") as host:
        host.refusals = [(403, {"X-RateLimit-Remaining": "41"})]
        with pytest.raises(ServiceFailed) as raised:
            get(host)

    assert not isinstance(raised.value, ServiceBusy)


def test_an_answer_that_is_too_large_and_a_service_that_is_away_are_failures(monkeypatch):
    monkeypatch.setattr(rest, "MAX_BYTES", 10)
    with code_host("github", body=b"[" + b" " * 10 + b"]") as host, pytest.raises(ServiceFailed, match="larger"):
        get(host)
    with pytest.raises(ServiceFailed, match="cannot be reached"):
        get(host)


@pytest.mark.parametrize(
    ("url", "expected"),
    [("https://h", True), ("http://h", False), ("http://127.0.0.1:9", True), ("http://localhost", True), ("http://[::1]", True)],
)
def test_a_key_is_only_sent_over_tls_or_to_this_machine(url, expected):
    assert is_safe(parse_address(url)) is expected


def test_a_date_says_how_long_to_wait_as_well_as_seconds_do():
    for said, least, most in (
        (formatdate(time.time() + 600, usegmt=True), 590, 601),
        (formatdate(time.time() - 600, usegmt=True), 1, 1),
        ("Someday, 32 Nov 2026", rest.WAIT_SECONDS, rest.WAIT_SECONDS),
    ):
        refusals = [(429, {"Retry-After": said})]
        with code_host("github", refusals=refusals) as host, pytest.raises(ServiceBusy) as raised:
            get(host)
        assert least <= raised.value.seconds <= most


@pytest.mark.parametrize("cut", [1, 5])
def test_an_answer_that_ends_too_early_is_a_failure_even_if_it_can_be_read(cut):
    with code_host("github", body=b"[]     ", cut=cut) as host, pytest.raises(ServiceFailed, match="too early"):
        get(host)


def test_a_client_beside_sends_the_same_key():
    with (
        code_host("azure", body=b"[]") as host,
        closing(RestClient(parse_address(f"{host.site}/one"), {"X-Key": "k"})) as client,
        closing(client.beside(parse_address(f"{host.site}/two"))) as other,
    ):
        other.get("/x")

    assert (host.asked, host.sent[0]["x-key"]) == (["/two/x"], "k")
