"""Logs, traces and metrics, with secrets masked. Imports http to send traces, never tools."""
