"""Where tools run: warm single-use workers that the kernel keeps apart from the server."""
