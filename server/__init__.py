"""yaa: a self-hosted AI agent. A session goes in, an agent runs, the session comes back."""

VERSION = "0.1.0"
