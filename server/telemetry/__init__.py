"""Logs, with secrets masked, and the position of a request in a trace."""
