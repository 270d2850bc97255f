"""The commands of the command line: serve, run, chat, doctor, kept, pack, tools check.

May import every package; only `__main__` and `library` import it.
"""
