"""The session document: its shape, its events and the fold that applies them.

Pure: no I/O, no clock, no randomness.
"""
