"""Which pages of the web may call the service from a browser."""

import re

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


class Origins:
    """The pages that may. An open service trusts whoever reaches it: by default, no page from elsewhere."""

    def __init__(self, chosen: list[str], open_to_everyone: bool) -> None:
        self.listed = chosen or ([] if open_to_everyone else ["*"])
        self.pattern = None if self.listed else _THIS_MACHINE

    def allow(self, origin: str | None) -> bool:
        """Whether a page of this origin may open a socket, which browsers leave to the server to decide."""
        if origin is None or "*" in self.listed or origin in self.listed:
            return True
        return bool(self.pattern and re.fullmatch(self.pattern, origin))


def install(app: FastAPI, origins: Origins) -> None:
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins.listed,
        allow_origin_regex=origins.pattern,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=_EXPOSED,
        max_age=600,
    )
