"""Which web pages may use the service, and under which names it answers.

An open service trusts whoever reaches it, and a browser on the same network reaches it for any page that it shows. So
requests are refused that a page of another origin could send: with its own origin (a form or a script), without one (an
image or audio element), or under a name of its own that it points at this server (DNS rebinding).
"""

import ipaddress
import re

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from svc.api.errors import render_error
from svc.errors import HostNotAllowed, OriginNotAllowed

_EXPOSED_HEADERS = [
    "request-id",
    "x-request-id",
    "x-trace-id",
    "character-cost",
    "current-concurrent-requests",
    "maximum-concurrent-requests",
    "history-item-id",
    "x-svc-language",
    "x-svc-voice",
    "x-svc-model",
    "x-svc-dictionaries",
]
_LOOPBACK_ORIGIN = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"

# Nobody can register these names and point them at this server; nor names of one label.
_LOCAL_NAMES = ("localhost", "*.localhost", "*.local", "*.internal", "*.lan", "*.home.arpa")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d+)?")

# Methods that change nothing and that browsers also use to show a page.
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_COSTLY_PATHS = "/previews/"


class AllowedHosts:
    """The names under which the service answers. Addresses and local names are always among them."""

    def __init__(self, chosen: list[str], open_to_everyone: bool) -> None:
        self._names = (*_LOCAL_NAMES, *(_strip_port(each.lower()) for each in chosen))
        self._all = "*" in chosen or not (chosen or open_to_everyone)

    def allow(self, host: str | None) -> bool:
        """Whether to answer a request with this Host. Without one it comes from no browser: they all send it."""
        if self._all or not host:
            return True
        if not _HOST.fullmatch(host.lower()):
            return False
        name = _strip_port(host.lower()).removesuffix(".")
        return "." not in name or _is_address(name) or any(_matches(name, each) for each in self._names)


def _strip_port(host: str) -> str:
    return re.sub(r":\d+$", "", host) if host.startswith("[") else host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _matches(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern


class AllowedOrigins:
    """Which web pages may call the service from a browser: by default those on this machine if it is open."""

    def __init__(self, chosen: list[str], open_to_everyone: bool) -> None:
        self.listed = chosen or ([] if open_to_everyone else ["*"])
        self.pattern = None if self.listed else _LOOPBACK_ORIGIN

    def allow(self, headers: Headers) -> bool:
        """Whether the page that sent these headers, if it was one, may use the service."""
        origin = headers.get("origin")
        if "*" in self.listed:
            return True
        if origin is None:
            return headers.get("sec-fetch-site") != "cross-site"
        listed = origin in self.listed or bool(self.pattern and re.fullmatch(self.pattern, origin))
        return listed or _is_same_origin(origin, headers.get("host", ""))


def _is_same_origin(origin: str, host: str) -> bool:
    """Whether a page of this server sent it. The scheme is left out: a proxy may have spoken TLS."""
    return bool(host) and origin.partition("://")[2].lower() == host.lower()


class CheckOrigin:
    """Refuses requests and sockets under a foreign name, and those of pages that may not use the service."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts, origins: AllowedOrigins) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._hosts.allow(headers.get("host")):
            await render_error(HostNotAllowed(headers["host"]))(scope, receive, send)
        elif _is_costly(scope) and not self._origins.allow(headers):
            await render_error(OriginNotAllowed())(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_costly(scope: Scope) -> bool:
    """Whether it changes something or makes the server work."""
    if scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS:
        return True
    path: str = scope["path"]
    return path.startswith(_COSTLY_PATHS)


class Cors(CORSMiddleware):
    def __init__(self, app: ASGIApp, origins: AllowedOrigins) -> None:
        super().__init__(
            app,
            allow_origins=origins.listed,
            allow_origin_regex=origins.pattern,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=_EXPOSED_HEADERS,
            max_age=600,
        )
