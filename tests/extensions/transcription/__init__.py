"""Tests of speech to text."""
