"""Traces of runs, for what reads OpenTelemetry (docs/reference/extension-tracing.md)."""
