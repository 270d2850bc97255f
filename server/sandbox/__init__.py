"""Isolated processes for tools: warm single-use workers, separated from the server by the
kernel."""
