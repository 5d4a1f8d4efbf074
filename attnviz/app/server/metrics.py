"""Prometheus metrics: counts, times and sizes, without visitors' input."""

from collections.abc import Callable, Mapping
from ipaddress import ip_address

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from attnviz.app.server import visitor

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30)

RERUNS = Histogram("attnviz_rerun_seconds", "Duration of script runs.", buckets=_SECONDS)
FORWARDS = Histogram(
    "attnviz_forward_seconds", "Duration of forward passes for visitors’ texts.", buckets=_SECONDS
)


def start(sizes: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
    """Register gauges.

    Args:
        sizes: Description and value function of each gauge, by name.
    """
    for name, (description, value) in sizes.items():
        Gauge(f"attnviz_{name}", description).set_function(value)


def answer(request: Request) -> Response:
    """Serve /metrics to clients in a private network, but not through a proxy."""
    forwarded = any(name in request.headers for name in visitor.FORWARDED)
    if forwarded or request.client is None or not ip_address(request.client.host).is_private:
        return PlainTextResponse("Not found\n", 404)
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
