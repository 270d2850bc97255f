"""The commands of the command line: serve, run, chat, tools check.

May import every package. Imported only by `__main__` and extensions, and for `yaa.JsonSession`.
"""
