"""Modules of tests for the lanes to run; their names keep discovery away from them."""
