"""`GET /` and `/page/…`: the playground. `GET /docs/…`: the guides and the interactive API page.

Every file comes from this server; nothing is loaded from another one.
"""

import hashlib
import json
import mimetypes
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.staticfiles import NotModifiedResponse

from svc.api.voices.uploads import MAX_NAME_LENGTH
from svc.audio import formats
from svc.audio.decode import RATE
from svc.cloning import reference, speech_detection
from svc.dictionaries.catalogue import MAX_LOCATORS
from svc.text.language.grades import find_grade, list_offered_languages
from svc.voices import settings as voice_settings
from svc.web.docs_site import INDEX, ROOT, DocsSite, GuidePage

_BASE_POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
# Recordings are played from `blob:` addresses before they are uploaded.
_PLAYGROUND_POLICY = _BASE_POLICY | {
    "script-src": "'self'",
    "connect-src": "'self'",
    "media-src": "'self' blob:",
    "require-trusted-types-for": "'script'",
}
# Swagger UI draws its icons from `data:` addresses, and plays the audio of a response from a blob.
_INTERACTIVE_POLICY = _BASE_POLICY | {
    "script-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "media-src": "blob:",
}


_EXPOSED = (
    '<div class="banner" role="note"><p><strong>This server is open.</strong> It needs no key, so whoever can reach it '
    'can speak, clone and remove voices. <a href="docs/security">Set a key</a>.</p></div>'
)


def _make_headers(policy: Mapping[str, str]) -> dict[str, str]:
    return {
        "content-security-policy": "; ".join(f"{directive} {source}" for directive, source in policy.items()),
        "x-content-type-options": "nosniff",
    }


_PLAYGROUND_HEADERS = {
    **_make_headers(_PLAYGROUND_POLICY),
    "cache-control": "no-cache",  # revalidate on every load: an upgrade must not mix old and new files
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "microphone=(self), camera=(), geolocation=()",
    "referrer-policy": "no-referrer",
}


def add_pages(app: FastAPI, docs_site: DocsSite, is_exposed: bool) -> None:
    mimetypes.add_type("text/javascript", ".js")  # Python 3.11 and some systems have older names for it
    playground = _Playground(_EXPOSED if is_exposed else "")
    app.mount("/page", playground)
    app.include_router(_create_playground_router(playground))
    app.mount(f"{ROOT}/assets", StaticFiles(packages=[("svc.web", "docs"), ("fastapi_swagger", "resources")]))
    app.include_router(_create_docs_router(docs_site))


class _Playground(StaticFiles):
    """The playground: its static files and its HTML page, all with the same headers."""

    def __init__(self, notice: str) -> None:
        super().__init__(packages=[("svc.web", "playground")])
        # "<" is escaped so that no value can end the script element that holds the JSON.
        config = json.dumps(playground_config()).replace("<", "\\u003c")
        self._html = Template(_read_template("playground")).substitute(config=config, notice=notice)
        self._etag = f'"{hashlib.sha256(self._html.encode()).hexdigest()[:32]}"'

    def page_response(self, request: Request) -> Response:
        response = HTMLResponse(self._html, headers={**_PLAYGROUND_HEADERS, "etag": self._etag})
        if self.is_not_modified(response.headers, request.headers):
            return NotModifiedResponse(response.headers)
        return response

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_PLAYGROUND_HEADERS)
        return response


def _create_playground_router(playground: _Playground) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def index(request: Request) -> Response:
        return playground.page_response(request)

    return router


def playground_config() -> dict[str, Any]:
    """The constants that the playground shares with the server, embedded in its HTML."""
    return {
        # `mp3_44100` is left out: it is another name for `mp3_44100_128`.
        "formats": [
            {
                "name": each.name,
                "codec": each.codec.label,
                "family": each.codec.family,
                "sample_rate": each.sample_rate,
                "bit_rate": each.bit_rate,
            }
            for each in formats.OUTPUT_FORMATS.values()
            if each.bit_rate is None or each.name.endswith(f"_{each.bit_rate // 1000}")
        ],
        "default_format": formats.DEFAULT,
        "languages": [{"code": each, "grade": find_grade(each)} for each in list_offered_languages()],
        "max_name_length": MAX_NAME_LENGTH,
        "max_dictionary_locators": MAX_LOCATORS,
        "speed_range": [voice_settings.SLOWEST, voice_settings.FASTEST],
        "recording": {
            "sample_rate": RATE,
            "frames_per_second": speech_detection.FRAMES_PER_SECOND,
            "min_speech_seconds": reference.MIN_SPEECH_SECONDS,
            "good_speech_seconds": reference.SHORT_SPEECH_SECONDS,
            "silent_dbfs": reference.SILENT_DBFS,
            "quiet_dbfs": reference.QUIET_DBFS,
            "noisy_snr_db": reference.NOISY_SNR_DB,
            "clipping": {
                "bins": reference.AMPLITUDE_BINS,
                "min_share": reference.FULL_BIN,
                "min_ratio": reference.BIN_RATIO,
            },
            "activity": {
                "min_margin_db": speech_detection.MIN_MARGIN_DB,
                "margin_share": speech_detection.MARGIN_SHARE,
                "max_gap_frames": speech_detection.MAX_GAP_FRAMES,
                "digital_silence_db": speech_detection.DIGITAL_SILENCE_DB,
            },
        },
    }


def _create_docs_router(docs_site: DocsSite) -> APIRouter:
    router = APIRouter(prefix=ROOT, include_in_schema=False)
    template = Template(_read_template("guide"))
    interactive_html = _read_template("interactive")

    def respond_with_guide(name: str, page: GuidePage) -> Response:
        contents = "\n".join(_make_menu_entry(path, title, path == name) for path, title in docs_site.contents)
        html = template.substitute(title=escape(page.title), contents=contents, html=page.html)
        return HTMLResponse(html, headers=_make_headers(_BASE_POLICY))

    @router.get("")
    def index() -> Response:
        """The index page, which links to all the guides."""
        return guide(INDEX)

    @router.get("/interactive")
    def interactive() -> Response:
        """Swagger UI: every path and field of the API, to try out."""
        return HTMLResponse(interactive_html, headers=_make_headers(_INTERACTIVE_POLICY))

    @router.get("/{name:path}")
    def guide(name: str) -> Response:
        """A guide, or a picture that one shows."""
        if picture := docs_site.find_picture(name):
            return FileResponse(picture)
        name = name.strip("/").removesuffix(".md") or INDEX
        if page := docs_site.render_page(name):
            return respond_with_guide(name, page)
        raise HTTPException(404, "There is no such guide; /docs lists all of them.")

    return router


def _make_menu_entry(name: str, title: str, is_current: bool) -> str:
    current = ' aria-current="page"' if is_current else ""
    return f'<li><a href="{ROOT}/{escape(name)}"{current}>{escape(title)}</a></li>'


def _read_template(name: str) -> str:
    return files("svc.web").joinpath(f"templates/{name}.html").read_text("utf-8")
