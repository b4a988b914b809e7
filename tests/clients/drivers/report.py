"""What a driver of a Python client prints: for every call what came back, or what was raised."""

import base64
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

_ERROR_FIELDS = ("status_code", "body", "status", "message")


def report(calls: Mapping[str, Callable[[], Any]]) -> None:
    """Makes the calls in their order, or only those that CALLS names, and prints one JSON object."""
    chosen = os.environ["CALLS"].split() or list(calls)
    json.dump({name: _outcome(calls[name]) for name in chosen}, sys.stdout, default=_plain)


def _outcome(call: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"returned": call()}
    except Exception as error:
        fields = {name: getattr(error, name) for name in _ERROR_FIELDS if hasattr(error, name)}
        return {"raised": type(error).__name__, "trace": traceback.format_exc(), **fields}


def _plain(value: Any) -> Any:
    """Bytes as base64, and models of the client under the names that they have on the wire."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.dict()
