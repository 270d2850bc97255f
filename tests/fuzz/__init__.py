"""Fuzzing: valid input, broken in many ways, until something answers as it never should.

`python3 -m tests.fuzz parser|answers|intake|mcp --seconds 600 --seed 1`; what was found becomes a
case with a name in the tests of the file that was wrong.
"""
