"""Isolated processes for tools: warm single-use workers that the kernel separates from the
server."""
