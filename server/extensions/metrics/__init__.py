"""Counters of all server processes, for Prometheus (docs/reference/extension-metrics.md)."""
