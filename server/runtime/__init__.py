"""How the process runs: its event loop, its threads, its garbage collector. Imports nothing of the
server."""
