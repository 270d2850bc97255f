"""Tests of server/skills."""
