"""Tests of the Responses API of models."""
