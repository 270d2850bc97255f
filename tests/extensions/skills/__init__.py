"""Tests of the extension skills."""
