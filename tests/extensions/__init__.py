"""Tests of extensions, a folder each."""
