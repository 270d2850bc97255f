"""yaa as a library for Python programs. May import every package; no package imports it."""
