"""What can be the address of a mirror."""

from urllib.parse import urlsplit

SCHEMES = ("s3", "gs", "az", "file")


def check(url: str) -> None:
    """Raises `ValueError` unless this can be an address."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"must begin with {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
    if parts.scheme == "file" and not parts.path.startswith("/"):
        raise ValueError("must name a folder by its whole path: file:///folder")
    if parts.scheme != "file" and not parts.netloc:
        raise ValueError(f"must name a bucket: {parts.scheme}://bucket/prefix")
