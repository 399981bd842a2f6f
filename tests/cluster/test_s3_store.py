"""A store in a bucket: parts of large objects, lists of many pages, keys that are replaced, TLS, and what failures say."""

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from msgspec.structs import replace

from codecompass.cluster.engine.schema import FORMAT
from codecompass.cluster.stores.opening import open_store
from codecompass.cluster.stores.s3 import PAGE, PART_BYTES
from codecompass.cluster.stores.segment_store import ObjectMissing, StoreUnavailable
from codecompass.settings import ClusterSettings
from tests.cluster.s3_service import S3Service
from tests.cluster.strange_store import StrangeStore, answer, refusal
from tests.support.certificates import self_signed, signed

REPO = "0123456789abcdef"
KEY = f"{REPO}/a1/5f"
TOP = f"p-v{FORMAT}"


@pytest.fixture
def store(s3_service):
    return open_store(s3_service.settings(s3_service.new_bucket()))


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "file"
    made.write_bytes(b"content")
    return made


@pytest.fixture
def keys(tmp_path):
    """Settings with keys that any strange store takes."""
    (tmp_path / "access").write_text("ACCESSKEY\n")
    (tmp_path / "secret").write_text("SECRETKEY\n")
    return ClusterSettings(
        segments="s3://code/x",
        prefix="p",
        s3_access_key_file=str(tmp_path / "access"),
        s3_secret_key_file=str(tmp_path / "secret"),
        s3_timeout_ms=20_000,
    )


@pytest.fixture
def strange(keys):
    """Opens a store whose service gives these answers."""
    made = []

    def opened(*answers, context=None, hangs_after=False, **settings):
        made.append(StrangeStore(answers, context, hangs_after=hangs_after))
        return open_store(replace(keys, s3_endpoint=made[-1].endpoint, **settings)), made[-1]

    yield opened
    for each in made:
        each.stop()


def content(store, key=KEY):
    return b"".join(store.blocks(key))


# A real service.


