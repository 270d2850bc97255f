"""Tests of web search."""
