"""The session document: its shape, its events and the fold that applies them. No I/O, no clock,
no randomness."""
