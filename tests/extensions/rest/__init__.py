"""HTTP APIs as tools: documents, requests, headers of the caller."""
