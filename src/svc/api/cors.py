"""Which pages of the web may call the service from a browser."""

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

_EXPOSED = [
    "request-id",
    "x-request-id",
    "x-trace-id",
    "character-cost",
    "history-item-id",
    "x-svc-voice",
    "x-svc-model",
]
_THIS_MACHINE = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"


def install(app: FastAPI, origins: list[str], open_to_everyone: bool) -> None:
    """An open service trusts whoever reaches it: by default, no page from elsewhere may do so through a browser."""
    chosen = origins or ([] if open_to_everyone else ["*"])
    app.add_middleware(
        CORSMiddleware,
        allow_origins=chosen,
        allow_origin_regex=None if chosen else _THIS_MACHINE,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=_EXPOSED,
        max_age=600,
    )
