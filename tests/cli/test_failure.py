"""The exit code of each error, and how unexpected errors are reported."""

import pytest

from codecompass import errors
from codecompass.cli import failure


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidInput("x"), 2),
        (errors.InvalidStrategy("x"), 2),
        (errors.ProjectNotFound("x"), 3),
        (errors.IndexNotReady("x"), 3),
        (errors.FileNotFound("x"), 3),
        (errors.IndexStale("x"), 1),
        (errors.PermissionDenied("x"), 1),
        (errors.StoreNewer("x"), 1),
        (errors.InternalError("x"), 1),
    ],
)
def test_the_exit_code_says_what_kind_of_failure_it_was(error, code):
    assert failure.exit_code(error) == code


def test_an_unexpected_error_is_an_internal_one_that_keeps_its_cause():
    cause = KeyError("x")

    known = failure.as_known(cause)

    assert isinstance(known, errors.InternalError)
    assert known.__cause__ is cause
    assert "KeyError" in known.message


def test_what_the_system_refuses_is_said_in_its_words():
    known = failure.as_known(PermissionError(13, "Permission denied", "/srv/shop"))

    assert isinstance(known, errors.FileUnreadable)
    assert known.message.startswith("/srv/shop: Permission denied")


def test_of_a_group_the_error_that_somebody_can_act_upon_is_reported():
    denied = errors.PermissionDenied("full")
    group = BaseExceptionGroup("", [ValueError("a consequence"), ExceptionGroup("", [denied])])

    assert failure.as_known(group) is denied


def test_an_interrupt_is_not_an_error():
    assert failure.as_known(KeyboardInterrupt()) is None
    assert failure.as_known(BaseExceptionGroup("", [errors.InternalError("x"), KeyboardInterrupt()])) is None
