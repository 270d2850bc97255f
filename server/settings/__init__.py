"""The schema of the configuration, other systems' names for its keys, and its files' mistakes."""
