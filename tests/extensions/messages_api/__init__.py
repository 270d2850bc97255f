"""Tests of the Messages API of models."""
