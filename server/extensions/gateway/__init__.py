"""The protocol of an agent gateway (`/api/*`) (docs/reference/extension-gateway.md)."""
