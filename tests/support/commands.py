"""Runs commands of the program in this process, with separate streams, environment and directory."""

import io
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import structlog
import trio

from codecompass.cli.main import main


class Done:
    """The result of a command."""

    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code, self.raw, self.err = code, out, err

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def run_in_process(arguments: Sequence[str | Path], environment: Mapping[str, str], cwd: str | Path, stdin: bytes = b"") -> Done:
    """Runs a command to completion. No stream is a terminal. Blocks the test's event loop, if there is one."""
    out, err = _captured(), _captured()
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")),
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
        _log_restored(),
    ):
        if trio.lowlevel.in_trio_run():
            # A command runs its own event loop, and a thread can run only one.
            with ThreadPoolExecutor(1) as threads:
                code = threads.submit(main, [*map(str, arguments)]).result()
        else:
            code = main([*map(str, arguments)])
    return Done(code, _content(out), _content(err).decode())


def _captured() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")


def _content(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()


@contextmanager
def _log_restored() -> Iterator[None]:
    """Restores the log configuration, which a command sets for the whole process and so for all tests."""
    root = logging.getLogger()
    was_configured, config, handlers, level = structlog.is_configured(), structlog.get_config(), root.handlers[:], root.level
    try:
        yield
    finally:
        structlog.reset_defaults()
        if was_configured:
            structlog.configure(**config)
        root.handlers[:] = handlers
        root.setLevel(level)
