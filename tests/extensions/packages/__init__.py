"""Modules of the owner's own packages as tools."""
