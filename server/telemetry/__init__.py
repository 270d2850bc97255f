"""Logs and traces, with secrets masked. Imports http to send traces, never tools."""
