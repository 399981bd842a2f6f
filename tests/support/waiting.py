"""Bounded waiting for conditions that no event announces; the failure names the condition."""

import inspect

import trio

WAIT_SECONDS = 60
EVERY_SECONDS = 0.005

PATIENT = {
    "CODECOMPASS_QUERY_FRESHNESS_WAIT_MS": "60000",
    "CODECOMPASS_QUERY_FIRST_ANSWER_WAIT_MS": "600000",
}
"""Variables of a process under test: its answers wait for what a test has written, however busy the machine is."""

FROM_THE_INDEX = {**PATIENT, "CODECOMPASS_QUERY_FILES_ANSWER_AFTER_MS": "600000"}
"""Variables of a server under test, whose first answers are the index's, and never those of a scan of the files."""


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
