"""Context variable with the id of the current request or run, which log lines contain."""

from contextvars import ContextVar

run_id: ContextVar[str] = ContextVar("yaa_run_id", default="")
