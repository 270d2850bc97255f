"""Tests of both kinds of remote tools in one run: they go with either extension."""
