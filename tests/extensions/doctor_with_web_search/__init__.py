"""Tests of what the doctor says of web search: they go with either extension."""
