"""Agent definitions in files: shipped, the owner's and those that sessions saved."""
