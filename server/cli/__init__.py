"""The commands of the command line: serve, run, chat, pack, tools check.

May import every package. Imported only by `__main__` and `library`, and for `yaa.JsonSession`.
"""
