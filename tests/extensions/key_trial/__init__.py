"""Tests of trials of keys."""
