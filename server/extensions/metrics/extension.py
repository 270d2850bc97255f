"""Counters for who watches a server with Prometheus: `GET /metrics` sends them."""

from __future__ import annotations

from ..declaration import Extension

EXTENSION = Extension(process="counters:share", parts="parts:MetricsParts")
