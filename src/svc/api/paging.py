"""Lists in pages: a token says where the next one begins."""

import base64
import binascii
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

LARGEST_PAGE = 100


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    items: list[T]
    next_token: str | None


def page(items: list[T], size: int, token: str | None) -> Page[T]:
    """The page that a token names, the first without one; a token that we did not make names the first, too."""
    start = _position(token)
    end = start + min(max(size, 1), LARGEST_PAGE)
    return Page(items[start:end], _token(end) if end < len(items) else None)


def _token(position: int) -> str:
    return base64.urlsafe_b64encode(f"at {position}".encode()).decode()


def _position(token: str | None) -> int:
    try:
        return max(0, int(base64.urlsafe_b64decode((token or "").encode()).removeprefix(b"at ")))
    except (ValueError, binascii.Error):
        return 0
