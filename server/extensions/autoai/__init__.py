"""The protocol of AutoAi's chat widget (`/auto-ai/*`) (docs/reference/extension-autoai.md)."""
