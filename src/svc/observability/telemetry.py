"""OpenTelemetry: traces and metrics over OTLP, if the standard variables ask for them.

OTEL_EXPORTER_OTLP_ENDPOINT turns both on, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
one of them. It takes the packages of the extra `otel`, which are not loaded otherwise.
"""

import logging
import os
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

if TYPE_CHECKING:
    from svc.observability.otlp import Telemetry

log = logging.getLogger(__name__)

_SIGNALS = ("TRACES", "METRICS")


def create_telemetry(registry: CollectorRegistry) -> "Telemetry | None":
    """None if nothing is to be exported, or if it cannot be: the service speaks without it."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    traces, metrics = (_is_wanted(signal) for signal in _SIGNALS)
    if not (traces or metrics):
        return None
    try:
        from svc.observability.otlp import Telemetry
    except ImportError as error:
        log.warning("nothing is exported to OpenTelemetry: %s. Install the extra `otel`: pip install '.[otel]'", error)
        return None
    return Telemetry(registry, traces=traces, metrics=metrics)


def _is_wanted(signal: str) -> bool:
    if os.environ.get(f"OTEL_{signal}_EXPORTER", "otlp").lower() != "otlp":
        return False
    return any(os.environ.get(f"OTEL_EXPORTER_OTLP_{name}ENDPOINT") for name in ("", f"{signal}_"))
