"""Tests of the counters for Prometheus."""
