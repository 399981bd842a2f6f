"""`codecompass search -i`: starts the finder, the upkeep and the screen, and stops them together."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from codecompass.cli.interactive.finder import Finder
from codecompass.cli.interactive.screen import Screen
from codecompass.cli.interactive.session import Session
from codecompass.cli.interactive.source import open_source
from codecompass.cli.interactive.upkeep import Upkeep
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import Terminal, printable
from codecompass.units import KIB

MAX_HELD_BYTES: Final = 64 * KIB
"""How much of what was written to stderr during the search, from its end, is shown afterwards."""


def search_interactively(invocation: Invocation, query: str, arguments: Mapping[str, object]) -> int:
    """Searches on the terminal until the user leaves; returns the exit code. `arguments` are those of `search_code`.

    Raises what `open_source` raises, before anything is drawn.
    """
    source = open_source(invocation, arguments)
    with _stderr_held(invocation.terminal) as stderr:
        finder = Finder(source, lambda news: screen.deliver(news))
        upkeep = None
        if source.commit is None:
            upkeep = Upkeep(invocation.options, source, lambda state: screen.deliver(state))
        screen = Screen(Session(source, finder, upkeep), invocation.environment, stderr)

        def begin() -> None:
            finder.start()
            if upkeep is not None:
                upkeep.start()

        try:
            left = screen.run(query, begin)
        finally:
            finder.stop()
            if upkeep is not None:
                upkeep.stop()
    if left.printed:
        invocation.terminal.line(left.printed)
    return left.code


@contextmanager
def _stderr_held(terminal: Terminal) -> Iterator[int]:
    """Yields a descriptor of the real stderr. What is written to stderr during the block is shown afterwards.

    A log line of a job, or of a library, would corrupt the screen.
    """
    terminal.err.flush()
    with tempfile.TemporaryFile() as held:
        real = os.dup(2)
        try:
            os.dup2(held.fileno(), 2)
            try:
                yield real
            finally:
                sys.stderr.flush()
                os.dup2(real, 2)
                held.seek(max(0, held.seek(0, os.SEEK_END) - MAX_HELD_BYTES))
                for line in held.read().decode(errors="surrogateescape").splitlines():
                    terminal.note(printable(line))
        finally:
            os.close(real)
