"""What the model sees of a session: `view`, a pure function of messages and context."""
