"""`GET /docs`: the guides, and beside them the interactive page of the API. Nothing comes from another server."""

from html import escape
from importlib.resources import files
from string import Template

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import FileResponse, HTMLResponse

from svc.web.docs_site import INDEX, DocsSite
from svc.web.markdown_page import ROOT, Page

_POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
# Swagger UI draws its icons from data: addresses; the sound of an answer is played from a blob.
_INTERACTIVE_POLICY = _POLICY | {
    "script-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "media-src": "blob:",
}

# What the pages are made of: each with the package that it lies in.
_ASSETS = {
    "guide.css": "svc.web.docs",
    "interactive.js": "svc.web.docs",
    "swagger-ui.css": "fastapi_swagger.resources",
    "swagger-ui-bundle.js": "fastapi_swagger.resources",
}


def router(library: DocsSite) -> APIRouter:
    router = APIRouter(prefix=ROOT, include_in_schema=False)
    template = Template((files("svc.web") / "templates/guide.html").read_text("utf-8"))
    interactive_page = (files("svc.web") / "templates/interactive.html").read_text("utf-8")

    def shown(name: str, page: Page) -> Response:
        contents = "\n".join(_entry(each, title, each == name) for each, title in library.contents)
        html = template.substitute(title=escape(page.title), contents=contents, html=page.html)
        return HTMLResponse(html, headers=_guarded(_POLICY))

    @router.get("")
    def index() -> Response:
        """The first page, which leads to all the others."""
        return guide(INDEX)

    @router.get("/interactive")
    def interactive() -> Response:
        """Every path and field of the API, to be tried out."""
        return HTMLResponse(interactive_page, headers=_guarded(_INTERACTIVE_POLICY))

    @router.get("/assets/{name}")
    def asset(name: str) -> Response:
        if name not in _ASSETS:
            raise HTTPException(404, "There is no such file.")
        return FileResponse(str(files(_ASSETS[name]) / name))

    @router.get("/{name:path}")
    def guide(name: str) -> Response:
        """A guide, or a picture of one."""
        if picture := library.picture(name):
            return FileResponse(picture)
        name = name.strip("/").removesuffix(".md") or INDEX
        if page := library.page(name):
            return shown(name, page)
        raise HTTPException(404, "There is no such guide; /docs lists those that there are.")

    return router


def _entry(name: str, title: str, current: bool) -> str:
    here = ' aria-current="page"' if current else ""
    return f'<li><a href="{ROOT}/{escape(name)}"{here}>{escape(title)}</a></li>'


def _guarded(policy: dict[str, str]) -> dict[str, str]:
    return {
        "content-security-policy": "; ".join(f"{directive} {source}" for directive, source in policy.items()),
        "x-content-type-options": "nosniff",
    }
