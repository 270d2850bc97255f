"""Vendors of models that are known (docs/reference/extension-vendors.md)."""
