"""Requests of documents, compared with those of another client."""
