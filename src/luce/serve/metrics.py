"""What a service counts, in Prometheus' text format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram of latencies."""


class Metrics:
    """The metrics of one service."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.requests = Counter("luce_requests", "Requests answered.", ["route", "status"], registry=registry)
        self.seconds = Histogram(
            "luce_request_seconds",
            "Time from the head of a request to its answer.",
            ["route"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.in_flight = Gauge(
            "luce_requests_in_flight", "Requests being read, waiting or being scored.", registry=registry
        )
        self.rows = Counter("luce_rows_scored", "Rows scored.", registry=registry)
        self.reloads = Counter("luce_reloads", "Reloads of the model file.", ["result"], registry=registry)
        self.model = Info("luce_model", "The model that is served.", registry=registry)

    def text(self) -> bytes:
        """All metrics, as a scraper reads them."""
        return generate_latest(self.registry)
