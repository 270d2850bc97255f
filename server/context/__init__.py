"""The view: the messages that the model sees of a session. Pure."""