@pytest.mark.parametrize("size", [PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 7])
def test_an_object_of_several_parts_is_what_was_written(store, tmp_path, size):
    numbers = count()
    pattern = b"".join(next(numbers).to_bytes(4, "big") for _ in range(size // 4 + 1))[:size]
    (tmp_path / "large").write_bytes(pattern)

    store.put(KEY, tmp_path / "large")

    assert store.size(KEY) == size
    assert content(store) == pattern


def test_lists_of_many_pages_are_complete(store, file):
    keys = [f"{REPO}/a1/{number:04}" for number in range(PAGE + 1)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: store.put(key, file), keys))

    assert store.keys(REPO) == keys


def test_what_others_put_beside_the_objects_is_neither_listed_nor_removed(s3_service, file):
    bucket = s3_service.new_bucket()
    store = open_store(s3_service.settings(bucket))
    store.put(KEY, file)
    top = s3_service.objects / bucket / "some" / "where" / TOP
    (top / REPO / "notes").write_text("mine")

    assert store.keys(REPO) == [KEY]
    assert store.repositories() == [REPO]


def test_keys_that_were_replaced_are_read_again(s3_service, file, tmp_path, monkeypatch):
    monkeypatch.setattr("codecompass.cluster.stores.s3.KEYS_KEPT_SECONDS", 0)
    (tmp_path / "secret").write_text("old\n")
    store = open_store(s3_service.settings(s3_service.new_bucket(), s3_secret_key_file=str(tmp_path / "secret")))
    with pytest.raises(StoreUnavailable, match=r"does not accept the key \(403 SignatureDoesNotMatch\)"):
        store.put(KEY, file)

    (tmp_path / "secret").write_bytes(s3_service.secret_key_file.read_bytes())

    store.put(KEY, file)
    assert content(store) == b"content"
    (tmp_path / "secret").unlink()
    with pytest.raises(StoreUnavailable, match="files with its keys cannot be read"):
        store.keys(REPO)


def test_a_bucket_that_does_not_exist_is_not_taken_for_one_without_the_object(s3_service, file):
    store = open_store(s3_service.settings("no-such-bucket"))

    for use in (lambda: content(store), lambda: store.put(KEY, file), lambda: store.keys(REPO), store.repositories):
        with pytest.raises(StoreUnavailable, match=r"there is no such bucket.*can create the bucket"):
            use()


def test_a_service_with_a_certificate_of_its_own_is_used_if_the_settings_name_it(tmp_path, file):
    key, certificate, authority = signed(tmp_path, "store")
    service = S3Service(tmp_path / "service", (key, certificate))
    try:
        settings = service.settings(service.new_bucket())
        with pytest.raises(StoreUnavailable, match=r"certificate is not trusted.*cluster\.s3_ca_file"):
            open_store(settings).put(KEY, file)

        store = open_store(replace(settings, s3_ca_file=str(authority)))

        store.put(KEY, file)
        assert content(store) == b"content"
        elsewhere = settings.s3_endpoint.replace("127.0.0.1", "localhost")
        with pytest.raises(StoreUnavailable, match="certificate is for another host name"):
            content(open_store(replace(settings, s3_ca_file=str(authority), s3_endpoint=elsewhere)))
    finally:
        service.kill()


# Failures.


@pytest.mark.parametrize(
    ("said", "what", "advice"),
    [
        (refusal("404 Not Found", "NoSuchBucket"), "there is no such bucket", "create the bucket"),
        (refusal("403 Forbidden", "InvalidAccessKeyId"), "does not accept the key", "cluster.s3_access_key_file"),
        (refusal("403 Forbidden", "SignatureDoesNotMatch"), "does not accept the key", "cluster.s3_secret_key_file"),
        (refusal("400 Bad Request", "ExpiredToken"), "does not accept the key", "renew the key"),
        (refusal("403 Forbidden", "AccessDenied"), "no right to do this", "docs/organisation.md"),
        (refusal("403 Forbidden", "RequestTimeTooSkewed"), "clock", "time service"),
        (refusal("403 Forbidden", "InvalidObjectState"), "moved to an archive", "lifecycle rule"),
        (refusal("301 Moved Permanently", "PermanentRedirect"), "another region", "cluster.s3_region"),
        (refusal("400 Bad Request", "AuthorizationHeaderMalformed"), "another region", "cluster.s3_region"),
        (refusal("503 Slow Down", "SlowDown"), "too many requests", "fewer workers"),
        (refusal("507 Insufficient Storage", "XMinioStorageFull"), "no space left", "make room"),
        (refusal("403 Forbidden", "QuotaExceeded"), "no space left", "raise the quota"),
        (refusal("500 Internal Server Error", "InternalError"), "answers 500 InternalError", "log of the service"),
        (answer("502 Bad Gateway", b"<html>"), "answers 502", "log of the service"),
        (b"", "ended an answer too early", "log of the service"),
        (b"220 mail.example.com ESMTP\r\n", "not that of a service for S3", "cluster.s3_endpoint"),
        (answer("206 Partial Content", b"abc", "Content-Range: bytes 0-9/10", length=10), "ended an answer too early", "proxies"),
    ],
)
def test_each_failure_says_what_helps_and_nothing_that_is_secret(strange, monkeypatch, said, what, advice):
    monkeypatch.setattr("codecompass.cluster.stores.s3.RETRIES", 1)
    monkeypatch.setattr("codecompass.cluster.stores.s3.FIRST_PAUSE_SECONDS", 0.001)
    store, _ = strange(said)

    for use in (lambda: content(store), lambda: store.keys(REPO)):
        with pytest.raises(StoreUnavailable) as raised:
            use()

        message = raised.value.message
        assert message.startswith("the store of segments at s3://code/x at http://127.0.0.1:")
        assert what in message
        assert advice in message
        assert not any(hidden in message for hidden in ("HIDDEN", "ACCESSKEY", "SECRETKEY"))
        assert raised.value.__cause__ is None, "the cause has the service's answer"
        assert raised.value.is_retryable


def test_an_object_is_missing_only_if_there_is_a_bucket_without_it(strange):
    """Some services answer `NoSuchKey` where there is no bucket."""
    missing = refusal("404 Not Found", "NoSuchKey")
    store, _ = strange(missing, answer("200 OK", b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"))
    without_bucket, _ = strange(missing, refusal("404 Not Found", "NoSuchBucket"))

    with pytest.raises(ObjectMissing):
        content(store)
    with pytest.raises(StoreUnavailable, match="no such bucket"):
        content(without_bucket)


def test_a_service_that_asks_for_less_gets_the_request_again(strange, file, monkeypatch):
    monkeypatch.setattr("codecompass.cluster.stores.s3.FIRST_PAUSE_SECONDS", 0.001)
    store, service = strange(refusal("503 Slow Down", "SlowDown"), refusal("500 Error", "InternalError"), answer("200 OK"))

    store.put(KEY, file)

    assert len(service.heads) == 3


def test_requests_are_repeated_a_bounded_number_of_times(strange, file, monkeypatch):
    monkeypatch.setattr("codecompass.cluster.stores.s3.RETRIES", 2)
    monkeypatch.setattr("codecompass.cluster.stores.s3.FIRST_PAUSE_SECONDS", 0.001)
    store, service = strange(refusal("503 Slow Down", "SlowDown"))

    with pytest.raises(StoreUnavailable):
        store.put(KEY, file)

    assert len(service.heads) == 3


@pytest.mark.parametrize(
    "said", [None, answer("206 Partial Content", b"abc", "Content-Range: bytes 0-9/10", length=10)], ids=["nothing", "a part"]
)
def test_a_service_that_hangs_is_given_up_at_the_deadline(strange, said):
    store, service = strange(said, hangs_after=True, s3_timeout_ms=1_000)

    with pytest.raises(StoreUnavailable, match=r"did not answer within 1 s.*cluster\.s3_timeout_ms"):
        content(store)

    assert service.is_asked.wait(60)
    assert len(service.heads) == 1, "what took its whole time is not asked again"


BEGUN = answer("200 OK", b"<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>")


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ([BEGUN, refusal("507 Insufficient Storage", "XMinioStorageFull")], "no space left"),
        # S3 may answer 200 while it puts the parts together, and fail then.
        ([BEGUN, answer("200 OK"), answer("200 OK"), refusal("200 OK", "InternalError")], "answers InternalError"),
    ],
    ids=["a part", "the whole"],
)
def test_an_upload_that_fails_is_taken_back_and_no_success(strange, tmp_path, monkeypatch, said, what):
    monkeypatch.setattr("codecompass.cluster.stores.s3.RETRIES", 0)
    store, service = strange(*said)
    (tmp_path / "large").write_bytes(b"x" * (PART_BYTES + 1))

    with pytest.raises(StoreUnavailable, match=what):
        store.put(KEY, tmp_path / "large")

    assert service.heads[-1].startswith(f"DELETE /code/x/{TOP}/{KEY}?uploadId=u1 ".encode())


def test_a_port_without_a_service_is_named(keys):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"

    with pytest.raises(StoreUnavailable, match=r"cannot be reached.*start it, or correct cluster\.s3_endpoint"):
        open_store(replace(keys, s3_endpoint=endpoint)).keys(REPO)


def test_the_bucket_is_in_the_path_or_before_the_host(strange, keys, monkeypatch):
    store, service = strange(refusal("404 Not Found", "NoSuchKey"))
    assert store.size(KEY) is None
    assert service.heads[0].startswith(f"HEAD /code/x/{TOP}/{KEY} ".encode())

    # The name needs not be known here: a proxy is asked for it.
    monkeypatch.setenv("http_proxy", service.endpoint)
    store = open_store(replace(keys, s3_endpoint="http://s3.example.com", s3_path_style=False))
    assert store.size(KEY) is None
    assert service.heads[1].startswith(f"HEAD http://code.s3.example.com/x/{TOP}/{KEY} ".encode())


def test_an_untrusted_certificate_gets_no_request(strange, tmp_path, file):
    key, certificate = self_signed(tmp_path, "node")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    store, service = strange(answer("200 OK"), context=context)

    with pytest.raises(StoreUnavailable, match="certificate is that of an authority"):
        store.put(KEY, file)

    assert service.heads == []
