"""`GET /` and `GET /page/{file}`: the playground, which speaks with the same API as everybody else."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, HTTPException, Request, Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Nothing from elsewhere, nothing inline; recordings are heard through `blob:` before they are sent.
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "cache-control": "no-cache",  # kept, but asked for anew: an upgrade must not leave half of an old page behind
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "microphone=(self), camera=(), geolocation=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    media_type: str
    tag: str


def _load() -> dict[str, _File]:
    """Every file of the page, by its name: only what is listed here can ever be sent."""
    found = {}
    folder = files("svc").joinpath("web")
    for each in (*folder.joinpath("playground").iterdir(), folder.joinpath("templates/playground.html")):
        media_type = _TYPES.get(f".{each.name.rpartition('.')[2]}")
        if media_type:
            content = each.read_bytes()
            found[each.name] = _File(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found


def router() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    page = _load()

    def answer(file: _File, request: Request) -> Response:
        headers = {**_HEADERS, "etag": file.tag}
        known = request.headers.get("if-none-match", "")
        if file.tag in [tag.strip().removeprefix("W/") for tag in known.split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.media_type, headers=headers)

    @router.head("/")
    @router.get("/")
    async def index(request: Request) -> Response:
        return answer(page["playground.html"], request)

    @router.head("/page/{name}")
    @router.get("/page/{name}")
    async def part(name: str, request: Request) -> Response:
        if name not in page:
            raise HTTPException(404)
        return answer(page[name], request)

    return router
