"""Tests of server/http: bytes in, messages out."""
