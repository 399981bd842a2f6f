"""Renders templates to HTML, with all values escaped, and serves the static files of the pages."""

import copy
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import trio
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from codecompass import __version__
from codecompass.formatting import ago, iso_time
from codecompass.protocol.decode import well_formed
from codecompass.query.query_language import written_filter
from codecompass.transport.http.request import NOT_FOUND, OK, Header, HttpRefusal, HttpRequest
from codecompass.transport.ui.access_checks import PAGE_PATH
from codecompass.transport.ui.questions import PageError
from codecompass.units import GIB, KIB, MIB

HTML_TYPE: Final = "text/html; charset=utf-8"

NOT_STORED: Final[tuple[Header, ...]] = (("cache-control", "no-store"),)
_KEPT: Final[tuple[Header, ...]] = (("cache-control", "private, max-age=31536000, immutable"),)
"""For static files: their address contains a digest of all of them."""

_HERE: Final = Path(__file__).parent
_MEDIA_TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


class StaticFile(Struct, frozen=True):
    """A script, a style sheet or a picture."""

    media_type: str
    content: bytes


class Rendering:
    """The templates and static files, read once."""

    def __init__(
        self, *, organisation: bool = False, templates: Sequence[Path] = (), advice: Mapping[str, str] | None = None
    ) -> None:
        """`organisation` is for the page over an organisation's code, which has more `templates` and its own `advice` by the
        codes of errors, `PAGE/CODE` for one that another advice is for on a page."""
        self.is_organisation: Final = organisation
        self._files = {
            path.name: StaticFile(_MEDIA_TYPES[path.suffix], path.read_bytes()) for path in sorted((_HERE / "static").iterdir())
        }
        digest = hashlib.sha256(b"\0".join(file.content for file in self._files.values())).hexdigest()[:12]
        self._static_path = f"{PAGE_PATH}/static/{digest}/"
        self._environment = Environment(
            loader=FileSystemLoader([_HERE / "templates", *templates]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(
            static=self._static_path,
            version=__version__,
            address=address,
            editors=editor_links,
            thousands=thousands,
            size=size,
            when=when,
            advice=partial(_advice, advice or {}),
            only_file=only_file,
            organisation=organisation,
            one="repository" if organisation else "project",
            many="repositories" if organisation else "projects",
        )
        self._values: Mapping[str, object] = {}

    def with_values(self, **values: object) -> "Rendering":
        """Returns the same with values that all its templates get."""
        other = copy.copy(self)
        other._values = {**self._values, **values}
        return other

    def html(self, template: str, values: Mapping[str, object]) -> str:
        """Returns a rendered page, or a part of one."""
        return self._environment.get_template(template).render({**self._values, **values})

    def _body(self, template: str, values: Mapping[str, object]) -> bytes:
        # Text of a repository may contain lone surrogates, which cannot be encoded.
        return well_formed(self.html(template, values)).encode()

    async def page(self, request: HttpRequest, template: str, values: Mapping[str, object], *, status: int = OK) -> None:
        """Answers with a page."""
        # In a thread: a page of a whole file or a large difference takes tens of milliseconds.
        body = await trio.to_thread.run_sync(self._body, template, values)
        await request.answer(status, body, media_type=HTML_TYPE, headers=NOT_STORED)

    async def file(self, request: HttpRequest) -> None:
        """Answers with a static file. Raises HttpRefusal if it does not exist."""
        file = self._files.get(request.path.removeprefix(self._static_path))
        if file is None:
            raise HttpRefusal(NOT_FOUND, "there is no such file. Load the page again.")
        await request.answer(OK, file.content, media_type=file.media_type, headers=_KEPT)


def _advice(by_code: Mapping[str, str], trouble: PageError, page: str) -> str:
    return by_code.get(f"{page}/{trouble.code}") or by_code.get(trouble.code, trouble.advice)


def address(page: str, **parameters: object) -> str:
    """Returns the address of a page. Parameters that are None, empty or False are left out; `line` becomes an anchor."""
    line = parameters.get("line")
    given = {name: value for name, value in parameters.items() if value not in (None, "", False)}
    query = urlencode({name: str(value) for name, value in given.items()}, errors="surrogatepass")
    path = f"{PAGE_PATH}/{page}" if page else PAGE_PATH
    return path + (f"?{query}" if query else "") + (f"#L{line}" if line and page == "file" else "")


def only_file(path: str) -> str:
    """Returns the filter of a query that the file with this path alone passes."""
    return written_filter("file", f"^{path}$")


def lines_address(project_id: str, path: str, ref: str | None, first: int, last: int) -> str:
    """Returns the address of lines of a file; `last` is 0 for one line."""
    whole = address("file", project=project_id, path=path, ref=ref, line=first)
    return f"{whole}-L{last}" if last > first else whole


def editor_links(root: str, path: str, line: int) -> tuple[tuple[str, str], ...]:
    """Returns the names of editors, and the links that open a line of a file in them."""
    whole = f"{root.rstrip('/')}/{path}"
    plain = quote(whole, errors="surrogatepass")
    return (
        ("VS Code", f"vscode://file{plain}:{line}"),
        ("Cursor", f"cursor://file{plain}:{line}"),
        ("Zed", f"zed://file{plain}:{line}"),
        ("IntelliJ", f"idea://open?file={quote(whole, safe='/', errors='surrogatepass')}&line={line}"),
    )


def when(moment: float | str) -> Markup:
    """Returns a time relative to now, with the exact one on hover. `moment` is in seconds since 1970, or in ISO 8601."""
    seconds = datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else moment
    exact = iso_time(seconds)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, exact, ago(seconds))


def thousands(number: int) -> str:
    """Returns a number with thousands separators."""
    return f"{number:,}"


def size(n_bytes: int) -> str:
    """Returns a number of bytes with a unit."""
    for unit, name in ((GIB, "GB"), (MIB, "MB"), (KIB, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes} bytes"
