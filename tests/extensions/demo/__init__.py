"""Tests of the demo model."""
