"""The id of the request or run that a task works for. Log lines name it."""

from contextvars import ContextVar

run_id: ContextVar[str] = ContextVar("yaa_run_id", default="")
