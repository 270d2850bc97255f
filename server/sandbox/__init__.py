"""Tool isolation: warm single-use workers that the kernel separates from the server."""
