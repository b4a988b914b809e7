"""A body that a client may ask for in part (`Range`) or only if it has changed (`If-None-Match`), as players do."""

import hashlib
import re
from collections.abc import Mapping

from fastapi import Request, Response

from svc.api.errors import render_error
from svc.errors import RangeNotSatisfiable

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def respond(request: Request, content: bytes, media_type: str, headers: Mapping[str, str]) -> Response:
    """The body, the part of it that was asked for, or that it has not changed. Several parts at once get all of it."""
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**headers, "etag": etag, "accept-ranges": "bytes"}
    known = request.headers.get("if-none-match", "")
    if known.strip() == "*" or etag in (each.strip().removeprefix("W/") for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    if request.headers.get("if-range", etag) != etag:
        return Response(content, media_type=media_type, headers=headers)
    try:
        part = _parse_range(request.headers.get("range", ""), len(content))
    except RangeNotSatisfiable as error:
        refusal = render_error(error)
        refusal.headers["content-range"] = f"bytes */{len(content)}"
        return refusal
    if part is None:
        return Response(content, media_type=media_type, headers=headers)
    headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{len(content)}"
    return Response(content[part.start : part.stop], 206, headers, media_type)


def _parse_range(header: str, size: int) -> range | None:
    """The bytes that are wanted; None if it is not one range of bytes, which is to be ignored."""
    match = _RANGE.fullmatch(header.strip())
    if match is None or match.group(1, 2) == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        wanted = range(max(0, size - int(last)), size)
    elif last and int(last) < int(first):
        return None
    else:
        wanted = range(int(first), min(int(last) + 1, size) if last else size)
    if not wanted:
        raise RangeNotSatisfiable(size)
    return wanted
