"""Agent definitions: those shipped with the server, and the registry that reads the owner's."""
