import server  # noqa: F401  (ends here, with a word, where Python is too old)
