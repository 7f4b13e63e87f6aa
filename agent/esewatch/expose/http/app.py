"""The HTTP side: answers made of a view of the daemon.

Reading is open to everybody who reaches the address. Requests that change something (`forget`,
`ack`, reload) are accepted from this machine only, see `requests`.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from esefiles.base import crash
from esewatch.expose.advice_json import advice_object
from esewatch.expose.formatting import iso_time
from esewatch.expose.http.connection import ReadBody
from esewatch.expose.http.database_list import (
    list_csv,
    list_page,
    listing,
    overview_json,
    refreshing,
    wanted,
)
from esewatch.expose.http.requests import (
    JOURNAL_HEADER,
    JSON,
    RefusedError,
    Request,
    Response,
    asked,
    in_a_thread,
    journal_number,
    must_be,
    must_be_json,
    must_be_local,
)
from esewatch.expose.pages.database_page import DatabasePage
from esewatch.expose.pages.overview import Overview
from esewatch.expose.pages.rendering import (
    render_computer,
    render_computers,
    render_database,
    render_nothing,
    render_runbook,
    render_runbooks,
    render_status,
    urgent,
)
from esewatch.expose.pages.runbooks.runbook_files import Runbooks, addressed
from esewatch.fold.commands import Acknowledged
from esewatch.model import EsewatchError, JournalError


class Rendering(Protocol):
    def render(self, accept: str, accept_encoding: str) -> tuple[bytes, str, str]:
        """Body, content type, and content encoding (empty: none)."""


class DaemonView(Protocol):
    """The interface to the daemon. Every method may be called from any thread."""

    @property
    def snapshot(self) -> Rendering:
        """The newest samples."""

    @property
    def journal(self) -> tuple[int, int] | None:
        """Device and number of the journal."""

    def ready(self) -> tuple[bool, str]:
        """True if the first reading of all sources is done, else also what is missing."""

    def overview(self) -> Overview:
        """The figures of the status page."""

    def database(self, computer: str, database: str) -> DatabasePage | None:
        """Return the page of one database, by its labels; None when it is not known."""

    def forget(self, computer: str, database: str) -> bool:
        """Drop a database; False where it is not known. Raises EsewatchError when it is not known
        and its computer is not named, JournalError when that is not stored."""

    def ack(self, computer: str, database: str, pages: list[int]) -> Acknowledged:
        """Acknowledge known bad pages (none named: all, and damage). Raises EsewatchError when the
        database or a page is not known, JournalError when that is not stored."""

    def reload(self) -> None:
        """Reload the configuration. Raises EsewatchError when the old one stays in use."""


if TYPE_CHECKING:  # what few have costs the others no memory
    from esewatch.expose.http.web import WebConfiguration

log = logging.getLogger(__name__)

BODIES_AT_ONCE = 8
PAGES_AT_ONCE = 4
SCRAPES_AT_ONCE = 2
"""Pages may wait for the reading thread, a scrape never does."""

HTML = "text/html; charset=utf-8"
CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class _Forget(msgspec.Struct, forbid_unknown_fields=True):
    computer: str
    database: str


class _Ack(msgspec.Struct, forbid_unknown_fields=True):
    computer: str
    database: str
    pages: list[int] = []


Handler = Callable[[Request], Response]
Body = TypeVar("Body", _Forget, _Ack)
Done = TypeVar("Done", bool, Acknowledged)


class App:
    """The answers to requests. `web` decides who may ask, for any page; None: everybody. `prefix`
    is the path below which everything is, such as `/esewatch`; empty: `/`."""

    def __init__(
        self,
        view: DaemonView,
        *,
        runbooks: Runbooks | None = None,
        web: "WebConfiguration | None" = None,
        prefix: str = "",
    ) -> None:
        self._view = view
        self._prefix = prefix
        self._web = web
        self._runbooks = runbooks or Runbooks()
        self._status_page: tuple[Overview, tuple[bool, str], Response] | None = None
        """The last one that was rendered, and of what."""
        self.begin()
        self._get: dict[str, Handler] = {
            "/": self._status,
            "/database": self._database,
            "/computer": self._computer,
            "/databases": self._list,
            "/databases.csv": self._list_csv,
            "/metrics": self._metrics,
            "/api/v1/databases": self._databases,
            "/api/v1/advice": self._advice,
        }
        self._health: dict[str, Handler] = {"/-/healthy": _healthy, "/-/ready": self._ready}
        self._post: dict[str, Handler] = {"/api/v1/forget": self._forget, "/api/v1/ack": self._ack}

    def begin(self) -> None:
        """A server begins, or begins again: what waits is of its event loop."""
        self._pages = asyncio.Semaphore(PAGES_AT_ONCE)
        self._scrapes = asyncio.Semaphore(SCRAPES_AT_ONCE)
        self._bodies = asyncio.Semaphore(BODIES_AT_ONCE)

    async def answer(self, request: Request, body: ReadBody) -> Response:
        try:
            if self._web is not None:
                await self._web.admit(request.headers, request.client)
            response = await self._below(request, body)
        except RefusedError as refused:
            return self.refusal(refused)
        except Exception as error:
            crash.if_short(error)
            log.exception("%s %s failed", request.method, request.path[:200])
            return self.refusal(
                RefusedError(500, "This page failed. The log of esewatch says why.")
            )
        return _with_headers(response, self._headers(response))

    def refusal(self, refused: RefusedError) -> Response:
        sentence = " ".join(str(refused).split())
        body = f"{refused.status} {HTTPStatus(refused.status).phrase}: {sentence}\n"
        response = Response(
            body=body.encode("utf-8", "replace"), status=refused.status, headers=refused.headers
        )
        return _with_headers(response, self._headers(response))

    def _headers(self, response: Response) -> dict[str, str]:
        headers = {
            "content-type": response.content_type,
            "content-length": str(len(response.body)),
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            **response.headers,
        }
        if self._web is not None:
            self._web.add_headers(headers)
        return headers

    async def _below(self, request: Request, body: ReadBody) -> Response:
        """The answer to a request below the prefix; who asks for `/` is sent there."""
        path, prefix = request.path, self._prefix
        if prefix and path in ("/", prefix):
            # Relative, as all links: through a proxy the name is another, and the path may be.
            to = prefix.removeprefix("/") if path == "/" else prefix.rpartition("/")[2]
            return _redirect(f"{to}/")
        if not path.startswith(f"{prefix}/"):
            raise RefusedError(404, f"This esewatch is at {prefix}/")
        below = msgspec.structs.replace(request, path=path.removeprefix(prefix))
        return await self._answer(below, body)

    async def _answer(self, request: Request, body: ReadBody) -> Response:
        if (health := self._health.get(request.path)) is not None:
            must_be(request, "GET", "HEAD")
            return health(request)
        if request.path == "/-/reload":
            must_be(request, "POST")
            must_be_local(request)
            return await self._in_turn(self._pages, self._reload, request)
        if (post := self._post.get(request.path)) is not None:
            must_be(request, "POST")
            must_be_local(request)
            must_be_json(request)
            if self._bodies.locked():
                raise RefusedError(503, "Too many requests with a body at once. Try again.")
            async with self._bodies:
                whole = msgspec.structs.replace(request, body=await body())
            return await self._in_turn(self._pages, post, whole)
        get = self._get.get(request.path)
        if get is None and request.path.startswith("/runbooks"):
            get = self._runbook
        if get is None:
            raise RefusedError(404, "There is no such page. Start at /")
        must_be(request, "GET", "HEAD")
        turns = self._scrapes if request.path == "/metrics" else self._pages
        return await self._in_turn(turns, get, request)

    async def _in_turn(
        self, turns: asyncio.Semaphore, handler: Handler, request: Request
    ) -> Response:
        """The answer of a thread. A client that goes meanwhile keeps its turn until it is made."""
        await turns.acquire()
        made = in_a_thread(lambda: handler(request))
        made.add_done_callback(lambda _: turns.release())
        return await asyncio.shield(made)

    def _ready(self, _: Request) -> Response:
        ready, reason = self._view.ready()
        if ready:
            return Response(body=b"Ready.\n")
        return Response(body=f"Not ready: {reason}\n".encode("utf-8", "replace"), status=503)

    def _metrics(self, request: Request) -> Response:
        body, content_type, encoding = self._view.snapshot.render(
            request.headers.get("accept", ""), request.headers.get("accept-encoding", "")
        )
        headers = {"vary": "Accept, Accept-Encoding"}
        if encoding:
            headers["content-encoding"] = encoding
        return Response(body=body, content_type=content_type, headers=headers)

    def _status(self, request: Request) -> Response:
        view, ready = self._view.overview(), self._view.ready()
        known = self._status_page
        if known is None or known[0] is not view or known[1] != ready:
            pages = [self._view.database(each.computer, each.database) for each in urgent(view)]
            shown = [page for page in pages if page is not None]
            answer = _page(render_status(view, shown, ready, self._runbooks))
            known = self._status_page = view, ready, answer
        return _with_headers(known[2], refreshing(asked(request)))

    def _database(self, request: Request) -> Response:
        fields = asked(request)
        computer, database = fields.get("computer", ""), fields.get("database", "")
        page = self._view.database(computer, database)
        if page is None:
            return _page(render_nothing("database", database, computer), status=404)
        return _page(render_database(page, self._runbooks))

    def _computer(self, request: Request) -> Response:
        fields = asked(request)
        view = self._view.overview()
        if "name" not in fields:
            return _page(render_computers(view))
        html = render_computer(view, fields["name"])
        if html is None:
            return _page(render_nothing("computer", fields["name"]), status=404)
        return _page(html)

    def _list(self, request: Request) -> Response:
        fields = asked(request)
        answer = _page(list_page(self._view.overview(), wanted(fields)))
        policy = CONTENT_POLICY.replace("form-action 'none'", "form-action 'self'")
        return _with_headers(answer, {"content-security-policy": policy, **refreshing(fields)})

    def _list_csv(self, request: Request) -> Response:
        found = listing(self._view.overview(), wanted(asked(request))).found
        headers = {"content-disposition": 'attachment; filename="databases.csv"'}
        body = list_csv(found).encode("utf-8", "replace")
        return Response(body=body, content_type="text/csv; charset=utf-8", headers=headers)

    def _databases(self, request: Request) -> Response:
        view = self._view.overview()
        found = listing(view, wanted(asked(request))).found
        return Response(body=overview_json(view, found), content_type=JSON)

    def _advice(self, _: Request) -> Response:
        view = self._view.overview()
        told = (msgspec.structs.replace(each, as_of=view.now) for each in view.advice)
        advice = [advice_object(each) for each in told]
        body = msgspec.json.encode({"time": iso_time(view.now), "advice": advice})
        return Response(body=body, content_type=JSON)

    def _runbook(self, request: Request) -> Response:
        if request.path == "/runbooks":
            return _redirect("runbooks/")
        if request.path == "/runbooks/":
            return _page(render_runbooks(self._runbooks))
        name = request.path.removeprefix("/runbooks/")
        text = self._runbooks.text(name)
        if text is None:
            raise RefusedError(404, "There is no runbook of this name. /runbooks/ lists them.")
        fields = asked(request)
        page = self._view.database(fields.get("computer", ""), fields.get("database", ""))
        secure = self._web is not None and self._web.secure
        text = addressed(text, request.headers.get("host", ""), secure=secure, prefix=self._prefix)
        return _page(render_runbook(name, text, page.figures if page is not None else None))

    def _asked(self, request: Request, body: type[Body]) -> Body:
        """The body of a request to change the journal. Raises RefusedError where another is meant.
        A command names the journal of its own configuration; others may leave it out."""
        meant, kept = request.headers.get(JOURNAL_HEADER), self._view.journal
        if meant is not None and kept is not None and meant != journal_number(kept):
            raise RefusedError(409, "This esewatch has another journal than the one that is meant.")
        try:
            return msgspec.json.decode(request.body, type=body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RefusedError(400, f"The body of the request is not valid: {error}") from None

    def _forget(self, request: Request) -> Response:
        what = self._asked(request, _Forget)
        known = _stored(lambda: self._view.forget(what.computer, what.database))
        return Response(body=msgspec.json.encode({"forgotten": known}), content_type=JSON)

    def _ack(self, request: Request) -> Response:
        what = self._asked(request, _Ack)
        done = _stored(lambda: self._view.ack(what.computer, what.database, what.pages))
        answer = {
            "acknowledged": done.pages,
            "damage": done.damage,
            "errors": done.errors,
            "others": done.others,
            **({"unknown": True} if done.unknown else {}),
        }
        return Response(body=msgspec.json.encode(answer), content_type=JSON)

    def _reload(self, _: Request) -> Response:
        try:
            self._view.reload()
        except EsewatchError as error:
            raise RefusedError(500, str(error)) from None
        return Response(body=b"Reloaded.\n")


def _stored(command: Callable[[], Done]) -> Done:
    try:
        return command()
    except JournalError as error:
        raise RefusedError(503, f"This is not stored, try again: {error}") from None
    except EsewatchError as error:
        raise RefusedError(404, str(error)) from None


def _healthy(_: Request) -> Response:
    return Response(body=b"Healthy.\n")


def _redirect(to: str) -> Response:
    return Response(body=b"", status=302, headers={"location": to})


def _page(html: str, status: int = 200) -> Response:
    return Response(
        body=html.encode("utf-8", "replace"),
        status=status,
        content_type=HTML,
        headers={"content-security-policy": CONTENT_POLICY, "referrer-policy": "no-referrer"},
    )


def _with_headers(answer: Response, headers: Mapping[str, str]) -> Response:
    return msgspec.structs.replace(answer, headers={**answer.headers, **headers})
