"""The screen of an interactive search and its keys, on prompt_toolkit, which owns the terminal and restores it.

Everything here runs in the main thread. The finder and the upkeep call `deliver` from theirs, which passes the news to the
event loop of the terminal. A key never waits for the index.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, ConditionalContainer, DynamicContainer, HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.controls import UIContent, UIControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from codecompass.cli import failure
from codecompass.cli.interactive import view
from codecompass.cli.interactive.editor import editor_command
from codecompass.cli.interactive.finder import PreviewAnswer, SearchOutcome
from codecompass.cli.interactive.session import Session
from codecompass.cli.interactive.source import ListedHit
from codecompass.cli.interactive.upkeep import TreeState
from codecompass.cli.invocation import shown_path
from codecompass.cli.terminal import printable
from codecompass.errors import InvalidInput
from codecompass.protocol.requests import MAX_QUERY_LENGTH, SearchMode
from codecompass.settings import wants_color

News = SearchOutcome | PreviewAnswer | TreeState

WIDE_COLUMNS: Final = 110
"""From this width on the preview is beside the hits; on narrower terminals it is below them."""

PREVIEW_ROWS: Final = 12
"""Terminals with fewer rows show hits alone."""

KEYS_ROWS: Final = 8
"""Terminals with fewer rows do not name the keys."""

ESCAPE_SECONDS: Final = 0.1
"""How long Escape waits for the rest of an escape sequence, which may arrive late over a network."""


class Leave(Struct, frozen=True):
    """How a search ended: the exit code, and what to print."""

    code: int
    printed: str = ""


class Screen:
    """Shows a session on the terminal of this process until the user leaves."""

    def __init__(self, session: Session, environment: Mapping[str, str], stderr: int) -> None:
        """`stderr` is the descriptor that an editor gets as its own."""
        self._session, self._environment, self._stderr = session, environment, stderr
        self._loop: asyncio.AbstractEventLoop | None = None
        self._top = 0
        self._list_rows = 1
        self._awaited: Callable[[ListedHit], None] | None = None
        self._is_editing = False
        self._output = Vt100_Output.from_pty(sys.stdout, term=environment.get("TERM"), enable_bell=False)
        self._buffer = Buffer(multiline=False, on_text_changed=self._typed)
        self._app: Application[Leave] = Application(
            layout=Layout(self._container()),
            style=Style.from_dict(view.STYLES),
            key_bindings=self._keys(),
            full_screen=True,
            color_depth=ColorDepth.DEPTH_4_BIT if wants_color(environment) else ColorDepth.DEPTH_1_BIT,
            output=self._output,
        )
        self._app.ttimeoutlen = self._app.timeoutlen = ESCAPE_SECONDS

    def run(self, query: str, begin: Callable[[], object]) -> Leave:
        """Shows the screen with `query` typed in, calls `begin`, and returns once the user leaves."""

        def set_up() -> None:
            self._loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                self._loop.add_signal_handler(number, self._leave, Leave(128 + number))
            begin()
            self._buffer.document = Document(query, len(query))

        try:
            return self._app.run(pre_run=set_up)
        except EOFError:
            return Leave(128 + signal.SIGHUP)  # the terminal is gone

    def deliver(self, news: News) -> None:
        """Passes news from any thread to the screen; drops them once the screen is closed."""
        loop = self._loop
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._take, news)
        except RuntimeError:
            return  # the loop was closed between the two lines: the user has left

    def _take(self, news: News) -> None:
        self._session.take(news)
        self._do_awaited()
        self._app.invalidate()

    def _typed(self, buffer: Buffer) -> None:
        self._awaited = None
        if len(buffer.text) > MAX_QUERY_LENGTH:
            buffer.document = Document(buffer.text[:MAX_QUERY_LENGTH])  # calls this method again
            return
        self._top = 0
        self._session.set_query(buffer.text)

    # What is shown

    def _container(self) -> HSplit:
        def mode() -> SearchMode:
            return self._session.mode

        hits = Window(_Lines(self._draw_hits), height=Dimension(min=1, weight=2))
        code = Window(_Lines(self._draw_preview), height=Dimension(min=1, weight=3))
        beside = Window(_Lines(self._draw_preview))
        tall = HSplit([hits, ConditionalContainer(code, Condition(lambda: self._size()[1] >= PREVIEW_ROWS))])
        wide = VSplit([Window(_Lines(self._draw_hits), width=Dimension(weight=1)), Window(width=1, char="│"), beside])
        return HSplit(
            [
                VSplit(
                    [
                        Window(_Lines(lambda *_: [[view.prompt(mode())]]), width=lambda: len(view.prompt(mode())[1]), height=1),
                        Window(BufferControl(self._buffer, input_processors=[_Cleaned()]), height=1),
                    ]
                ),
                Window(_Lines(lambda width, _: [self._draw_status(width)]), height=1),
                DynamicContainer(lambda: wide if self._size()[0] >= WIDE_COLUMNS else tall),
                ConditionalContainer(
                    Window(_Lines(lambda width, _: [view.key_line(width)]), height=1),
                    Condition(lambda: self._size()[1] >= KEYS_ROWS),
                ),
            ]
        )

    def _size(self) -> tuple[int, int]:
        size = self._output.get_size()
        return size.columns, size.rows

    def _draw_hits(self, width: int, height: int) -> list[view.Line]:
        session = self._session
        self._list_rows = height
        self._top = min(max(self._top, session.selected - height + 1), session.selected)
        return view.hit_rows(session.hits, session.selected, self._top, width, height, session.tree.changed)

    def _draw_preview(self, width: int, height: int) -> list[view.Line]:
        return view.preview_lines(self._session.preview, width, height)

    def _draw_status(self, width: int) -> view.Line:
        session = self._session
        right = view.freshness(session.source, session.answer, session.tree, session.known)
        if session.error:
            return view.status_line(width, printable(session.error), True, ("", ""))
        return view.status_line(width, view.counted(session.answer, session.is_pending), False, right)

    # What the keys do

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        session = self._session
        actions: list[tuple[Callable[[], object], tuple[Keys, ...]]] = [
            (lambda: session.move(1), (Keys.Down, Keys.ControlN)),
            (lambda: session.move(-1), (Keys.Up, Keys.ControlP)),
            (lambda: session.cycle(1), (Keys.Tab,)),
            (lambda: session.cycle(-1), (Keys.BackTab,)),
            (lambda: session.move(self._list_rows), (Keys.PageDown,)),
            (lambda: session.move(-self._list_rows), (Keys.PageUp,)),
            (session.next_mode, (Keys.ControlT,)),
            (session.check_tree, (Keys.ControlR,)),
            (lambda: self._with_hit(self._open), (Keys.Enter,)),
            (lambda: self._with_hit(self._print), (Keys.ControlY,)),
            (lambda: self._leave(Leave(failure.DONE)), (Keys.Escape,)),
            (lambda: self._leave(Leave(failure.INTERRUPTED)), (Keys.ControlC, Keys.SIGINT)),
            (lambda: self._app.suspend_to_background(), (Keys.ControlZ,)),
            (lambda: self._app.renderer.clear(), (Keys.ControlL,)),
        ]
        for act, names in actions:
            for name in names:
                keys.add(name)(_ignoring_event(act))

        @keys.add(Keys.ControlD)
        def _(event: KeyPressEvent) -> None:
            if self._buffer.text:
                self._buffer.delete()
            else:
                self._leave(Leave(failure.DONE))

        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            room = MAX_QUERY_LENGTH - len(self._buffer.text)
            self._buffer.insert_text(event.data[: max(0, room)].replace("\r\n", " ").replace("\r", " ").replace("\n", " "))

        return keys

    def _with_hit(self, act: Callable[[ListedHit], None]) -> None:
        """Calls `act` with the selected hit, once the typed query is answered."""
        self._awaited = act
        self._do_awaited()

    def _do_awaited(self) -> None:
        session = self._session
        if self._awaited is None or session.is_pending or self._is_editing:
            return
        act, self._awaited = self._awaited, None
        if session.hit is not None:
            act(session.hit)

    def _open(self, hit: ListedHit) -> None:
        root = self._session.source.project.root
        path = root / hit.path
        if not os.path.lexists(path):
            self._session.message = f"{hit.path} is not in the working tree"
            return
        try:
            command = editor_command(self._environment, path, hit.line)
        except InvalidInput as error:
            self._session.message = error.message
            return
        self._is_editing = True
        self._app.create_background_task(self._edit(command))

    async def _edit(self, command: list[str]) -> None:
        session = self._session
        try:
            async with in_terminal():
                process = await asyncio.create_subprocess_exec(*command, stderr=self._stderr)
                code = await process.wait()
            session.message = f"{os.path.basename(command[0])} ended with exit code {code}" if code else ""
        except OSError as error:
            session.message = f"{os.path.basename(command[0])} cannot be started: {error.strerror}. Set $EDITOR to another one."
        finally:
            self._is_editing = False
        if not session.message:
            session.check_tree()  # the file has probably been changed
        self._app.invalidate()

    def _print(self, hit: ListedHit) -> None:
        place = shown_path(self._session.source.project.root, hit.path)
        self._leave(Leave(failure.DONE, f"{place}:{hit.line}"))

    def _leave(self, how: Leave) -> None:
        if self._app.is_running and not self._app.is_done and not (self._is_editing and how.code == failure.INTERRUPTED):
            self._app.exit(result=how)


def _ignoring_event(act: Callable[[], object]) -> Callable[[KeyPressEvent], None]:
    def handle(_: KeyPressEvent) -> None:
        act()

    return handle


class _Lines(UIControl):
    """Shows the lines that a function of the width and the height returns."""

    def __init__(self, draw: Callable[[int, int], list[view.Line]]) -> None:
        self._draw = draw

    def create_content(self, width: int, height: int | None) -> UIContent:
        lines = self._draw(width, height or 1)
        return UIContent(get_line=lambda number: [*lines[number]], line_count=len(lines), show_cursor=False)


class _Cleaned(Processor):
    """Shows the control characters of a query escaped, and maps the position of the cursor accordingly."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        text = fragment_list_to_text(transformation_input.fragments)
        shown = [printable(character) for character in text]
        starts = [0]
        for each in shown:
            starts.append(starts[-1] + len(each))
        # prompt_toolkit maps positions beyond the end, too.
        return Transformation(
            [("", "".join(shown))],
            source_to_display=lambda at: starts[min(at, len(text))] + max(0, at - len(text)),
            display_to_source=lambda at: next((n for n, start in enumerate(starts) if start >= at), len(text)),
        )
