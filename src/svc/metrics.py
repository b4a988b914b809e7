"""The figures that the service keeps about itself, for Prometheus.

Labels are bounded: never a key, a text or a custom voice's name.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_LATENCY_BUCKETS = (0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.first_byte_seconds = Histogram(
            "svc_first_byte_seconds",
            "Time from the request to its first audio.",
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.queue_seconds = Histogram(
            "svc_queue_seconds",
            "Time that requests waited to be admitted.",
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.waiting = Gauge("svc_waiting", "Requests that wait to be admitted.", registry=self.registry)
        self.streams = Gauge("svc_streams", "Texts that are being synthesized.", registry=self.registry)
        self.real_time_factor = Gauge(
            "svc_real_time_factor",
            "Seconds that the engine takes for a second of audio, as measured lately.",
            registry=self.registry,
        )
        self.load = Gauge(
            "svc_load", "The share of the engine's time that admitted requests need.", registry=self.registry
        )
        self.characters = Counter("svc_characters", "Characters of admitted requests.", registry=self.registry)
        self.audio_seconds = Counter("svc_audio_seconds", "Seconds of audio made.", registry=self.registry)
        self.starved_seconds = Counter(
            "svc_starved_seconds",
            "Seconds that listeners waited for audio in the middle of a text.",
            registry=self.registry,
        )
        self.refusals = Counter(
            "svc_refusals", "Requests refused, by the status string of the error.", ["reason"], registry=self.registry
        )
