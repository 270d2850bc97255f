"""The official protocol buffers of OTLP."""
