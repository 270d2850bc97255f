"""What the test command is made of; `tests/__main__.py` is the way in."""
