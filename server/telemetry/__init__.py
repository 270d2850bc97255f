"""Logs, traces and metrics, with secrets taken out. Imports http for sending, never a session's
tools."""
