"""Real peers: programs that others wrote, spoken to over real sockets. Each test skips itself
where its peer is not installed; `python3 -m tests` installs them all."""
