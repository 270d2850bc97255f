"""HTTP/1.1 server and client, and server-sent events."""
