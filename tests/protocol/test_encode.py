"""Replies as bytes: absent fields are omitted, required ones are present, and equal replies give equal bytes."""

import json

from codecompass.errors import SymbolNotFound, error_body
from codecompass.protocol.encode import encode, encoded_size, one_line
from codecompass.protocol.metadata import PROTOCOL_VERSION, Metadata, bare_metadata
from codecompass.protocol.replies import ErrorReply, LocateSymbolReply, Result


def metadata(**more):
    return Metadata(
        codecompass_protocol_version=PROTOCOL_VERSION,
        freshness_status="fresh",
        indexing_status="ready",
        result_completeness="complete",
        ref="main",
        schema_status="compatible",
        workspace="/w",
        project_id="0123456789abcdef",
        **more,
    )


def test_absent_fields_are_left_out_and_required_ones_written_in_order():
    reply = LocateSymbolReply(
        results=(Result(path="a.py", line_start=1, line_end=2, kind="fn", name="f"),),
        total_candidates=1,
        metadata=metadata(),
    )

    text = encode(reply).decode()

    assert text == (
        '{"results":[\n{"path":"a.py","line_start":1,"line_end":2,"kind":"fn","name":"f"}\n],"total_candidates":1,'
        '"metadata":{"codecompass_protocol_version":"1.0","freshness_status":"fresh","indexing_status":"ready",'
        '"result_completeness":"complete","ref":"main","schema_status":"compatible","workspace":"/w",'
        '"project_id":"0123456789abcdef"}}'
    )


def test_an_empty_page_still_has_its_list():
    reply = LocateSymbolReply(results=(), total_candidates=0, metadata=metadata())

    assert json.loads(encode(reply))["results"] == []


def test_a_failure_carries_code_message_and_data_and_the_version_of_the_protocol():
    reply = ErrorReply(error=error_body(SymbolNotFound("no symbol x", name="x")), metadata=bare_metadata())

    assert json.loads(encode(reply)) == {
        "error": {"code": "symbol_not_found", "message": "no symbol x", "data": {"name": "x"}},
        "metadata": {"codecompass_protocol_version": "1.0"},
    }


def test_text_that_utf8_cannot_carry_does_not_stop_the_answer():
    reply = LocateSymbolReply(
        results=(Result(path="\udcff.py", line_start=1, line_end=1),), total_candidates=1, metadata=metadata()
    )

    assert json.loads(encode(reply))["results"][0]["path"] == "\ufffd.py"


def test_each_result_is_a_line_whatever_it_holds():
    results = tuple(Result(path=path, line_start=1, line_end=2, snippet="a\nb") for path in ("a.py", "b\n.py"))
    reply = LocateSymbolReply(results=results, total_candidates=2, metadata=metadata(warnings=("one", "two")))

    first, *lines, last = encode(reply).split(b"\n")

    assert [json.loads(line.rstrip(b","))["path"] for line in lines] == ["a.py", "b\n.py"]
    assert (first, last[:2]) == (b'{"results":[', b"],")
    assert json.loads(one_line(encode(reply))) == json.loads(encode(reply))
    assert b"\n" not in one_line(encode(reply))


def test_the_size_of_a_part_is_its_share_of_the_answer():
    result = Result(path="é.py", line_start=1, line_end=1)
    one = LocateSymbolReply(results=(result,), total_candidates=1, metadata=metadata())
    none = LocateSymbolReply(results=(), total_candidates=1, metadata=metadata())

    assert len(encode(one)) - len(encode(none)) == encoded_size(result) + len("\n\n")
