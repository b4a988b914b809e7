"""The object storage that an address means: `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///folder`."""

from datetime import timedelta
from urllib.parse import unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from svc.voices.object_store_url import check

_PATIENCE = timedelta(seconds=30)
_CONNECTING = timedelta(seconds=5)


def open_object_store(url: str) -> ObjectStore:
    """Credentials and endpoints come from the environment, the usual way of each cloud. Connects to nothing yet."""
    check(url)
    if url.startswith("file:"):
        return LocalStore(unquote(urlsplit(url).path), mkdir=True)
    try:
        return from_url(
            url,
            # Every cloud is asked by HTTPS; plain HTTP is only for an endpoint that was given so.
            client_options={"timeout": _PATIENCE, "connect_timeout": _CONNECTING, "allow_http": True},
            # Only against a moment's trouble: what takes longer is tried again by the mirror, with pauses.
            retry_config={"max_retries": 2, "retry_timeout": _PATIENCE},
        )
    except BaseError as error:
        raise OSError(f"SVC_VOICE_MIRROR: {error}") from error
