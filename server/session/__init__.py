"""The session document: its shape, its events, the one fold that writes it, the next step."""
