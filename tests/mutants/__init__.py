"""Mutants of the code, and whether a test fails with them: `python3 -m tests.mutants`."""
