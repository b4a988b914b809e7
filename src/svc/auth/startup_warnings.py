"""A service that asks for no key is for this machine alone."""

import ipaddress
import logging

log = logging.getLogger(__name__)


def warn_if_exposed(host: str, is_open: bool) -> None:
    """Says so, loudly, when others can reach a service that lets everyone in."""
    if is_open and not _is_loopback(host):
        log.warning(
            "\n%s\n  WARNING: this service is OPEN. It listens on %s and asks for no key,\n"
            "  so whoever reaches it can use it. Set SVC_API_KEY, SVC_API_KEYS or\n"
            "  SVC_API_KEYS_TABLE, or listen on 127.0.0.1 only.\n%s",
            "!" * 76,
            host,
            "!" * 76,
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
