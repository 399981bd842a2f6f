"""Replies that are passed between processes."""

import pytest

from codecompass.actors.packed_structs import packed, unpacked
from codecompass.errors import SymbolNotFound, error_body
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState, BareMetadata, bare_metadata
from codecompass.protocol.replies import ErrorReply, SearchCodeReply
from codecompass.query.metadata import answer_metadata


def reply_of(workspace):
    state = AnswerState(
        workspace=workspace,
        project_id="there",
        ref="main",
        is_partial=False,
        freshness_status="fresh",
        indexing_status="ready",
        schema_status="compatible",
    )
    return SearchCodeReply(results=(), query_intent="words", total_candidates=0, metadata=answer_metadata(None, state))


def test_a_field_with_its_default_stays_out_of_the_reply():
    """`unit` has one that is no empty value: a copy of it would be written down."""
    reply = reply_of("/there")

    again = unpacked(packed(reply))

    assert encode(again) == encode(reply)
    assert b"unit" not in encode(again)


def test_an_error_keeps_its_values_and_the_metadata_of_its_answer():
    error = SymbolNotFound("no symbol of that name", similar=["a", "b"])
    error.metadata = bare_metadata("/there")

    again = unpacked(packed(error))

    assert isinstance(again, SymbolNotFound)
    assert isinstance(again.metadata, BareMetadata)
    assert encode(ErrorReply(error=error_body(again), metadata=again.metadata)) == encode(
        ErrorReply(error=error_body(error), metadata=error.metadata)
    )


def test_text_that_is_no_utf_8_is_refused():
    with pytest.raises(UnicodeEncodeError):
        packed(reply_of("\udc80"))
