"""The process: its event loop, threads and garbage collector.

Imports nothing else of the server.
"""
