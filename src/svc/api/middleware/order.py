"""The middleware, in the order in which a request passes it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from starlette.middleware import Middleware

from svc.admission.admission import Admission
from svc.api.authentication import Authentication
from svc.api.errors import CatchUnexpected
from svc.api.input_budget import InputBudget
from svc.api.middleware.bodies import BodyLimits
from svc.api.middleware.concurrency_headers import ConcurrencyHeaders
from svc.api.middleware.origins import AllowedHosts, AllowedOrigins, CheckOrigin, Cors
from svc.api.middleware.request_log import RequestLog
from svc.api.middleware.request_metrics import RequestMetrics, RouteTemplates
from svc.api.middleware.requests import CompressJson, HeadAsGet, RefuseWhileDraining, RequestId, TidyAddress
from svc.auth.verifier import Verifier
from svc.observability.metrics import Metrics
from svc.process.lifecycle import Lifecycle
from svc.settings import Settings, split_words

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


def list_middleware(
    settings: Settings,
    templates: RouteTemplates,
    verifier: Verifier,
    admission: Admission,
    budget: InputBudget,
    lifecycle: Lifecycle,
    metrics: Metrics,
    tracer: "Tracer | None",
) -> Iterator[Middleware]:
    """The outermost first."""
    yield Middleware(RequestId)  # all that follows names it: logs, errors, headers
    yield Middleware(RequestLog, templates=templates)  # tells how each ended, also those that are refused
    if tracer:
        from svc.api.middleware.request_spans import RequestSpans  # needs an extra

        yield Middleware(RequestSpans, tracer=tracer, templates=templates)
    yield Middleware(RequestMetrics, metrics=metrics, templates=templates)  # counts those, too
    yield Middleware(TidyAddress)  # before anything reads path or query
    yield Middleware(HeadAsGet)  # all that follows knows GET alone
    yield Middleware(CompressJson)  # of any answer, also of an error
    hosts = AllowedHosts(split_words(settings.allowed_hosts), verifier.open)
    origins = AllowedOrigins(split_words(settings.cors_origins), verifier.open)
    yield Middleware(CheckOrigin, hosts=hosts, origins=origins)  # other sites' pages get nothing, not even an error
    yield Middleware(Cors, origins=origins)  # allowed pages can read errors, also the following
    yield Middleware(RefuseWhileDraining, lifecycle=lifecycle)  # costs nothing, so it comes before credentials
    yield Middleware(CatchUnexpected)  # a 500 of ours, with all headers of the above
    yield Middleware(Authentication, verifier=verifier)  # before anything is read of the body
    yield Middleware(ConcurrencyHeaders, admission=admission)  # those of the caller's key
    yield Middleware(BodyLimits, settings=settings, budget=budget)  # as large as the credential allows
