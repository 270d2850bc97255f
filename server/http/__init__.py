"""HTTP/1.1 and server-sent events: bytes in, messages out."""
