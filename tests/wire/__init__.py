"""Tests of server/wire: bytes in, messages out."""
