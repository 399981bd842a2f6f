"""What ends a nursery reaches its caller as the error to report."""

import pytest
import trio

from codecompass.errors import IndexNotReady, InternalError, causes
from codecompass.nurseries import open_nursery


async def fail(error: BaseException) -> None:
    raise error


async def end_by(*errors: BaseException) -> None:
    """Runs tasks that raise these in a nursery within another one."""
    async with open_nursery() as outer:
        outer.start_soon(trio.sleep_forever)
        async with open_nursery() as inner:
            for error in errors:
                inner.start_soon(fail, error)


async def test_an_error_of_ours_leaves_nested_nurseries_as_itself():
    ours = IndexNotReady("there is none")

    with pytest.raises(IndexNotReady) as caught:
        await end_by(InternalError("a consequence"), ours)

    assert caught.value is ours


async def test_so_does_one_that_the_block_raises():
    ours = IndexNotReady("there is none")

    with pytest.raises(IndexNotReady) as caught:
        async with open_nursery():
            raise ours

    assert caught.value is ours


async def test_a_group_of_other_errors_stays_whole():
    with pytest.raises(ExceptionGroup) as caught:
        await end_by(ValueError("x"), KeyError("y"))

    assert {type(each) for each in causes(caught.value)} == {ValueError, KeyError}


async def test_cancelling_it_ends_it_without_an_error():
    async with open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        nursery.cancel_scope.cancel()

    assert nursery.cancel_scope.cancelled_caught
