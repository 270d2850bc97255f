"""Agents: the definitions that come with the server, and the one who reads those of the owner."""
