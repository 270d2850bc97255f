"""Tests of the extension vendors."""
