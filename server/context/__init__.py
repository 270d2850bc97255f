"""The context of a model call: the view of a session, its size, and compactions.

Pure. May import `session` and what is below it.
"""
