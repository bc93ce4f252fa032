"""Log records as lines of JSON on standard error."""

import logging
from datetime import UTC, datetime
from typing import Any

import orjson

logger = logging.getLogger("luce.serve")


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: its time, level and event, and what was logged as `fields`.

    >>> line = JsonFormatter().format(logging.makeLogRecord({"msg": "request", "fields": {"status": 200}}))
    >>> orjson.loads(line)["status"]
    200
    """

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def log(level: int, event: str, *, exc_info: Any = None, **fields: Any) -> None:
    """Log an event with its fields."""
    logger.log(level, event, exc_info=exc_info, extra={"fields": fields})


def log_json() -> None:
    """Have all that this process logs, warnings too, written as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    logging.captureWarnings(True)
