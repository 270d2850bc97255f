"""Tests of the command `kept`."""
