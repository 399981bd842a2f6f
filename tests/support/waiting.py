"""Bounded waiting for conditions that no event announces; the failure names the condition."""

import inspect

import trio

WAIT_SECONDS = 60
EVERY_SECONDS = 0.005


async def until(condition, what: str = "", *, seconds: float = WAIT_SECONDS):
    """Returns the first true value of `condition()`, which may be a coroutine function. Fails after `seconds`."""
    value = None
    with trio.move_on_after(seconds):
        while True:
            value = condition()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await trio.sleep(EVERY_SECONDS)
    raise AssertionError(f"never came: {what or inspect.getsource(condition).strip()}: {value!r}")
