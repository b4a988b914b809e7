"""The format of the log: text, or JSON with one object on each line."""

import json
import logging
import logging.config
from datetime import UTC, datetime
from typing import Any

from uvicorn.logging import DefaultFormatter

from svc.observability.request_id import request_id


def configure(log_format: str) -> None:
    """Sends all log lines of the process, those of the libraries included, to standard error in this format."""
    formatter = {"()": JsonFormatter} if log_format == "json" else {"()": TextFormatter}
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"chosen": formatter},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "chosen"}},
            "root": {"handlers": ["stderr"], "level": "WARNING"},
            "loggers": {"svc": {"level": "INFO"}, "uvicorn": {"level": "INFO"}},
        }
    )
    logging.captureWarnings(True)


class TextFormatter(DefaultFormatter):
    """uvicorn's lines, then the fields of the record.

    What is filled into a message is escaped, and tracebacks are indented: clients cannot forge a line.
    """

    def __init__(self) -> None:
        super().__init__("%(levelprefix)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        fields = "".join(f" {name}={_escape(str(value))}" for name, value in _fields(record).items())
        return super().formatMessage(_with_escaped_message(record)) + fields

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return "\n".join(f"    {line}" for line in super().formatException(ei).splitlines())


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            entry["request_id"] = current
        entry |= _fields(record)
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)  # in ASCII: no character ends the line


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, "fields", {})
    return {name: value for name, value in fields.items() if value is not None}


def _with_escaped_message(record: logging.LogRecord) -> logging.LogRecord:
    """The record with its arguments escaped; the message that they are filled into is ours and stays."""
    copy = logging.makeLogRecord(vars(record))
    if isinstance(record.args, tuple):
        copy.args = tuple(each if isinstance(each, int | float) else _escape(str(each)) for each in record.args)
    copy.message = copy.getMessage()
    copy.__dict__.pop("color_message", None)
    return copy


def _escape(text: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
