"""Real files of a session: recorded as trees, compared, restored, carried and applied."""
